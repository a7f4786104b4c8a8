import fc from "fast-check";
import { expect } from "vitest";
import { createMemoryStore } from "../memory/store.ts";
import type { ApprovalState } from "../ports/approvals.ts";
import { CALLBACK_STATES, type CallPhase } from "../ports/calls.ts";
import type { UseLimit } from "../ports/grants.ts";
import type { StateSnapshot } from "../ports/state.ts";
import type { CommitResult, Store, UnitOfWork } from "../ports/store.ts";
import {
  batchOf,
  chainOf,
  contentsOf,
  moved,
  newCallId,
  pendingOf,
  queueing,
  type StoreTest,
  sampleApproval,
  sampleCall,
  sampleCallback,
  sampleClosing,
  sampleIntent,
  sampleRecord,
  sampleRevocation,
  sampleStandingGrant,
  sampleTool,
  scaledRuns,
  seenBy,
  unitOf,
} from "./store-samples.ts";

/** One of a few records, so that units meet. */
const which = fc.nat(2);
const slot = fc.nat(2);
const run = fc.constantFrom("run-1", "run-2");
/** The write is made on an older revision than the newest. */
const isLate = fc.boolean();
const phase = fc.constantFrom<CallPhase[]>("waiting", "queued", "executing", "unknown", "closed");
const state = fc.constantFrom<ApprovalState[]>("pending", "approved", "reserved", "consumed", "denied");
const order = fc.constantFrom("one", "two", null, undefined);
const key = fc.option(fc.constantFrom("k", "l"), { nil: undefined, freq: 3 });
const limit = fc.constantFrom<UseLimit[]>({}, { maxUses: 3 }, { rates: [{ max: 1, windowMs: 9 }] });
const writes = fc.array(
  fc.tuple(fc.constantFrom("a", "a/b", "b", "c"), fc.option(fc.nat(9), { nil: undefined })),
  { maxLength: 3 },
);

const from = fc.option(phase, { nil: undefined, freq: 2 });

const part = fc.oneof(
  { weight: 5, arbitrary: fc.record({ is: fc.constant("open"), which, phase, key }) },
  { weight: 3, arbitrary: fc.record({ is: fc.constant("begin"), which, key }) },
  { weight: 4, arbitrary: fc.record({ is: fc.constant("close"), which, to: phase, from }) },
  fc.record({ is: fc.constant("fence"), which, run }),
  fc.record({ is: fc.constant("rerun"), which, run }),
  fc.record({ is: fc.constant("cancel"), which, reason: fc.constantFrom("one", "two") }),
  fc.record({ is: fc.constant("approval"), which, state, order, isLate }),
  fc.record({ is: fc.constant("grant"), which, isLate }),
  fc.record({ is: fc.constant("use"), which, at: fc.nat(50), limit }),
  fc.record({ is: fc.constant("return"), which }),
  fc.record({ is: fc.constant("revocation"), which }),
  fc.record({ is: fc.constant("callback"), which, to: fc.constantFrom(...CALLBACK_STATES), isLate }),
  fc.record({
    is: fc.constant("record"),
    which,
    expect: fc.option(fc.nat(3), { nil: undefined }),
    isGone: isLate,
  }),
  fc.record({ is: fc.constant("tool"), which, isHeld: fc.boolean(), isLate }),
  fc.record({ is: fc.constant("state"), slot, writes }),
  fc.record({ is: fc.constant("event"), strand: fc.nat(1) }),
  fc.record({ is: fc.constant("message"), which }),
);
type Part = typeof part extends fc.Arbitrary<infer Value> ? Value : never;

const step = fc.oneof(
  { weight: 9, arbitrary: fc.record({ do: fc.constant("commit"), parts: fc.array(part, { maxLength: 3 }) }) },
  fc.record({ do: fc.constant("resend") }),
  fc.record({ do: fc.constant("look"), slot }),
  fc.record({ do: fc.constant("deliver"), count: fc.nat(2) }),
);
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

/**
 * The memory store is the oracle: whatever the order of units, another store gives the same results and holds the same.
 * What must hold for the oracle itself is checked with every step: a refused unit changes nothing, calls move along their
 * phases, the queue is the journal's queued calls, the chain is whole, and no snapshot ever changes.
 */
export function oracleContract(it: StoreTest): void {
  it("does what the memory store does, in every interleaving [R1-4.3] [FR-APR-03]", async ({ store }) => {
    const oracle = createMemoryStore();
    const run = fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 60 }), async (steps) => {
      const pair = new Pair(store, oracle);
      for (const one of steps) await pair.take(one);
      await pair.end();
    });
    await fc.assert(run, { numRuns: scaledRuns(60) });
  });
}

interface Snapshots {
  store: StateSnapshot;
  oracle: StateSnapshot;
  /** What the oracle showed when they were opened. */
  contents: unknown;
}

