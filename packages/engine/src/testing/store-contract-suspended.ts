import { expect } from "vitest";
import type { CallRecord } from "../ports/calls.ts";
import type { Store, UnitOfWork } from "../ports/store.ts";
import {
  applied,
  beginning,
  contentsOf,
  ending,
  failedClosing,
  ODD_TEXT,
  opening,
  placeOf,
  queueing,
  refusal,
  type StoreTest,
  sampleClosing,
  sampleIntent,
  unitOf,
} from "./store-samples.ts";

/** Opens a call in the phase, with its place when it is queued. */
function suspending(call: CallRecord): UnitOfWork {
  return call.phase === "queued" ? queueing(call) : opening(call);
}

async function suspended(store: Store, fields: Partial<CallRecord>): Promise<CallRecord> {
  const call = sampleIntent(fields);
  await applied(store, suspending(call));
  return call;
}

/** Accepts as many calls, one after the other. */
async function accepted(store: Store, count: number): Promise<CallRecord[]> {
  const calls = Array.from({ length: count }, () => sampleIntent({ phase: "queued" }));
  for (const call of calls) await applied(store, queueing(call));
  return calls;
}

/** The intent with which the call begins, all of it changed that may change. */
function intentOf({ callId, tenant, agent }: CallRecord, fields: Partial<CallRecord> = {}): CallRecord {
  const { requestDigest: _, ...intent } = sampleIntent({
    callId,
    tenant,
    agent,
    version: "1.3.0",
    operation: "walk",
    manifestHash: "n".repeat(64),
    sideEffects: "external",
    input: '{"a":2}',
    inputHash: "j".repeat(64),
    owner: "run-2",
    attempt: 2,
  });
  return { ...intent, ...fields };
}

const held = (store: Store, key: string, agent = "agent-1") =>
  store.calls.byIdempotencyKey({ tenant: "acme", agent, key });

