import { type CallAnswer, failure, type JsonValue } from "@sallyport/protocol";
import fc from "fast-check";
import { test } from "vitest";
import { genesis, linkAfter } from "../audit/index.ts";
import type { ApprovalRecord, ApprovalStanding, ApprovalState } from "../ports/approvals.ts";
import type { Callback, CallPhase, CallRecord, ClosedWith, QueuedCall } from "../ports/calls.ts";
import type { CapabilityGrant, Revocation, StandingGrant } from "../ports/grants.ts";
import type { EventBatch, PendingBatch } from "../ports/outbox.ts";
import type { RecordWrite } from "../ports/records.ts";
import type { StateScope, StateSnapshot } from "../ports/state.ts";
import type { AuditEntry, AuditLink, CommitResult, Conflict, Store, UnitOfWork } from "../ports/store.ts";
import type { ToolRecord } from "../ports/tools.ts";

/** One empty store. `reopen` closes it and opens what it left behind; absent when nothing survives. */
export interface StoreFixture {
  store: Store;
  reopen?: () => Promise<Store>;
  /** Moves the clock that leases are measured by; left out where it cannot be moved. */
  advance?(ms: number): void | Promise<void>;
  /** Closes the store, also one reopened, and removes every trace. */
  dispose(): Promise<void>;
}

/** `it` that gives each test an empty store of its own, and disposes of it however the test ended. */
export function storeTest(make: () => Promise<StoreFixture>) {
  return test.extend<{ fixture: StoreFixture; store: Store }>({
    fixture: async ({ task: _ }, use) => {
      const fixture = await make();
      await use(fixture);
      await fixture.dispose();
    },
    store: async ({ fixture }, use) => use(fixture.store),
  });
}

export type StoreTest = ReturnType<typeof storeTest>;

/** The global count that the counts of costly properties are written for. */
const USUAL_RUNS = 300;

/** The number of runs of a costly property: it grows with fast-check's global `numRuns`, 300 unless configured. */
export function scaledRuns(usual: number): number {
  return Math.ceil((usual * (fc.readConfigureGlobal().numRuns ?? USUAL_RUNS)) / USUAL_RUNS);
}

const ALL = 9_999;

const STARTED_AT = 1_767_225_600_000;
const CLOSED_AT = 1_767_225_600_123;

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
    startedAt: STARTED_AT,
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
    startedAt: STARTED_AT,
    completedAt: CLOSED_AT,
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
    closedAt: CLOSED_AT,
    outputHash: "o".repeat(64),
    answer: sampleAnswer(callId, result),
    timeline: {
      stages: [{ stage: "execute", attempt: 1, ms: 1.5 }],
      decisions: [{ attempt: 1, outcome: "allow", reason: ODD_TEXT, rules: [ODD_TEXT], policyVersion: "7" }],
    },
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
  return { tenant: parts.open?.tenant ?? "acme", ...parts };
}

/** Events that each name something, for the sink `s` when none is named. */
export function batchOf(names: readonly string[], sinks: readonly string[] = ["s"]): EventBatch {
  return { sinks, events: names.map((name) => JSON.stringify({ name })) };
}

/** What waits for the sink `s`, as the instance `i` sees it, unless others are named. */
export function pendingOf(
  { outbox }: Pick<Store, "outbox">,
  order: { sink?: string; instance?: string; limit?: number } = {},
): Promise<PendingBatch[]> {
  return outbox.pending({ sink: "s", instance: "i", limit: ALL, ...order });
}

/** The chain that bodies form in a strand, from its beginning. */
export function chainOf(bodies: readonly string[], strand = 0): AuditEntry[] {
  let previous = genesis(strand);
  return bodies.map((body) => {
    const entry = linkAfter(previous, body);
    previous = entry;
    return entry;
  });
}

/** The links of entries, without their bodies. */
export function linksOf(entries: readonly AuditEntry[]): AuditLink[] {
  return entries.map(({ strand, sequence, hash }) => ({ strand, sequence, hash }));
}

/** Opens the call, with one event. */
export function opening(call: CallRecord): UnitOfWork {
  return unitOf({ open: call, audit: `{"opened":"${call.callId}"}` });
}

