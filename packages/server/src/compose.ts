import { resolve } from "node:path";
import { openSqliteStore } from "@sallyport/adapters/sqlite";
import {
  type Bus,
  type ConfiguredGrant,
  createEngine,
  createThreadRunner,
  DEFAULT_LIMITS,
  type DefinedTool,
  type Engine,
  type ErrorHandler,
  type Hook,
  type Implementation,
  MemoryBus,
  type Meter,
  type Policy,
  type Store,
  type TokenChecker,
  type Tracer,
  type Verdict,
} from "@sallyport/engine";
import { type Failure, isFailure, SallyportError } from "@sallyport/protocol";
import { approvalRulesOf, openAuthority } from "./authority.ts";
import type { LoadedConfig } from "./config/load.ts";
import { EventPublisher } from "./events/index.ts";
import type { Chore } from "./housekeeping.ts";
import { type OpenIsolation, openIsolation } from "./isolation.ts";
import { operatorLimitsOf } from "./operator-limits.ts";
import type { PolicyFiles, Reloaded } from "./policy/policy-files.ts";
import { LiveHouse } from "./reload/live-house.ts";
import { loadModule } from "./tools/load-module.ts";

/** A Sallyport that is open for calls. */
export interface OpenHouse {
  readonly config: LoadedConfig;
  readonly engine: Engine;
  readonly store: Store;
  readonly bus: Bus;
  /** What can be exchanged without a restart. */
  readonly live: LiveHouse;
  /** Checks tokens; undefined where none could ever be checked. */
  readonly tokens: TokenChecker | undefined;
  /** What calls of an earlier process that ended too soon have come to. */
  readonly recovered: Verdict[];
  /** Tools that could not be had, each with its reason. */
  readonly problems: Failure[];
  /** The rules files, to be read again without a restart; absent when there are none. */
  readonly rules?: PolicyFiles;
  /** What has to be done now and then while the house stays open. */
  readonly chores: readonly Chore[];
  /** Publishes what waits in the outbox and closes everything; resolves with why messages still wait, if they do. */
  close(): Promise<string | undefined>;
}

interface OpenOptions {
  config: LoadedConfig;
  /** Beside the configured ones: what the person at the command line lets happen this once. */
  grants?: readonly ConfiguredGrant[];
  /** Beside the configured ones; the strictest counts. */
  policies?: readonly Policy[];
  /** The folder that is worked in, which standing grants may be bound to; the configuration's when left out. */
  project?: string;
  hooks?: Hook[];
  errors?: ErrorHandler;
  meter?: Meter;
  tracer?: Tracer;
  /** Names this process in measurements. */
  instance?: string;
  /** Given: the rules files are watched, and this is told when they are in force anew or could not be used. */
  onRules?: (outcome: Reloaded | Failure) => void;
}

/** Opens the store, recovers, loads the tools and wires the engine. Throws with a code when any of it cannot be had. */
export async function openHouse({ config, onRules, ...options }: OpenOptions): Promise<OpenHouse> {
  const { grants, policies, project, hooks, errors, meter, tracer, instance } = options;
  const store = await openSqliteStore({ folder: config.stateFolder, durability: config.durability });
  try {
    const bus = new MemoryBus();
    const { rules, tokens, ...authority } = openAuthority(config, {
      bus,
      errors,
      grants,
      policies,
      project,
    });
    const isolation = await openIsolation(config);
    const engine = await createEngine({
      store,
      bus,
      ...authority,
      approvals: approvalRulesOf(config),
      ...operatorLimitsOf(config),
      runners: { thread: createThreadRunner({ maxThreads: config.limits.threads }), ...isolation.runners },
      isolation: isolation.rules,
      publish: config.events,
      registry: { maxVersions: config.limits.versionsPerTool },
      limits: {
        input: { ...DEFAULT_LIMITS.input, maxBytes: config.limits.inputBytes },
        maxOutputBytes: config.limits.outputBytes,
        queued: config.limits.queuedCalls,
      },
      ...(hooks && { hooks }),
      ...(errors && { errors }),
      ...(meter && { meter }),
      ...(tracer && { tracer }),
      ...(instance !== undefined && { instance }),
    });
    const recovered = await engine.recover();
    await isolation.rules.workspaces.expire();
    await engine.approvals.expireDue();
    const problems = await shelveTools(engine, config, { keep: true });
    const events = config.events ? publisherOf(store, config) : undefined;
    const stopWatching = onRules && rules?.watch({ onReload: onRules, onProblem: onRules });
    const close = () => {
      stopWatching?.();
      return closeHouse({ engine, store, isolation, events });
    };
    const chores = choresOf({ engine, store, isolation, events });
    const live = new LiveHouse({ authority: authority.authority, bus, errors });
    return {
      config,
      engine,
      store,
      bus,
      live,
      tokens,
      recovered,
      problems,
      chores,
      ...(rules && { rules }),
      close,
    };
  } catch (error) {
    await store.close();
    throw error;
  }
}