/** A call may wait in the journal before it runs, for a person or for room: it runs once, or is closed without having run. */
export function suspendedContract(it: StoreTest, phase: "waiting" | "queued"): void {
  it("is in the journal with everything it was asked with [FR-APR-03] [L3-EXE-5]", async ({ store }) => {
    const asked = { user: "ada", session: "s", idempotencyKey: "k", callbackUrl: "https://example.com/done" };
    const call = await suspended(store, { phase, ...asked });
    const other = await suspended(store, { phase: "executing" });
    expect(await store.calls.get(call.callId)).toEqual(call);
    expect(await store.calls.list({ phase, limit: 9 })).toEqual([call]);
    expect(await store.calls.list({ phase, tenant: "other", limit: 9 })).toEqual([]);
    const last = await suspended(store, { phase });
    expect(await store.calls.list({ limit: 2 })).toEqual([last, other]);
    expect(await store.calls.list({ before: { at: other.startedAt, id: other.callId }, limit: 2 })).toEqual([
      call,
    ]);
  });

  it("is refused whole when its id or its key is taken, and binds its own", async ({ store }) => {
    const call = await suspended(store, { phase, idempotencyKey: "k" });
    const before = await contentsOf(store);
    expect(await refusal(store, suspending(call))).toEqual({ kind: "duplicate_call" });
    for (const next of [phase, "executing"] as const) {
      const namesake = sampleIntent({ phase: next, idempotencyKey: "k" });
      const conflict = { kind: "idempotency", existing: call };
      expect(await refusal(store, suspending(namesake))).toEqual(conflict);
    }
    expect(await contentsOf(store)).toEqual(before);
  });

  it("becomes the intent to run as it is known now, and keeps its time, key, digest and callback", async ({
    store,
  }) => {
    const callbackUrl = "https://example.com/done";
    const call = await suspended(store, { phase, idempotencyKey: "k", user: "ada", callbackUrl });
    const later = await suspended(store, { phase: "executing" });
    const intent = intentOf(call);
    await applied(store, beginning(intent));
    const begun = { ...intent, idempotencyKey: "k", requestDigest: "r".repeat(64), callbackUrl };
    expect(await store.calls.list({ limit: 9 })).toEqual([later, begun]);
    expect(await held(store, "k")).toEqual(begun);
    expect(await store.calls.list({ phase, limit: 9 })).toEqual([]);
    expect(await store.calls.list({ phase: "executing", limit: 9 })).toEqual([later, begun]);
    const namesake = opening(sampleIntent({ idempotencyKey: "k" }));
    expect((await refusal(store, namesake)).kind).toBe("idempotency");
  });

  it("takes every odd text of its intent exactly", async ({ store }) => {
    const call = await suspended(store, { phase, requestDigest: ODD_TEXT });
    const odd = { user: ODD_TEXT, session: ODD_TEXT, input: JSON.stringify([ODD_TEXT]), operation: ODD_TEXT };
    const intent = intentOf(call, odd);
    await applied(store, beginning(intent));
    expect(await store.calls.get(call.callId)).toEqual({ ...intent, requestDigest: ODD_TEXT });
  });

  it("has no answer any more, whatever it was opened with", async ({ store }) => {
    const { callId, ...fields } = sampleIntent({ phase });
    const call = await suspended(store, { callId, ...fields, closing: failedClosing(callId, "error") });
    const { requestDigest } = fields;
    const intent = intentOf(call, { closing: sampleClosing(callId) });
    await applied(store, unitOf({ begin: intent, audit: "{}" }));
    const { closing: _, ...expected } = intent;
    expect(await store.calls.get(callId)).toEqual({ ...expected, requestDigest });
  });

  it("has the receipt of its last event: of its opening, its beginning, its end [R1-8.1]", async ({
    store,
  }) => {
    const receiptOf = async ({ callId }: CallRecord) => {
      const close = { callId, phase: "closed", closing: sampleClosing(callId) } as const;
      await applied(store, unitOf({ close }));
      return (await store.calls.get(callId))?.closing?.answer.receipt;
    };
    const silent = sampleIntent({ phase });
    const first = await applied(store, suspending(silent));
    const loud = await suspended(store, { phase });
    await applied(store, unitOf({ begin: intentOf(silent) }));
    const begun = await applied(store, beginning(intentOf(loud)));
    expect(await receiptOf(silent)).toMatchObject({ ...first.link, inputHash: "j".repeat(64) });
    expect(await receiptOf(loud)).toMatchObject({ ...begun.link, inputHash: "j".repeat(64) });
  });

  it("takes the key, digest and callback that the intent brings, and lets go of the old key", async ({
    store,
  }) => {
    const call = await suspended(store, {
      phase,
      idempotencyKey: "old",
      callbackUrl: "https://example.com/old",
    });
    const brought = {
      idempotencyKey: "new",
      requestDigest: "q".repeat(64),
      callbackUrl: "https://new.example",
    };
    const intent = intentOf(call, brought);
    await applied(store, beginning(intent));
    expect(await held(store, "new")).toEqual(intent);
    expect(await held(store, "old")).toBeUndefined();
    await applied(store, opening(sampleIntent({ idempotencyKey: "old" })));
  });

  it("is refused a key that another call holds, and goes on waiting", async ({ store }) => {
    const call = await suspended(store, { phase, idempotencyKey: "mine" });
    const other = await suspended(store, { phase: "executing", idempotencyKey: "theirs" });
    const namesake = await suspended(store, { phase, idempotencyKey: "mine", agent: "agent-2" });
    const taken = beginning(intentOf(call, { idempotencyKey: "theirs" }));
    expect(await refusal(store, taken)).toEqual({ kind: "idempotency", existing: other });
    const moved = beginning(intentOf(call, { agent: "agent-2" }));
    expect(await refusal(store, moved)).toEqual({ kind: "idempotency", existing: namesake });
    expect(await store.calls.get(call.callId)).toEqual(call);
    expect(await held(store, "mine")).toEqual(call);
    await applied(store, beginning(intentOf(call, { idempotencyKey: "mine" })));
  });

  it.for(["executing", "unknown", "closed"] as const)(
    "does not begin when it is %s",
    async (now, { store }) => {
      const call = await suspended(store, { phase: "executing" });
      const { callId } = call;
      const closing = now === "closed" && { closing: sampleClosing(callId) };
      if (now !== "executing") await applied(store, unitOf({ close: { callId, phase: now, ...closing } }));
      const before = await contentsOf(store);
      expect(await refusal(store, beginning(intentOf(call)))).toEqual({ kind: "not_waiting" });
      expect(await contentsOf(store)).toEqual(before);
    },
  );

  it("does not begin for another tenant, when nobody opened it, nor when its unit is refused", async ({
    store,
  }) => {
    const call = await suspended(store, { phase });
    const before = await contentsOf(store);
    const theirs = beginning({ ...intentOf(call), tenant: "other" });
    expect(await refusal(store, theirs)).toEqual({ kind: "not_waiting" });
    expect(await refusal(store, beginning(intentOf(sampleIntent())))).toEqual({ kind: "not_waiting" });
    const close = { callId: "nobody", phase: "unknown" as const };
    expect(await refusal(store, { ...beginning(intentOf(call)), close })).toEqual({ kind: "not_open" });
    expect(await contentsOf(store)).toEqual(before);
  });

  it("may be closed without having run, and then neither begins nor ends any more", async ({ store }) => {
    const call = await suspended(store, { phase, idempotencyKey: "k" });
    const { answer, ...closing } = failedClosing(call.callId, "error");
    const late = { ...answer, version: "2.0.0", operation: "other", startedAt: 77, completedAt: 88 };
    const close = { callId: call.callId, phase: "closed", closing: { ...closing, answer: late } } as const;
    const { link } = await applied(store, unitOf({ close, audit: "{}" }));
    const receipt = { tenant: "acme", ...link, inputHash: call.inputHash };
    const expected = { ...closing, answer: { ...late, receipt } };
    expect(await store.calls.get(call.callId)).toEqual({ ...call, phase: "closed", closing: expected });
    expect(await refusal(store, beginning(intentOf(call)))).toEqual({ kind: "not_waiting" });
    expect(await refusal(store, ending(call))).toEqual({ kind: "not_open" });
    expect((await refusal(store, opening(sampleIntent({ idempotencyKey: "k" })))).kind).toBe("idempotency");
  });

  it("is closed only in the phase it is expected in, and stays as it is in any other", async ({ store }) => {
    const call = await suspended(store, { phase });
    const before = await contentsOf(store);
    for (const from of ["waiting", "queued", "executing", "unknown", "closed"] as const) {
      if (from === phase) continue;
      expect(await refusal(store, ending(call, from))).toEqual({ kind: "not_open" });
    }
    expect(await contentsOf(store)).toEqual(before);
    await applied(store, beginning(call));
    expect(await refusal(store, ending(call, phase))).toEqual({ kind: "not_open" });
    await applied(store, unitOf({ close: { callId: call.callId, phase: "unknown", from: "executing" } }));
    expect(await refusal(store, ending(call, "executing"))).toEqual({ kind: "not_open" });
    await applied(store, ending(call, "unknown"));
    expect(await refusal(store, ending(call, "closed"))).toEqual({ kind: "not_open" });
  });

  it("has no unknown outcome, because nothing has run", async ({ store }) => {
    const call = await suspended(store, { phase });
    const before = await contentsOf(store);
    const lost = unitOf({ close: { callId: call.callId, phase: "unknown" }, audit: "{}" });
    expect(await refusal(store, lost)).toEqual({ kind: "not_open" });
    expect(await contentsOf(store)).toEqual(before);
  });
}

