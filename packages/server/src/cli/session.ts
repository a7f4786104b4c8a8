import { userInfo } from "node:os";
import { openSqliteStore } from "@sallyport/adapters/sqlite";
import {
  type ConfiguredGrant,
  createEngine,
  createMemoryStore,
  type Store,
  type ToolShelf,
} from "@sallyport/engine";
import type { Caller, Failure } from "@sallyport/protocol";
import type { Command } from "commander";
import { type OpenHouse, openHouse, shelveTools } from "../compose.ts";
import { type LoadedConfig, loadConfig } from "../config/load.ts";
import { type HouseDesk, reachDesk } from "../desk/index.ts";
import { hasStore } from "../has-store.ts";
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
    .option("--state-dir <folder>", "where everything is kept (default: .sallyport beside the configuration)")
    .option("--json", "print one JSON document instead of text");
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

  /** Opens the house for the time of `use`. Tells on stderr what a crash left behind. */
  async inHouse<Result>(
    use: (house: OpenHouse) => Promise<Result>,
    { grants }: { grants?: readonly ConfiguredGrant[] } = {},
  ): Promise<Result> {
    const house = await openHouse({ config: this.config, ...(grants && { grants }) });
    try {
      this.#tellRecovered(house);
      this.#tellProblems(house.problems);
      return await use(house);
    } finally {
      const waiting = await house.close();
      if (waiting !== undefined) this.output.note(`! Events wait in the outbox: ${waiting}`);
    }
  }

  /** Asks the process that has the house open, if one has; otherwise opens it for the time of `use`. */
  async atDesk<Result>(use: (desk: HouseDesk) => Promise<Result>): Promise<Result> {
    const desk = await reachDesk(this.config.stateFolder);
    if (!desk) return await this.inHouse(({ engine }) => use(engine));
    try {
      return await use(desk);
    } finally {
      desk.close();
    }
  }

  /** Opens the store to read, also while another process writes to it. */
  async reading<Result>(use: (store: Store) => Promise<Result>): Promise<Result> {
    const { stateFolder: folder } = this.config;
    const nothingYet = !hasStore(folder);
    const store = nothingYet ? createMemoryStore() : await openSqliteStore({ folder, readOnly: true });
    try {
      return await use(store);
    } finally {
      await store.close();
    }
  }

  /** The tools, from the store and the configuration, without writing anything. */
  async inCatalogue<Result>(use: (tools: ToolShelf) => Promise<Result>): Promise<Result> {
    return await this.reading(async (store) => {
      const engine = await createEngine({ store });
      try {
        this.#tellProblems(await shelveTools(engine, this.config, { keep: false }));
        return await use(engine.tools);
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
      user: userInfo().username,
      ...(flags.session !== undefined && { session: flags.session }),
    };
  }

  #tellProblems(problems: readonly Failure[]): void {
    for (const problem of problems) this.output.note(`! ${failureText(problem, this.output)}`);
  }

  #tellRecovered({ recovered }: OpenHouse): void {
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
