import { openSqliteStore } from "@sallyport/adapters/sqlite";
import {
  createEngine,
  createMemoryStore,
  createThreadRunner,
  type DefinedTool,
  type Engine,
  grantAuthority,
} from "@sallyport/engine";
import type { Implementation, Store } from "@sallyport/engine/ports";
import { isFailure, SallyportError } from "@sallyport/protocol";
import type { Contender } from "./measure.ts";
import { effectful, pure } from "./subject.ts";

const MODULE = new URL("./subject.ts", import.meta.url).href;
const LIMITS = { total: 1_000, perAgent: 1_000, perTool: 1_000 };

/** An allow rule, as a real configuration has it. */
const authority = grantAuthority([
  {
    id: "bench",
    tenants: ["bench"],
    agents: ["bench"],
    tools: ["bench.*"],
    operations: ["*"],
    capabilities: [],
  },
]);

export interface GuardedOptions {
  name: string;
  store: Store;
  runner: "inline" | "thread";
  tool?: DefinedTool;
  calls?: Contender["calls"];
  /** Where its calls are published. */
  sinks?: string[];
}

/** The whole passage: validated, authorised, journaled, audited. */
export async function guardedContender({ name, calls, ...options }: GuardedOptions): Promise<Contender> {
  const { store, tool = pure } = options;
  const engine = await openEngine(options);
  return {
    name,
    call: () => callOnce(engine, tool.manifest.id),
    ...(calls && { calls }),
    async close() {
      await engine.close();
      await store.close();
    },
  };
}

/** An engine with the tool, and with an allow rule for `CALLER`. */
export async function openEngine(options: Omit<GuardedOptions, "name" | "calls">): Promise<Engine> {
  const { store, runner, tool = pure, sinks = [] } = options;
  const runners = [createThreadRunner({ maxThreads: 16 })];
  const engine = await createEngine({ store, authority, admission: LIMITS, runners, sinks });
  const implementation: Implementation =
    runner === "inline"
      ? { kind: "inline", operations: tool.operations }
      : { kind: "thread", moduleUrl: MODULE };
  const registered = await engine.tools.register(tool.manifest, { implementation });
  if (isFailure(registered)) throw new SallyportError(registered);
  return engine;
}

/** Whom the engine of `openEngine` lets call. */
export const CALLER = { tenant: "bench", agent: "bench" };

async function callOnce(engine: Engine, tool: string): Promise<void> {
  const answer = await engine.call({ tool, operation: "add", input: { a: 2, b: 3 }, caller: CALLER });
  if (answer.status !== "success") throw new SallyportError(answer.error);
}

/** Takes every unit and forgets it at once: what is left is the engine's own time. */
export function forgetful(): Store {
  const store = createMemoryStore();
  let sequence = 0;
  const commit: Store["commit"] = async (unit) => {
    if (unit.tools) return await store.commit(unit);
    sequence += 1;
    return { ok: true, link: { strand: 0, sequence, hash: "" } };
  };
  return { ...store, commit };
}

export const inMemory = () => createMemoryStore({ maxClosedCalls: 10_000, maxAuditEntries: 50_000 });
export const onDisk = (folder: string) => openSqliteStore({ folder, durability: "power" });
export { effectful };
