import { type CallAnswer, failure, type JsonValue } from "@sallyport/protocol";
import type { Callback } from "../ports/callbacks.ts";
import type { CallRecord, ClosedWith } from "../ports/calls.ts";
import type { StateScope } from "../ports/state.ts";
import type { CommitResult, Conflict, Store, UnitOfWork } from "../ports/store.ts";
import type { ToolRecord } from "../ports/tool-records.ts";

let made = 0;

/** A call id no other test has. */
export function newCallId(): string {
  made += 1;
  return `call-${made.toString().padStart(8, "0")}`;
}

export function sampleIntent(fields: Partial<CallRecord> = {}): CallRecord {
  return {
    callId: newCallId(),
    tenant: "acme",
    agent: "agent-1",
    tool: "calc",
    version: "1.2.3",
    operation: "run",
    manifestHash: "m".repeat(64),
    sideEffects: "state",
    input: '{"a":1}',
    inputHash: "i".repeat(64),
    requestDigest: "r".repeat(64),
    owner: "run-1",
    attempt: 1,
    startedAt: 1_767_225_600_000,
    phase: "executing",
    ...fields,
  };
}

export function sampleAnswer(callId: string, result: JsonValue = { sum: 2 }): CallAnswer {
  const usage = {
    durationMs: 1.5,
    cpuMs: 1,
    memoryPeakBytes: 2,
    networkBytesSent: 0,
    networkBytesReceived: 0,
  };
  return {
    callId,
    executionId: `${callId}-1`,
    tool: "calc",
    version: "1.2.3",
    operation: "run",
    attempts: 1,
    lifecycle: [{ state: "DECLARED", at: 1 }],
    startedAt: 1,
    completedAt: 2,
    usage,
    warnings: [],
    replayed: false,
    status: "success",
    result,
  };
}

export function sampleClosing(callId: string, result?: JsonValue): ClosedWith {
  return {
    status: "success",
    closedAt: 1_767_225_600_123,
    outputHash: "o".repeat(64),
    answer: sampleAnswer(callId, result),
  };
}

export function failedClosing(callId: string, status: "timeout" | "error"): ClosedWith {
  const { status: _, ...common } = sampleAnswer(callId);
  const { result: __, ...rest } = { result: null, ...common };
  return { status, closedAt: 5, answer: { ...rest, status, error: failure("E3914") } };
}

/** A call that is closed from the start. */
export function sampleCall(fields: Partial<CallRecord> = {}): CallRecord {
  const intent = sampleIntent(fields);
  return { closing: sampleClosing(intent.callId), ...intent, phase: "closed" };
}

/** A unit of which every part that is not given is empty. */
export function unitOf(parts: Partial<UnitOfWork>): UnitOfWork {
  return { tenant: parts.open?.tenant ?? "acme", events: [], outbox: [], ...parts };
}

/** Opens the call, with one event. */
export function opening(call: CallRecord): UnitOfWork {
  return unitOf({ open: call, events: [`{"opened":"${call.callId}"}`] });
}

/** Opens the call as queued, with one event, its place in the queue and its order. */
export function queueing(call: CallRecord, place: Partial<UnitOfWork["enqueue"]> = {}): UnitOfWork {
  const { callId, tenant, agent, tool, startedAt } = call;
  const enqueue = { callId, tenant, agent, tool, priority: "normal" as const, queuedAt: startedAt };
  return {
    ...opening({ ...call, phase: "queued" }),
    enqueue: { ...enqueue, order: `order of ${callId}`, ...place },
  };
}

/** A callback nobody has tried to deliver yet. */
export function sampleCallback(fields: Partial<Callback> = {}): Callback {
  return {
    callId: newCallId(),
    tenant: "acme",
    url: "https://example.com/done",
    state: "due",
    attempts: 0,
    dueAt: 1_767_225_600_000,
    ...fields,
  };
}

/** Commits what is expected to go through; throws otherwise. */
export async function applied(store: Store, unit: UnitOfWork): Promise<CommitResult & { ok: true }> {
  const result = await store.commit(unit);
  if (result.ok) return result;
  throw new Error(`A unit was refused: ${JSON.stringify(result.conflict)}`);
}

/** Commits what is expected to be refused, and says why it was. */
export async function refusal(store: Store, unit: UnitOfWork): Promise<Conflict> {
  const result = await store.commit(unit);
  if (!result.ok) return result.conflict;
  throw new Error("A unit was applied that had to be refused.");
}

/** Values by key; `undefined` deletes. */
export type Writes = Record<string, JsonValue | undefined>;

/** A unit that writes state on the basis of a snapshot's version. */
export function writing(
  scope: StateScope,
  at: { version: number; callId?: string },
  writes: Writes,
): UnitOfWork {
  const list = Object.entries(writes).map(([key, value]) => ({ key, value }));
  const callId = at.callId ?? newCallId();
  return unitOf({
    tenant: scope.tenant,
    state: { scope, callId, snapshotVersion: at.version, writes: list },
  });
}

/** Writes on top of whatever is newest. */
export async function put(store: Store, scope: StateScope, writes: Writes): Promise<string> {
  const callId = newCallId();
  const snapshot = await store.state.open(scope);
  await applied(store, writing(scope, { version: snapshot.version, callId }, writes));
  store.state.release(snapshot);
  return callId;
}

export function sampleTool(id: string, version: string): ToolRecord {
  return {
    manifest: {
      id,
      version,
      name: `The ${id} tool`,
      description: "Adds numbers",
      category: "computation",
      tags: ["math", "zero\u0000"],
      source: { type: "native" },
      status: "active",
      securityLevel: 0,
      operations: { run: { description: "Adds", inputSchema: { type: "object" } } },
      permissions: { filesystem: [], network: [], credentials: [] },
      limits: { timeoutMs: 1000, memoryBytes: 1024 },
      kind: "function",
      requiredCapabilities: [],
      sideEffects: "none",
      deterministic: true,
      idempotent: true,
      requiresApproval: false,
      risk: "low",
    },
    manifestHash: `hash of ${id} ${version}`,
    registeredAt: 1_767_225_600_000,
    retirement: {},
  };
}