/** Opens the call as queued, with one event, its place in the queue and its order. */
export function queueing(call: CallRecord, place: Partial<UnitOfWork["enqueue"]> = {}): UnitOfWork {
  const enqueue = { ...placeOf(call), order: `order of ${call.callId}`, ...place };
  return { ...opening({ ...call, phase: "queued" }), enqueue };
}

/** A callback nobody has tried to deliver yet. */
export function sampleCallback(fields: Partial<Callback> = {}): Callback {
  return {
    callId: newCallId(),
    tenant: "acme",
    url: "https://example.com/done",
    state: "due",
    attempts: 0,
    dueAt: STARTED_AT,
    ...fields,
  };
}

/** A write of a record of the kind that `contentsOf` shows. */
export function sampleRecord(fields: Partial<RecordWrite> = {}): RecordWrite {
  return { kind: "sample", id: newCallId(), body: '{"n":1}', ...fields };
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
    registeredAt: STARTED_AT,
    retirement: {},
    revision: 1,
  };
}

/** A first revision that waits for an answer. */
export function sampleApproval(fields: Partial<ApprovalRecord> = {}): ApprovalRecord {
  return {
    approvalId: `approval-${newCallId()}`,
    callId: newCallId(),
    tenant: "acme",
    agent: "agent-1",
    tool: "calc",
    version: "1.2.3",
    operation: "run",
    digest: "d".repeat(64),
    inputHash: "i".repeat(64),
    manifestHash: "m".repeat(64),
    policyVersion: "7",
    because: "policy",
    tier: "operator",
    reason: "It costs money.",
    rules: ["money"],
    summary: "calc run",
    risk: "medium",
    input: { a: 1 },
    levels: [{ level: 1, approvers: ["*"], timeoutMs: 60_000 }],
    round: 1,
    quorum: 1,
    votes: [],
    createdAt: STARTED_AT,
    expiresAt: 1_767_225_660_000,
    standing: { state: "pending" },
    revision: 1,
    ...fields,
  };
}

const STANDINGS: { [State in ApprovalState]: ApprovalStanding & { state: State } } = {
  pending: { state: "pending" },
  approved: { state: "approved", at: 1 },
  edited: { state: "edited", at: 1 },
  reserved: { state: "reserved", owner: "run-1", until: 9 },
  consumed: { state: "consumed", at: 2 },
  denied: { state: "denied", at: 2, by: "ada", reason: "No." },
  expired: { state: "expired", at: 2 },
  withdrawn: { state: "withdrawn", at: 2, reason: "Not needed." },
  void: { state: "void", at: 2, reason: "The manifest changed." },
};

/** The next revision, in another state. */
export function moved(record: ApprovalRecord, state: ApprovalState): ApprovalRecord {
  return { ...record, standing: STANDINGS[state], revision: record.revision + 1 };
}

const commonGrant = () => ({
  grantId: `grant-${newCallId()}`,
  tenant: "acme",
  grantor: "ada",
  issuedAt: STARTED_AT,
  signature: "s".repeat(64),
  uses: 0,
  revision: 1,
});

export function sampleCapabilityGrant(fields: Partial<CapabilityGrant> = {}): CapabilityGrant {
  return {
    ...commonGrant(),
    kind: "capability",
    capabilityId: "filesystem.read",
    grantee: { type: "TOOL", id: "calc" },
    scope: { resources: ["/data/**"], actions: [], conditions: [{ type: "time", expression: "day" }] },
    constraints: [{ type: "rate", value: { perMinute: 5 } }],
    delegatable: false,
    delegationDepth: 0,
    ...fields,
  };
}

export function sampleStandingGrant(fields: Partial<StandingGrant> = {}): StandingGrant {
  return {
    ...commonGrant(),
    kind: "standing",
    tier: "user",
    tool: "calc",
    versions: "^1.0.0",
    operations: ["run"],
    arguments: [{ pointer: "/a", match: { const: 1 } }],
    agent: "agent-1",
    ...fields,
  };
}

export function sampleRevocation(fields: Partial<Revocation> = {}): Revocation {
  const forgetAt = 1_767_229_200_000;
  return { jti: newCallId(), revokedAt: 5, by: "ada", reason: "Lost.", forgetAt, ...fields };
}

/** Begins the call as it is, with one event. */
export const beginning = ({ phase: _, ...begin }: CallRecord) =>
  unitOf({ tenant: begin.tenant, begin, audit: "{}" });