/** A store and the oracle side by side, in a tenant of their own. */
class Pair {
  readonly #store: Store;
  readonly #oracle: Store;
  readonly #tenant = newCallId();
  readonly #scope = { tenant: this.#tenant, tool: "calc" };
  readonly #slots = new Map<number, Snapshots>();
  #last: UnitOfWork | undefined;
  #units = 0;

  constructor(store: Store, oracle: Store) {
    this.#store = store;
    this.#oracle = oracle;
  }

  async take(one: Step): Promise<void> {
    if (one.do === "commit") await this.#commit(await this.#unit(one.parts));
    else if (one.do === "resend") await this.#resend();
    else if (one.do === "look") await this.#look(one.slot);
    else await this.#deliver(one.count);
  }

  async end(): Promise<void> {
    for (const each of [...this.#slots.keys()]) await this.#look(each);
    expect(await this.#contents(this.#store)).toEqual(await this.#contents(this.#oracle));
  }

  #contents(store: Store) {
    const names = [0, 1, 2].map((which) => `${this.#tenant}/${which}`);
    return contentsOf(store, this.#tenant, names);
  }

  async #commit(unit: UnitOfWork): Promise<CommitResult> {
    this.#last = unit;
    const before = await this.#contents(this.#oracle);
    const [expected, result] = [await this.#oracle.commit(unit), await this.#store.commit(unit)];
    expect(sorted(result)).toEqual(sorted(expected));
    const after = await this.#contents(this.#oracle);
    if (!expected.ok) expect(after).toEqual(before);
    for (const { callId, phase: now } of after.calls) {
      const was = before.calls.find((call) => call.callId === callId)?.phase;
      if (was !== undefined && was !== now) expect(MOVES[was], `${was} to ${now}`).toContain(now);
    }
    const queued = after.calls.filter((call) => call.phase === "queued").map(({ callId }) => callId);
    expect(after.queue.map(({ callId }) => callId).toSorted()).toEqual(queued.toSorted());
    for (const { strand } of after.heads) {
      const entries = after.units.filter((entry) => entry.strand === strand);
      const bodies = entries.map(({ body }) => body);
      expect(entries).toEqual(chainOf(bodies, strand));
    }
    return expected;
  }

  /** A unit that was applied is not applied again. */
  async #resend(): Promise<void> {
    if (!this.#last) return;
    const first = await this.#commit(this.#last);
    if (first.ok) expect(await this.#commit(this.#last)).toEqual(first);
  }

  /** What a snapshot shows stays as it was. The slot is free again afterwards. */
  async #look(which: number): Promise<void> {
    const held = this.#slots.get(which);
    if (!held) return;
    expect(await seenBy(this.#oracle, held.oracle)).toEqual(held.contents);
    expect(await seenBy(this.#store, held.store)).toEqual(held.contents);
    this.#slots.delete(which);
  }

  async #deliver(count: number): Promise<void> {
    for (const each of [this.#oracle, this.#store]) {
      const own = (await pendingOf(each)).filter(({ tenant }) => tenant === this.#tenant);
      const ids = own.slice(count, count + 2).map(({ id }) => id);
      await each.outbox.delivered({ sink: "s", ids });
    }
  }

  async #open(which: number): Promise<Snapshots> {
    const [store, oracle] = await Promise.all(
      [this.#store, this.#oracle].map((each) => each.state.open(this.#scope)),
    );
    if (!store || !oracle) throw new Error("A store opened nothing.");
    expect(store.version).toBe(oracle.version);
    const held = { store, oracle, contents: await seenBy(this.#oracle, oracle) };
    this.#slots.set(which, held);
    return held;
  }

  async #unit(parts: readonly Part[]): Promise<UnitOfWork> {
    this.#units += 1;
    let unit: UnitOfWork = unitOf({ id: `${this.#tenant}/${this.#units}`, tenant: this.#tenant });
    for (const one of parts) unit = { ...unit, ...(await this.#part(one, unit)) };
    return unit;
  }

  /** The part, behind what the unit has of its kind already. */
  async #part(one: Part, unit: UnitOfWork): Promise<Partial<UnitOfWork>> {
    const tenant = this.#tenant;
    const name = "which" in one ? `${tenant}/${one.which}` : tenant;
    switch (one.is) {
      case "open":
      case "begin": {
        const idempotencyKey = one.key;
        const fields = {
          callId: name,
          tenant,
          runId: "run-1",
          ...(idempotencyKey !== undefined && { idempotencyKey }),
        };
        // No step of a call opens one call and begins another with the same key: the port says nothing about that.
        const other = one.is === "begin" ? unit.open : unit.begin;
        if (idempotencyKey !== undefined && other?.idempotencyKey === idempotencyKey) return {};
        if (one.is === "begin") return { begin: sampleIntent({ ...fields, owner: "run-2" }) };
        if (unit.open) return {};
        const call = one.phase === "closed" ? sampleCall(fields) : sampleIntent(fields);
        if (one.phase !== "queued") return { open: { ...call, phase: one.phase } };
        const { open, enqueue } = queueing({ ...call, phase: "queued" });
        return { ...(open && { open }), ...(enqueue && { enqueue }) };
      }
      case "close": {
        const to = one.to === "unknown" ? one.to : "closed";
        const from = one.from && { from: one.from };
        const closing = to === "closed" && { closing: sampleClosing(name) };
        return { close: { callId: name, phase: to, ...from, ...closing } };
      }
      case "fence":
        return { fence: { callId: name, runId: one.run } };
      case "rerun":
        return { rerun: { callId: name, runId: one.run, attempt: this.#units } };
      case "cancel":
        return { cancel: { callId: name, reason: one.reason } };
      case "approval": {
        const written = unit.approvals?.findLast(({ record }) => record.approvalId === name)?.record;
        const kept = written ?? (await this.#oracle.approvals.get(name));
        const expected = baseOf(kept?.revision, one.isLate);
        const before = sampleApproval({ approvalId: name, tenant, revision: expected ?? 0 });
        const record = moved(kept ? { ...kept, revision: expected ?? 0 } : before, one.state);
        const write = { record, ...(expected !== undefined && { expect: expected }) };
        const ordered = one.order === undefined ? write : { ...write, order: one.order };
        return { approvals: [...(unit.approvals ?? []), ordered] };
      }
      case "grant": {
        const written = unit.grants?.findLast(({ record }) => record.grantId === name)?.record;
        const kept = written ?? (await this.#oracle.grants.get(name));
        const expected = baseOf(kept?.revision, one.isLate);
        const record = sampleStandingGrant({ grantId: name, tenant, revision: (expected ?? 0) + 1 });
        const write = { record, ...(expected !== undefined && { expect: expected }) };
        return { grants: [...(unit.grants ?? []), write] };
      }
      case "use": {
        const use = { grantId: name, at: one.at, callId: name, ...one.limit };
        return { grantUses: [...(unit.grantUses ?? []), use] };
      }
      case "return":
        return { returnedUses: [...(unit.returnedUses ?? []), { grantId: name, callId: name }] };
      case "revocation":
        return { revocations: [...(unit.revocations ?? []), sampleRevocation({ jti: name })] };
      case "callback": {
        const kept = await this.#oracle.callbacks.ofCall(name);
        const expected = baseOf(kept && kept.attempts + 1, one.isLate);
        const attempts = expected ?? 0;
        const callback = sampleCallback({ callId: name, tenant, state: one.to, attempts, dueAt: attempts });
        const write = { callback, ...(expected !== undefined && { expect: expected - 1 }) };
        return { callbacks: [...(unit.callbacks ?? []), write] };
      }
      case "record": {
        const write = sampleRecord({ id: name, body: one.isGone ? null : `{"n":${this.#units}}` });
        const expected = one.expect === undefined ? write : { ...write, expect: one.expect };
        return { records: [...(unit.records ?? []), expected] };
      }
      case "tool": {
        const quarantine = one.isHeld && { quarantine: { at: 5, reason: "It reached outside.", by: "ada" } };
        const stored = (await this.#oracle.tools.changedSince()).changed;
        const versions = [...stored, ...(unit.tools ?? []).map(({ record }) => record)];
        const kept = versions.findLast(({ manifest }) => manifest.id === name);
        const expected = baseOf(kept?.revision, one.isLate);
        const fields = { registeredAt: this.#units, revision: (expected ?? 0) + 1 };
        const record = { ...sampleTool(name, "1.0.0"), ...fields, ...quarantine };
        const write = { record, ...(expected !== undefined && { expect: expected }) };
        return { tools: [...(unit.tools ?? []), write] };
      }
      case "state": {
        const { oracle } = this.#slots.get(one.slot) ?? (await this.#open(one.slot));
        const list = one.writes.map(([named, value]) => ({ key: named, value }));
        const base = { scope: this.#scope, callId: name, snapshotVersion: oracle.version };
        return { state: { ...base, writes: list } };
      }
      case "event":
        return { strand: one.strand, audit: `{"n":${this.#units}}` };
      case "message":
        return {
          outbox: { sinks: ["s"], events: [...(unit.outbox?.events ?? []), ...batchOf([name]).events] },
        };
    }
  }
}

const MOVES: Record<CallPhase, CallPhase[]> = {
  waiting: ["executing", "closed"],
  queued: ["executing", "closed"],
  executing: ["unknown", "closed"],
  unknown: ["closed"],
  closed: [],
};

/** The revision a write is made on: the newest one, or the one before it; undefined for a new record. */
function baseOf(newest: number | undefined, isLate: boolean): number | undefined {
  const base = isLate ? (newest ?? 1) - 1 : newest;
  return base === 0 ? undefined : base;
}

/** Conflicting keys come in any order. */
function sorted(result: CommitResult): CommitResult {
  if (result.ok || result.conflict.kind !== "state") return result;
  return { ok: false, conflict: { kind: "state", keys: result.conflict.keys.toSorted() } };
}
