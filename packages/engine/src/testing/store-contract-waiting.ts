import { describe, expect, it } from "vitest";
import type { CallRecord } from "../ports/calls.ts";
import type { Store } from "../ports/store.ts";
import type { OpenFixture } from "./store-contract.ts";
import {
  applied,
  failedClosing,
  opening,
  refusal,
  sampleClosing,
  sampleIntent,
  unitOf,
} from "./store-contract-samples.ts";

/** A call may wait in the journal before it runs; it runs once, or is closed without having run. */
export function waitingContract(open: OpenFixture): void {
  describe("a call that waits for approval", () => {
    waitTests(open);
    beginTests(open);
    keyTests(open);
    refusalTests(open);
    closeTests(open);
  });
}

const waitingCall = (fields: Partial<CallRecord> = {}) => sampleIntent({ phase: "waiting", ...fields });

/** The intent with which a waiting call begins, all of it changed that may change. */
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
    startedAt: 1_767_225_700_000,
  });
  return { ...intent, ...fields };
}

const beginning = (intent: CallRecord) => unitOf({ tenant: intent.tenant, begin: intent, events: ["{}"] });

function waitTests(open: OpenFixture): void {
  it("is in the journal with everything it was asked with [FR-APR-03]", async () => {
    const { store } = await open();
    const call = waitingCall({ user: "ada", session: "s", idempotencyKey: "k" });
    await applied(store, opening(call));
    expect(await store.calls.get(call.callId)).toEqual(call);
    await applied(store, opening(sampleIntent()));
    expect(await store.calls.list({ phase: "waiting", limit: 9 })).toEqual([call]);
    expect(await store.calls.list({ phase: "waiting", tenant: "other", limit: 9 })).toEqual([]);
  });

  it("binds its idempotency key like any other", async () => {
    const { store } = await open();
    const call = waitingCall({ idempotencyKey: "k" });
    await applied(store, opening(call));
    const again = await refusal(store, opening(sampleIntent({ idempotencyKey: "k" })));
    expect(again).toEqual({ kind: "idempotency", existing: call });
  });
}

function beginTests(open: OpenFixture): void {
  it("becomes the intent to run as it is known now, and keeps its place, key and digest", async () => {
    const { store } = await open();
    const call = waitingCall({ idempotencyKey: "k", user: "ada", session: "s" });
    const later = sampleIntent();
    await applied(store, opening(call));
    await applied(store, opening(later));
    const intent = intentOf(call);
    await applied(store, beginning(intent));
    const begun = { ...intent, idempotencyKey: "k", requestDigest: "r".repeat(64) };
    expect(await store.calls.list({ limit: 9 })).toEqual([later, begun]);
    expect(await store.calls.byIdempotencyKey({ tenant: "acme", agent: "agent-1", key: "k" })).toEqual(begun);
    expect(await store.calls.list({ phase: "waiting", limit: 9 })).toEqual([]);
    expect(await store.calls.list({ phase: "executing", limit: 9 })).toEqual([later, begun]);
  });

  it("takes every odd text of its intent exactly", async () => {
    const { store } = await open();
    const odd = 'a\u0000b "\\ \uffff \u{1f600} \u2028';
    const call = waitingCall({ requestDigest: odd });
    await applied(store, opening(call));
    const intent = intentOf(call, { user: odd, session: odd, input: JSON.stringify([odd]), operation: odd });
    await applied(store, beginning(intent));
    expect(await store.calls.get(call.callId)).toEqual({ ...intent, requestDigest: odd });
  });

  it("has no answer any more, whatever it was opened with", async () => {
    const { store } = await open();
    const call = waitingCall();
    await applied(store, opening({ ...call, closing: failedClosing(call.callId, "error") }));
    const intent = intentOf(call, { closing: sampleClosing(call.callId) });
    await applied(store, beginning(intent));
    const { closing: _, ...expected } = intent;
    expect(await store.calls.get(call.callId)).toEqual({ ...expected, requestDigest: call.requestDigest });
  });

  it("has the receipt of its last event: of its opening, its beginning, its end [R1-8.1]", async () => {
    const { store } = await open();
    const receiptOf = async (call: CallRecord) => {
      const close = { callId: call.callId, phase: "closed", closing: sampleClosing(call.callId) } as const;
      await applied(store, unitOf({ close }));
      return (await store.calls.get(call.callId))?.closing?.answer.receipt;
    };
    const [silent, loud] = [waitingCall(), waitingCall()];
    const first = await applied(store, opening(silent));
    await applied(store, opening(loud));
    await applied(store, unitOf({ begin: intentOf(silent) }));
    const begun = await applied(store, beginning(intentOf(loud)));
    expect(await receiptOf(silent)).toMatchObject({ ...first.links[0], inputHash: "j".repeat(64) });
    expect(await receiptOf(loud)).toMatchObject({ ...begun.links[0], inputHash: "j".repeat(64) });
  });
}