/** Closes the call without an output, with one event; with `from` only while the call is in that phase. */
export function ending({ callId, tenant }: CallRecord, from?: CallPhase): UnitOfWork {
  const close = { callId, phase: "closed", closing: failedClosing(callId, "error") } as const;
  return unitOf({ tenant, close: { ...close, ...(from && { from }) }, audit: "{}" });
}

/** A waiting call and its approved approval, as the store has them now. */
export async function approvedCall(store: Store) {
  const call = sampleIntent({ phase: "waiting" });
  const record = sampleApproval({ callId: call.callId });
  const approved = moved(record, "approved");
  await applied(store, unitOf({ open: call, approvals: [{ record, order: "{}" }], audit: "{}" }));
  await applied(store, unitOf({ approvals: [{ record: approved, expect: 1 }], audit: "{}" }));
  return { call, approved };
}

/** Consumes the approval and begins the call. */
export function consuming(
  { call, approved }: Awaited<ReturnType<typeof approvedCall>>,
  owner: string,
): UnitOfWork {
  const record = moved(approved, "consumed");
  return unitOf({
    begin: { ...call, owner },
    approvals: [{ record, expect: approved.revision, order: null }],
    audit: `{"by":"${owner}"}`,
    outbox: batchOf([call.callId]),
  });
}

/** The call's place as `queueing` gives it. */
export function placeOf({ callId, tenant, agent, tool, startedAt }: CallRecord): QueuedCall {
  return { callId, tenant, agent, tool, priority: "normal", queuedAt: startedAt };
}

/** Text that is easily spoilt on its way into a store and back. */
export const ODD_TEXT = 'a\u0000b "\\ \uffff \u{1f600} \u2028';

export function crowd<Item>(size: number, make: (index: number) => Item): Item[] {
  return Array.from({ length: size }, (_, index) => make(index));
}

/** What a snapshot shows: keys with their entries. */
export async function seenBy({ state }: Store, snapshot: StateSnapshot) {
  const keys = await state.keys(snapshot, { prefix: "", limit: ALL });
  return Promise.all(keys.map(async (key) => [key, await state.get(snapshot, key)] as const));
}

/**
 * Everything a store holds; with a tenant only what is the tenant's, or is named after it. Callbacks are those of calls
 * that it holds, and of the given ones.
 */
export async function contentsOf(store: Store, tenant?: string, ids: readonly string[] = []) {
  const isMeant = (name: string) => tenant === undefined || name.startsWith(tenant);
  const filter = { limit: ALL, ...(tenant !== undefined && { tenant }) };
  const snapshot = await store.state.open({ tenant: tenant ?? "acme", tool: "calc" });
  const state = await seenBy(store, snapshot);
  const approvals = await store.approvals.list(filter);
  const calls = await store.calls.list(filter);
  const callIds = new Set([...calls.map(({ callId }) => callId), ...ids]);
  const callbacks = await Promise.all([...callIds].map((callId) => store.callbacks.ofCall(callId)));
  const queue = await Promise.all(
    calls.map(async ({ callId }) => ({ callId, order: await store.queue.order(callId) })),
  );
  const heads = await store.audit.heads(tenant ?? "acme");
  const units: AuditEntry[] = [];
  for (const { strand } of heads)
    units.push(...(await store.audit.read(tenant ?? "acme", { strand, after: 0, limit: ALL })));
  return {
    approvals,
    orders: await Promise.all(approvals.map(({ approvalId }) => store.approvals.order(approvalId))),
    grants: (await store.grants.changedSince()).changed.filter(({ grantId }) => isMeant(grantId)),
    revocations: (await store.revocations.changedSince()).changed.filter(({ jti }) => isMeant(jti)),
    calls,
    queue: queue.filter(({ order }) => order !== undefined),
    callbacks: callbacks.filter((callback) => callback !== undefined),
    records: (await store.records.list("sample", { limit: ALL })).filter(({ id }) => isMeant(id)),
    heads,
    units,
    messages: (await pendingOf(store))
      .filter((batch) => isMeant(batch.tenant))
      .map(({ tenant: of, events }) => ({ tenant: of, events })),
    tools: (await store.tools.changedSince()).changed.filter(({ manifest }) => isMeant(manifest.id)),
    state,
  };
}
