import { describe, expect, it } from "vitest";
import type { Store } from "../ports/store.ts";
import type { OpenFixture } from "./store-contract.ts";
import {
  applied,
  failedClosing,
  opening,
  refusal,
  sampleCall,
  sampleClosing,
  sampleIntent,
  unitOf,
} from "./store-contract-samples.ts";

/** A unit is applied whole or not at all, and a call moves only along its phases. */
export function commitContract(open: OpenFixture): void {
  describe("a unit of work", () => {
    guardTests(open);
    phaseTests(open);
    receiptTests(open);
    contentTests(open);
    answerTests(open);
  });
}

function guardTests(open: OpenFixture): void {
  it("is refused when its call id is known, and nothing of it is kept", async () => {
    const { store } = await open();
    const call = sampleCall();
    await applied(store, opening(call));
    const again = { ...opening(call), outbox: [{ callId: call.callId, type: "tool.invoked" as const }] };
    expect(await refusal(store, again)).toEqual({ kind: "duplicate_call" });
    expect(await counts(store)).toEqual({ calls: 1, events: 1, messages: 0 });
  });

  it("is refused with the existing record when the idempotency key is taken", async () => {
    const { store } = await open();
    const first = sampleCall({ idempotencyKey: "k\u0000ey" });
    await applied(store, opening(first));
    const conflict = await refusal(store, opening(sampleCall({ idempotencyKey: "k\u0000ey" })));
    expect(conflict).toEqual({ kind: "idempotency", existing: await store.calls.get(first.callId) });
    expect(await counts(store)).toEqual({ calls: 1, events: 1, messages: 0 });
  });

  it("may use another tenant's or another agent's idempotency key", async () => {
    const { store } = await open();
    await applied(store, opening(sampleCall({ idempotencyKey: "k" })));
    await applied(store, opening(sampleCall({ idempotencyKey: "k", tenant: "other" })));
    const last = sampleCall({ idempotencyKey: "k", agent: "agent-2" });
    await applied(store, opening(last));
    const found = await store.calls.byIdempotencyKey({ tenant: "acme", agent: "agent-2", key: "k" });
    expect(found?.callId).toBe(last.callId);
    expect(
      await store.calls.byIdempotencyKey({ tenant: "acme", agent: "agent-2", key: "j" }),
    ).toBeUndefined();
  });

  it("reports the call's conflict before the state's, and leaves the state alone [R1-4.3]", async () => {
    const { store } = await open();
    const scope = { tenant: "acme", tool: "calc" };
    const write = (value: number) => ({
      scope,
      callId: "c",
      snapshotVersion: 0,
      writes: [{ key: "n", value }],
    });
    const call = sampleIntent();
    await applied(store, { ...opening(call), state: write(1) });
    expect(await refusal(store, { ...opening(call), state: write(2) })).toEqual({ kind: "duplicate_call" });
    const fresh = opening(sampleIntent());
    expect(await refusal(store, { ...fresh, state: write(3) })).toEqual({ kind: "state", keys: ["n"] });
    expect(await counts(store)).toEqual({ calls: 1, events: 1, messages: 0 });
  });
}

function phaseTests(open: OpenFixture): void {
  it("closes a call that is executing, and only once", async () => {
    const { store } = await open();
    const call = sampleIntent();
    const closing = sampleClosing(call.callId);
    await applied(store, opening(call));
    expect(await store.calls.get(call.callId)).toEqual(call);
    await applied(store, unitOf({ close: { callId: call.callId, phase: "closed", closing } }));
    const closed = await store.calls.get(call.callId);
    expect(closed).toMatchObject({ phase: "closed", closing: { status: "success" } });
    const again = unitOf({ close: { callId: call.callId, phase: "unknown" }, events: ["{}"] });
    expect(await refusal(store, again)).toEqual({ kind: "not_open" });
    expect(await store.calls.get(call.callId)).toEqual(closed);
  });

  it("takes a call from executing to unknown, and from there only to closed", async () => {
    const { store } = await open();
    const call = sampleIntent();
    await applied(store, opening(call));
    const unknown = unitOf({ close: { callId: call.callId, phase: "unknown" }, events: ["{}"] });
    await applied(store, unknown);
    expect(await store.calls.get(call.callId)).toEqual({ ...call, phase: "unknown" });
    expect(await refusal(store, unknown)).toEqual({ kind: "not_open" });
    const closing = sampleClosing(call.callId);
    await applied(store, unitOf({ close: { callId: call.callId, phase: "closed", closing } }));
    expect((await store.calls.get(call.callId))?.phase).toBe("closed");
  });

  it("cannot close a call that is not in the journal", async () => {
    const { store } = await open();
    const close = { callId: "nobody", phase: "closed", closing: sampleClosing("nobody") } as const;
    expect(await refusal(store, unitOf({ close }))).toEqual({ kind: "not_open" });
  });
}