function keyTests(open: OpenFixture): void {
  const held = (store: Store, key: string, agent = "agent-1") =>
    store.calls.byIdempotencyKey({ tenant: "acme", agent, key });

  it("takes a key and digest the intent brings, and lets go of the old key", async () => {
    const { store } = await open();
    const call = waitingCall({ idempotencyKey: "old" });
    await applied(store, opening(call));
    const intent = intentOf(call, { idempotencyKey: "new", requestDigest: "q".repeat(64) });
    await applied(store, beginning(intent));
    expect(await held(store, "new")).toEqual(intent);
    expect(await held(store, "old")).toBeUndefined();
    await applied(store, opening(sampleIntent({ idempotencyKey: "old" })));
  });

  it("is refused a key that another call holds, and goes on waiting", async () => {
    const { store } = await open();
    const call = waitingCall({ idempotencyKey: "mine" });
    const other = sampleIntent({ idempotencyKey: "theirs" });
    const namesake = sampleIntent({ idempotencyKey: "mine", agent: "agent-2" });
    for (const one of [call, other, namesake]) await applied(store, opening(one));
    const taken = beginning(intentOf(call, { idempotencyKey: "theirs" }));
    expect(await refusal(store, taken)).toEqual({ kind: "idempotency", existing: other });
    const moved = beginning(intentOf(call, { agent: "agent-2" }));
    expect(await refusal(store, moved)).toEqual({ kind: "idempotency", existing: namesake });
    expect(await store.calls.get(call.callId)).toEqual(call);
    expect(await held(store, "mine")).toEqual(call);
    await applied(store, beginning(intentOf(call, { idempotencyKey: "mine" })));
  });
}

function refusalTests(open: OpenFixture): void {
  it("begins once", async () => {
    const { store } = await open();
    const call = waitingCall();
    await applied(store, opening(call));
    await applied(store, beginning(intentOf(call)));
    const begun = await store.calls.get(call.callId);
    const again = beginning(intentOf(call, { owner: "run-3" }));
    expect(await refusal(store, again)).toEqual({ kind: "not_waiting" });
    expect(await store.calls.get(call.callId)).toEqual(begun);
    expect(await store.audit.head("acme")).toMatchObject({ sequence: 2 });
  });

  it.each(["executing", "unknown", "closed"] as const)("does not begin when it is %s", async (phase) => {
    const { store } = await open();
    const call = sampleIntent();
    await applied(store, opening(call));
    const closing = sampleClosing(call.callId);
    const close = { callId: call.callId, phase: "closed", closing } as const;
    if (phase === "unknown") await applied(store, unitOf({ close: { callId: call.callId, phase } }));
    if (phase === "closed") await applied(store, unitOf({ close }));
    const before = await store.calls.get(call.callId);
    expect(await refusal(store, beginning(intentOf(call)))).toEqual({ kind: "not_waiting" });
    expect(await store.calls.get(call.callId)).toEqual(before);
    expect(await store.audit.head("acme")).toMatchObject({ sequence: 1 });
  });

  it("does not begin for another tenant, nor when nobody opened it", async () => {
    const { store } = await open();
    const call = waitingCall();
    await applied(store, opening(call));
    const theirs = beginning({ ...intentOf(call), tenant: "other" });
    expect(await refusal(store, theirs)).toEqual({ kind: "not_waiting" });
    expect(await refusal(store, beginning(intentOf(sampleIntent())))).toEqual({ kind: "not_waiting" });
    expect(await store.calls.list({ limit: 9 })).toEqual([call]);
    expect(await store.audit.tenants()).toEqual(["acme"]);
  });
}

function closeTests(open: OpenFixture): void {
  it("may be closed without having run, and then does not begin", async () => {
    const { store } = await open();
    const call = waitingCall({ idempotencyKey: "k" });
    await applied(store, opening(call));
    const { answer, ...closing } = failedClosing(call.callId, "error");
    const late = { ...answer, version: "2.0.0", operation: "other", startedAt: 77, completedAt: 88 };
    const close = { callId: call.callId, phase: "closed", closing: { ...closing, answer: late } } as const;
    const { links } = await applied(store, unitOf({ close, events: ["{}"] }));
    const receipt = { tenant: "acme", ...links[0], inputHash: call.inputHash };
    const expected = { ...closing, answer: { ...late, receipt } };
    expect(await store.calls.get(call.callId)).toEqual({ ...call, phase: "closed", closing: expected });
    expect(await refusal(store, beginning(intentOf(call)))).toEqual({ kind: "not_waiting" });
    expect((await refusal(store, opening(sampleIntent({ idempotencyKey: "k" })))).kind).toBe("idempotency");
  });

  it("has no unknown outcome, because nothing has run", async () => {
    const { store } = await open();
    const call = waitingCall();
    await applied(store, opening(call));
    const lost = unitOf({ close: { callId: call.callId, phase: "unknown" }, events: ["{}"] });
    expect(await refusal(store, lost)).toEqual({ kind: "not_open" });
    expect(await store.calls.get(call.callId)).toEqual(call);
    expect(await store.audit.head("acme")).toMatchObject({ sequence: 1 });
  });
}
