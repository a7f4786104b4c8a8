import { userInfo } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type ConfiguredGrant, createEngine, type Tools } from "@sallyport/engine";
import type { Store } from "@sallyport/engine/ports";
import { type Caller, type Failure, SallyportError } from "@sallyport/protocol";
import type { Command } from "commander";
import { processEnvironment } from "../config/environment.ts";
import { type LoadedConfig, loadConfig } from "../config/load.ts";
import { type EngineAccess, reachDesk } from "../desk/index.ts";
import { type KeySharing, keySharingOf, shareKeys } from "../keys/index.ts";
import { takeFolder } from "../runtime/own-folder.ts";
import { openRuntime, type Runtime } from "../runtime/runtime.ts";
import { hasStore, readStore } from "../runtime/store.ts";
import { registerTools, registryRulesOf } from "../runtime/tools.ts";
import { type Io, Output } from "./io.ts";
import { failureText } from "./render-answer.ts";

export interface CommonOptions {
  config?: string;
  stateDir?: string;
  json?: boolean;
}

/** The options every command takes, wherever they stand on the line. */
export function withCommonOptions(command: Command): Command {
  return command
    .option("--config <file>", "configuration file (default: sallyport.yaml in this folder)")
    .option("--state-dir <folder>", "state folder (default: .sallyport next to the configuration)")
    .option("--json", "print one JSON document instead of text");
}

interface InRuntimeOptions {
  grants?: readonly ConfiguredGrant[];
  /** For a command that stays a while: it also does the background work of a server. */
  services?: boolean;
  /** E3915 when another process has the state folder, also where the store is shared. */
  needsStateFolder?: boolean;
  /** While another process has the state folder, it works in a folder of its own within that one, and says so. */
  mayMove?: boolean;
}

/** What a command works with. */
export class Session {
  readonly output: Output;
  readonly config: LoadedConfig;
  readonly io: Io;

  constructor(options: CommonOptions, io: Io) {
    this.io = io;
    this.output = new Output(io, options.json === true);
    this.config = loadConfig({ file: options.config, stateDir: options.stateDir, cwd: io.cwd });
  }