/** Accepted calls wait until they begin or end. */
export function queueContract(it: StoreTest): void {
  it("has a call with everything it takes to run it, until the call begins or ends [L3-EXE-5]", async ({
    store,
  }) => {
    const [call, ended, later] = await accepted(store, 3);
    const odd = sampleIntent({ phase: "queued" });
    await applied(store, queueing(odd, { priority: "high", queuedAt: 77, order: ODD_TEXT }));
    if (!call || !ended || !later) return expect.unreachable();
    await applied(store, beginning(call));
    await applied(store, ending(ended));
    const instance = "claims";
    await store.instances.renew({ instance, ttlMs: Infinity });
    const places = [{ ...placeOf(odd), priority: "high", queuedAt: 77 }, placeOf(later)];
    expect(await store.work.claim({ kind: "queued", instance, limit: 9 })).toEqual(places);
    expect(await store.queue.order(odd.callId)).toBe(ODD_TEXT);
    expect(await store.queue.order(later.callId)).toBe(`order of ${later.callId}`);
    for (const gone of [call.callId, ended.callId, "nobody"]) {
      expect(await store.queue.order(gone)).toBeUndefined();
    }
  });

  it("takes it for a mistake unless one unit opens the call as queued and gives it its place", async ({
    store,
  }) => {
    const before = await contentsOf(store);
    const [call, other] = [sampleIntent({ phase: "queued" }), sampleIntent({ phase: "queued" })];
    const unit = queueing(call);
    const mistakes = [
      { ...unit, open: { ...call, phase: "waiting" as const } },
      { ...unit, open: other },
      unitOf({ ...(unit.enqueue && { enqueue: unit.enqueue }), audit: "{}" }),
      opening(call),
    ];
    for (const mistake of mistakes) await expect(store.commit(mistake)).rejects.toThrow(/queue/);
    expect(await contentsOf(store)).toEqual(before);
  });
}