interface Rooms {
  engine: Engine;
  store: Store;
  isolation: OpenIsolation;
  /** Absent where nothing is published. */
  events: EventPublisher | undefined;
}

function choresOf({ engine, isolation, events }: Rooms): Chore[] {
  return [
    ...(events ? [{ name: "publish events", everyMs: 1_000, run: () => events.publish() }] : []),
    { name: "expire approvals", everyMs: 15_000, run: () => engine.approvals.expireDue() },
    { name: "take up calls", everyMs: 15_000, run: () => engine.takeUp() },
    { name: "drop old undo data", everyMs: 60_000, run: () => isolation.rules.workspaces.expire() },
  ];
}

function publisherOf(store: Store, { stateFolder }: LoadedConfig): EventPublisher {
  return new EventPublisher(store, { stateFolder, file: resolve(stateFolder, "events.jsonl") });
}

async function closeHouse({ engine, store, isolation, events }: Rooms): Promise<string | undefined> {
  await engine.close();
  await isolation.close();
  try {
    await events?.close();
    return undefined;
  } catch (error) {
    // The messages are safe in the outbox and go out next time; the calls themselves are done and on record.
    return error instanceof Error ? error.message : String(error);
  } finally {
    await store.close();
  }
}

/**
 * Registers the tools of the configuration's modules, and gives those added by the command line their code. One that
 * cannot be had does not keep the others away: it is named in the result, and a call to it says so. With `keep: false`
 * only this process knows, so that a reader can do it while another process owns the folder.
 */
export async function shelveTools(
  engine: Engine,
  config: LoadedConfig,
  { keep }: { keep: boolean },
): Promise<Failure[]> {
  const problems: Failure[] = [];
  for (const entry of config.tools) {
    const { module, runner } =
      typeof entry === "string" ? { module: entry, runner: "thread" as const } : entry;
    problems.push(...(await shelveModule(engine, resolve(config.folder, module), { runner, keep })));
  }
  for (const module of engine.tools.modulesWithoutCode()) {
    problems.push(...(await shelveModule(engine, module, { runner: "thread", keep })));
  }
  return problems;
}

interface Shelving {
  runner: "thread" | "inline" | "script";
  keep: boolean;
}

async function shelveModule(engine: Engine, path: string, { runner, keep }: Shelving): Promise<Failure[]> {
  const loaded = await loadModule(path).catch(failureOf);
  if (isFailure(loaded)) return [loaded];
  const { moduleUrl, tools } = loaded;
  const problems: Failure[] = [];
  for (const tool of tools) {
    const implementation = implementationOf(tool, { runner, moduleUrl });
    const shelved = await engine.tools.register(tool.manifest, { implementation, keep });
    if (isFailure(shelved)) problems.push(shelved);
  }
  return problems;
}

/** How a tool's code is reached; one made of commands always runs in processes. */
export function implementationOf(
  tool: DefinedTool,
  { runner, moduleUrl }: { runner: Shelving["runner"]; moduleUrl: string },
): Implementation {
  const { operations, summaries, programs } = tool;
  if (Object.keys(programs).length > 0) return { kind: "process", programs };
  return runner === "inline" ? { kind: "inline", operations, summaries } : { kind: runner, moduleUrl };
}

function failureOf(error: unknown): Failure {
  if (error instanceof SallyportError) return error.failure;
  throw error;
}
