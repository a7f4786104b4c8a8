import {
  type CallRequest,
  type ConfiguredGrant,
  createMemoryStore,
  type DefinedTool,
  type Engine,
  type EngineOptions,
  grantAuthority,
  MemoryMeter,
  verifyChain,
} from "@sallyport/engine";
import { auditEvents } from "@sallyport/engine/host";
import type { ErrorReport, Implementation, Store } from "@sallyport/engine/ports";
import type { CallAnswer, Caller, JsonObject, LifecycleState } from "@sallyport/protocol";
import { must } from "../must.ts";
import { PROBE_CAPABILITIES, probe, probeFor, type RunnerKind } from "./probe-tool.ts";

/** The part of an engine that the checks use; a test passes a broken one to see a check fail. */
export interface TestedEngine extends Pick<Engine, "call" | "flush" | "close"> {
  readonly tools: Pick<Engine["tools"], "register">;
}

/** Makes the engine under test. Whatever it does to the options is part of what is tested. */
export type EngineFactory = (options: EngineOptions) => Promise<TestedEngine>;

/** The caller of every probe. */
export const PROBER: Caller = { tenant: "conformance", agent: "prober", user: "conformance" };

/** A grant for every call of these agents; `capabilities` are all that a probe may need. */
export function grantFor(agents: string[], capabilities = PROBE_CAPABILITIES): ConfiguredGrant {
  return { id: "probes", tenants: ["*"], agents, tools: ["*"], operations: ["*"], capabilities };
}

const EVERYBODY = grantAuthority([grantFor(["*"])]);

/** The part of a tool that probes need. */
type ProbedTool = Pick<DefinedTool, "manifest" | "operations">;

/** The engine's parts that a check replaces, and the runner of the probe; inline when left out. */
interface ProbeOptions extends Partial<EngineOptions> {
  runner?: RunnerKind;
}

/**
 * Opens a private engine in memory with the probe registered and with everything a check looks at; nothing of it is left
 * when it is disposed of. Rejects when the engine refuses the probe.
 */
export async function openProbeEngine(
  make: EngineFactory,
  { runner = "inline", ...parts }: ProbeOptions = {},
) {
  const store = createMemoryStore();
  const meter = new MemoryMeter();
  const reports: ErrorReport[] = [];
  const errors = { report: (report: ErrorReport) => void reports.push(report) };
  const engine = await make({ authority: EVERYBODY, meter, errors, ...parts, store });
  const register = async (tool: ProbedTool, given?: Implementation): Promise<void> => {
    const implementation = given ?? { kind: "inline" as const, operations: tool.operations };
    must(await engine.tools.register(tool.manifest, { implementation }));
  };
  const call = ({ manifest }: ProbedTool, operation = "run", more: Partial<CallRequest> = {}) =>
    engine.call({ tool: manifest.id, operation, input: {}, caller: PROBER, ...more });
  await register(probe, probeFor(runner));
  return {
    store,
    meter,
    reports,
    /** Rejects when the engine refuses the tool. */
    register,
    call,
    /** Calls an operation of the probe. */
    probe: (operation: string, more?: Partial<CallRequest>) => call(probe, operation, more),
    /** Everything the store holds for a tool, the probe when left out. */
    stateOf: (tool: ProbedTool = probe) => stateOf(store, tool),
    /** The audit events of one execution, in the order of the chain. */
    eventsOf: async ({ executionId }: CallAnswer): Promise<JsonObject[]> => {
      const found: JsonObject[] = [];
      for await (const { event } of auditEvents(store.audit, PROBER.tenant)) {
        if (event.executionId === executionId) found.push(event);
      }
      return found;
    },
    /** Checks the audit chain link by link against the head that the store remembers. */
    checkChain: () => verifyChain(store.audit, PROBER.tenant),
    /** Sends the readings that wait to the meter. */
    flush: () => engine.flush(),
    [Symbol.asyncDispose]: async (): Promise<void> => {
      await engine.close();
      await store.close();
    },
  };
}
export type ProbeEngine = Awaited<ReturnType<typeof openProbeEngine>>;

/** Everything the store holds for a tool, read past the engine. */
async function stateOf({ state }: Store, { manifest }: ProbedTool): Promise<JsonObject> {
  const snapshot = await state.open({ tenant: PROBER.tenant, tool: manifest.id });
  const found: JsonObject = {};
  for (const key of await state.keys(snapshot, { prefix: "", limit: 1_000 })) {
    const entry = await state.get(snapshot, key);
    if (entry) found[key] = entry.value;
  }
  return found;
}

/** The states that an answer's execution passed through, in order. */
export function statesOf({ lifecycle }: CallAnswer): LifecycleState[] {
  return lifecycle.map(({ state }) => state);
}

export function lastStateOf(answer: CallAnswer): LifecycleState | undefined {
  return statesOf(answer).at(-1);
}

/** The code of an answer's error; undefined for a success. */
export function codeOf(answer: CallAnswer): string | undefined {
  return answer.status === "success" ? undefined : answer.error.code;
}

/** How an answer ended, in words for evidence. */
export function endOf(answer: CallAnswer): string {
  return `${codeOf(answer) ?? "success"} in ${lastStateOf(answer) ?? "no state"}`;
}

/** Whether an error report carries a stack; a fault that crossed a thread keeps it as text. */
export function hasStack(report: ErrorReport | undefined): boolean {
  const error = report?.error;
  return typeof error === "object" && error !== null && "stack" in error && typeof error.stack === "string";
}