  /** Opens the server for the time of `use`. Tells on stderr what a crash left behind. */
  async inRuntime<Result>(
    use: (runtime: Runtime) => Promise<Result>,
    { grants, services = false, needsStateFolder = false, mayMove = false }: InRuntimeOptions = {},
  ): Promise<Result> {
    const options = { needsStateFolder, ...(grants && { grants }) };
    const own = mayMove && (await this.#isServed()) ? this.#ownFolder() : undefined;
    const runtime = await openRuntime({ config: own?.config ?? this.config, ...options }).catch((error) => {
      own?.release();
      throw error;
    });
    try {
      this.#tellRecovered(runtime);
      this.#tellProblems(runtime.problems);
      if (services) await runtime.startServices({ log: this.#log(), publicUrl: this.config.http.publicUrl });
      return await use(runtime);
    } finally {
      const waiting = await runtime.close();
      own?.release();
      if (waiting !== undefined) this.output.note(`! Events wait in the outbox: ${waiting}`);
    }
  }

  /** Whether a server has the state folder and, with it, the only store. */
  async #isServed(): Promise<boolean> {
    if (this.config.store.postgres) return false;
    const desk = await reachDesk(this.config.stateFolder);
    desk?.close();
    return desk !== undefined;
  }

  /** What the other process keeps stays as hidden from tools as before. */
  #ownFolder(): { config: LoadedConfig; release(): void } {
    const { stateFolder, sandbox } = this.config;
    const own = takeFolder(join(stateFolder, "own"));
    this.output.note(`A server has ${stateFolder}: this is on record in ${own.path} (--state-dir).`);
    const hidden = [...sandbox.hidden, stateFolder];
    const config = { ...this.config, stateFolder: own.path, sandbox: { ...sandbox, hidden } };
    return { config, release: () => own.release() };
  }

  /**
   * Asks the process that has the state folder, if one has: it also has undo data and staged files. Otherwise opens the
   * server for the time of `use`, on a shared store beside those of other machines.
   */
  async withEngine<Result>(use: (desk: EngineAccess) => Promise<Result>): Promise<Result> {
    const desk = await reachDesk(this.config.stateFolder);
    if (!desk) return await this.inRuntime(({ engine }) => use(engine));
    try {
      return await use(desk);
    } finally {
      desk.close();
    }
  }

  /** Gives how the processes on a shared store share their keys, for the time of `use`; undefined on a store of its own. */
  async withKeySharing<Result>(use: (sharing: KeySharing | undefined) => Promise<Result>): Promise<Result> {
    if (!this.config.store.postgres) return await use(undefined);
    return await this.reading((store) => use(keySharingOf(this.config, store)));
  }

  /** Brings the keys of a shared store into the key folder. Throws E3227 when they cannot be had. */
  async takeKeys(): Promise<void> {
    const trouble = await this.withKeySharing(async (sharing) => sharing && (await shareKeys(sharing)));
    if (trouble) throw new SallyportError(trouble);
  }

  /** Opens the store to read, also while another process writes to it. */
  reading<Result>(use: Parameters<typeof readStore<Result>>[1]): Promise<Result> {
    return readStore(this.config, use);
  }

  /** Looks at the store again and again, through one connection, until `look` says true or the signal ends it. */
  async looking(
    look: (store: Store) => Promise<boolean>,
    { everyMs, signal }: { everyMs: number; signal: AbortSignal },
  ): Promise<void> {
    let isOver = false;
    while (!isOver && !signal.aborted) {
      const isThere = hasStore(this.config);
      await this.reading(async (store) => {
        // Opened anew once the first writer has made the store.
        while (!isOver && !signal.aborted && hasStore(this.config) === isThere) {
          isOver = await look(store);
          if (!isOver) await sleep(everyMs, undefined, { signal }).catch(() => undefined);
        }
      });
    }
  }

  /** The tools, from the store and the configuration, without writing anything. */
  async inCatalogue<Result>(
    use: (tools: Tools, problems: readonly Failure[]) => Promise<Result>,
  ): Promise<Result> {
    return await this.reading(async (store) => {
      const engine = await createEngine({ store, registry: registryRulesOf(this.config) });
      try {
        const problems = await registerTools(engine, this.config, { keep: false });
        this.#tellProblems(problems);
        return await use(engine.tools, problems);
      } finally {
        await engine.close();
      }
    });
  }

  /** On whose behalf the command line acts. */
  caller(flags: { tenant?: string; agent?: string; session?: string }): Caller {
    return {
      tenant: flags.tenant ?? this.config.caller.tenant,
      agent: flags.agent ?? this.config.caller.agent,
      user: userName(),
      ...(flags.session !== undefined && { session: flags.session }),
    };
  }

  #log(): { info(): void; warn(facts: object, message: string): void } {
    return { info: () => undefined, warn: (_facts, message) => this.output.note(`! ${message}`) };
  }

  #tellProblems(problems: readonly Failure[]): void {
    for (const problem of problems) this.output.note(`! ${failureText(problem, this.output)}`);
  }

  #tellRecovered({ recovered }: Runtime): void {
    const unknown = recovered.filter(({ verdict }) => verdict === "outcome_unknown").length;
    const undone = recovered.filter(({ verdict }) => verdict === "never_started").length;
    if (undone > 0) this.output.note(`${undone} interrupted call(s) had taken no effect and were closed.`);
    if (unknown > 0) {
      this.output.note(
        `${unknown} interrupted call(s) have an unknown outcome: see "sallyport calls recover".`,
      );
    }
  }
}

/** Who runs the command. A uid may have no entry in the password file, as in a container with a uid of its own. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return processEnvironment().USER || `uid:${process.getuid?.() ?? "unknown"}`;
  }
}
