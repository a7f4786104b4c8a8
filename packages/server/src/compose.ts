import { resolve } from "node:path";
import { createJsonlSink } from "@sallyport/adapters/file";
import { openSqliteStore } from "@sallyport/adapters/sqlite";
import {
  createEngine,
  createThreadRunner,
  type Engine,
  type ErrorHandler,
  grantAuthority,
  type Hook,
  type Implementation,
  relayOutbox,
  type Store,
  type Verdict,
} from "@sallyport/engine";
import { isFailure, SallyportError } from "@sallyport/protocol";
import type { LoadedConfig } from "./config/load.ts";
import { loadModule } from "./tools/load-module.ts";

/** A Sallyport that is open for calls. */
export interface OpenHouse {
  readonly config: LoadedConfig;
  readonly engine: Engine;
  readonly store: Store;
  /** What calls of an earlier process that ended too soon have come to. */
  readonly recovered: Verdict[];
  /** Publishes what waits in the outbox and closes everything. */
  close(): Promise<void>;
}

interface OpenOptions {
  config: LoadedConfig;
  hooks?: Hook[];
  errors?: ErrorHandler;
}

/** Opens the store, recovers, loads the tools and wires the engine. Throws with a code when any of it cannot be had. */
export async function openHouse({ config, hooks, errors }: OpenOptions): Promise<OpenHouse> {
  const store = await openSqliteStore({ folder: config.stateFolder, durability: config.durability });
  try {
    const engine = await createEngine({
      store,
      authority: grantAuthority(config.grants),
      admission: { total: config.limits.concurrentCalls, perAgent: config.limits.concurrentCallsPerAgent },
      runners: { thread: createThreadRunner({ maxThreads: config.limits.threads }) },
      registry: { maxVersions: config.limits.versionsPerTool },
      limits: {
        input: { maxBytes: config.limits.inputBytes, maxDepth: 64, maxValues: 50_000 },
        maxOutputBytes: config.limits.outputBytes,
      },
      ...(hooks && { hooks }),
      ...(errors && { errors }),
    });
    const recovered = await engine.recover();
    await shelveTools(engine, config, { keep: true });
    return { config, engine, store, recovered, close: () => closeHouse(engine, store, config) };
  } catch (error) {
    await store.close();
    throw error;
  }
}

async function closeHouse(engine: Engine, store: Store, config: LoadedConfig): Promise<void> {
  await engine.close();
  try {
    if (config.events) await relayOutbox(store, createJsonlSink(resolve(config.stateFolder, "events.jsonl")));
  } finally {
    await store.close();
  }
}

/**
 * Registers the tools of the configuration's modules, and gives those added by the command line their code. With
 * `keep: false` only this process knows, so that a reader can do it while another process owns the folder.
 */
export async function shelveTools(
  engine: Engine,
  config: LoadedConfig,
  { keep }: { keep: boolean },
): Promise<void> {
  for (const entry of config.tools) {
    const { module, runner } =
      typeof entry === "string" ? { module: entry, runner: "thread" as const } : entry;
    await shelveModule(engine, resolve(config.folder, module), { runner, keep });
  }
  for (const module of engine.tools.modulesWithoutCode())
    await shelveModule(engine, module, { runner: "thread", keep });
}

interface Shelving {
  runner: "thread" | "inline";
  keep: boolean;
}

async function shelveModule(engine: Engine, path: string, { runner, keep }: Shelving): Promise<void> {
  const { moduleUrl, tools } = await loadModule(path);
  for (const tool of tools) {
    const implementation: Implementation =
      runner === "inline" ? { kind: "inline", operations: tool.operations } : { kind: "thread", moduleUrl };
    const shelved = await engine.tools.register(tool.manifest, { implementation, keep });
    if (isFailure(shelved)) throw new SallyportError(shelved);
  }
}