function receiptTests(open: OpenFixture): void {
  it("makes its last event the receipt of the call it opens or closes [R1-8.1]", async () => {
    const { store } = await open();
    const call = sampleCall();
    const { links } = await applied(store, unitOf({ open: call, events: ["{}", '{"last":true}'] }));
    const receipt = { tenant: "acme", ...links[1], inputHash: call.inputHash, outputHash: "o".repeat(64) };
    expect((await store.calls.get(call.callId))?.closing?.answer.receipt).toEqual(receipt);
  });

  it("gives a call closed later the receipt of its closing, not of its intent", async () => {
    const { store } = await open();
    const { callId, ...intent } = sampleIntent();
    await applied(store, opening({ callId, ...intent }));
    const { outputHash: _, ...closing } = sampleClosing(callId);
    const close = { callId, phase: "closed", closing } as const;
    const { links } = await applied(store, unitOf({ close, events: ['{"closed":true}'] }));
    const receipt = { tenant: "acme", ...links[0], inputHash: intent.inputHash };
    expect((await store.calls.get(callId))?.closing?.answer.receipt).toEqual(receipt);
  });
}

function contentTests(open: OpenFixture): void {
  it.each([
    ["text with NUL and every kind of plane", "a\u0000b \uffff \u{1f600} \u2028"],
    ["large and small numbers", [1e308, 5e-324, 2 ** 60, -1.5]],
    ["nothing at all", null],
    ["deep structure", { a: [{ b: { "": [] } }], __proto_: {} }],
  ])("keeps %s exactly", async (_, result) => {
    const { store } = await open();
    const text = "odd \u0000 text";
    const call = sampleCall({ input: JSON.stringify(result), user: text, session: text, agent: text });
    await applied(store, opening({ ...call, closing: sampleClosing(call.callId, result) }));
    const kept = await store.calls.get(call.callId);
    expect(kept).toMatchObject({ input: JSON.stringify(result), user: text, session: text, agent: text });
    expect(kept?.closing?.answer).toMatchObject({ result });
  });
}

function answerTests(open: OpenFixture): void {
  it("keeps every part of an answer", async () => {
    const { store } = await open();
    const call = sampleIntent();
    const parts = {
      executionId: call.callId,
      attempts: 3,
      lifecycle: [{ state: "DECLARED" as const, at: 7 }],
      usage: { durationMs: 1, cpuMs: 2, memoryPeakBytes: 3, networkBytesSent: 4, networkBytesReceived: 5 },
      isolation: { level: "LEVEL_1" as const, runner: "thread" },
      rollback: { verified: true, snapshotHash: "h", discardedMutations: 2 },
      approval: { approvalId: "a", by: ["ada"], editedInput: { b: null } },
      warnings: [{ code: "W", message: "odd \u0000" }],
    };
    const { answer, ...rest } = failedClosing(call.callId, "error");
    const closing = { ...rest, answer: { ...answer, ...parts } };
    await applied(store, opening({ ...call, phase: "closed", closing }));
    expect((await store.calls.get(call.callId))?.closing?.answer).toMatchObject(parts);
    expect(await store.calls.get(call.callId)).toMatchObject({ closing: { status: "error" } });
  });
}

async function counts(store: Store) {
  return {
    calls: (await store.calls.list({ limit: 100 })).length,
    events: (await store.audit.read("acme", { after: 0, limit: 100 })).length,
    messages: (await store.outbox.pending(100)).length,
  };
}
