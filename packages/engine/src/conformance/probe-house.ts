import {
  type CallAnswer,
  type Caller,
  isFailure,
  type JsonObject,
  SallyportError,
} from "@sallyport/protocol";
import { grantAuthority } from "../authorise/house-authority.ts";
import type { EngineOptions } from "../call/furnish.ts";
import type { CallRequest } from "../call/house.ts";
import type { ToolShelf } from "../call/tool-shelf.ts";
import { createMemoryStore } from "../memory/index.ts";
import { MemoryMeter } from "../memory/meter.ts";
import { RecentErrors } from "../memory/system.ts";
import type { Implementation } from "../ports/runner.ts";
import type { Store } from "../ports/store.ts";
import type { DefinedTool } from "../registry/index.ts";

/** The part of an engine the checks use; a broken one can be handed in to see a box fail. */
export interface ProbedEngine {
  call(request: CallRequest): Promise<CallAnswer>;
  readonly tools: Pick<ToolShelf, "register">;
  flush(): void;
  close(): Promise<void>;
}

/** Makes the engine under test. Whatever it does to the options is part of what is tested. */
export type EngineFactory = (options: EngineOptions) => Promise<ProbedEngine>;

/** How a tool's code is reached. */
export type RunnerKind = Exclude<Implementation["kind"], "process">;

/** On whose behalf probes are called. */
export const PROBER: Caller = { tenant: "conformance", agent: "prober", user: "conformance" };

/** The capabilities a probe may be granted. */
export const PROBE_CAPABILITIES = ["state.read", "state.write", "state.delete"];

const PROBE_AUTHORITY = grantAuthority([
  {
    id: "probes",
    tenants: ["*"],
    agents: ["*"],
    tools: ["*"],
    operations: ["*"],
    capabilities: PROBE_CAPABILITIES,
  },
]);

/** A private engine with a store, a meter and an error handler that nobody else sees. */
export interface ProbeHouse {
  readonly store: Store;
  readonly meter: MemoryMeter;
  readonly errors: RecentErrors;
  /** Rejects when the engine refuses the probe. */
  register(tool: DefinedTool, implementation?: Implementation): Promise<void>;
  call(tool: DefinedTool, operation: string, more?: Partial<CallRequest>): Promise<CallAnswer>;
  /** Everything the store holds for a probe, read past the engine. */
  stateOf(tool: DefinedTool): Promise<JsonObject>;
  /** Resolves once the readings that waited have reached the meter. */
  settle(): Promise<void>;
}

/** How a private house is made: by which engine, and with which parts of its own. */
export interface ProbeSetup extends Partial<Omit<EngineOptions, "store">> {
  make: EngineFactory;
}

/** Opens a private house for the time of `use`; nothing of it is left afterwards. */
export async function inProbeHouse<Result>(
  { make, ...parts }: ProbeSetup,
  use: (house: ProbeHouse) => Promise<Result>,
): Promise<Result> {
  const store = createMemoryStore();
  const meter = new MemoryMeter();
  const errors = new RecentErrors();
  const engine = await make({ authority: PROBE_AUTHORITY, meter, errors, ...parts, store });
  try {
    return await use({ store, meter, errors, ...accessTo(engine, store) });
  } finally {
    await engine.close();
    await store.close();
  }
}

function accessTo(engine: ProbedEngine, store: Store): Omit<ProbeHouse, "store" | "meter" | "errors"> {
  return {
    register: (tool, implementation) => register(engine, tool, implementation),
    call: ({ manifest }, operation, more) =>
      engine.call({ tool: manifest.id, operation, input: {}, caller: PROBER, ...more }),
    stateOf: (tool) => stateOf(store, tool),
    settle: async () => engine.flush(),
  };
}

async function register(engine: ProbedEngine, tool: DefinedTool, given?: Implementation): Promise<void> {
  const implementation = given ?? { kind: "inline" as const, operations: tool.operations };
  const registered = await engine.tools.register(tool.manifest, { implementation });
  if (isFailure(registered)) throw new SallyportError(registered);
}

async function stateOf(store: Store, { manifest }: DefinedTool): Promise<JsonObject> {
  const snapshot = await store.state.open({ tenant: PROBER.tenant, tool: manifest.id });
  try {
    const found: JsonObject = {};
    for (const key of await store.state.keys(snapshot, { prefix: "", limit: 1_000 })) {
      const entry = await store.state.get(snapshot, key);
      if (entry) found[key] = entry.value;
    }
    return found;
  } finally {
    store.state.release(snapshot);
  }
}
