import { describe, expect, it } from "vitest";
import type { CallPhase, CallRecord } from "../ports/calls.ts";
import type { UnitOfWork } from "../ports/store.ts";
import type { OpenFixture } from "./store-contract.ts";
import {
  accepted,
  beginning,
  ending,
  placeOf,
  queueContents,
  queuedCall,
} from "./store-contract-queue-samples.ts";
import {
  applied,
  failedClosing,
  opening,
  queueing,
  refusal,
  sampleClosing,
  sampleIntent,
  unitOf,
} from "./store-contract-samples.ts";

const CROWD = 20;

/** A queued call begins or ends, once, and leaves the queue with it. */
export function queueExitContract(open: OpenFixture): void {
  describe("a call that leaves the queue", () => {
    beginTests(open);
    closeTests(open);
    raceTests(open);
  });
}

/** As `ending`, only while the call is in the phase. */
function endingFrom(from: CallPhase, call: CallRecord): UnitOfWork {
  const { close, ...rest } = ending(call);
  return { ...rest, ...(close && { close: { ...close, from } }) };
}

function beginTests(open: OpenFixture): void {
  it("leaves the queue when it begins, its order too, and keeps its place, key, digest and callback", async () => {
    const { store } = await open();
    const call = queuedCall({ idempotencyKey: "k", callbackUrl: "https://example.com/done" });
    const later = queuedCall();
    for (const one of [call, later]) await applied(store, queueing(one));
    const { requestDigest: _, callbackUrl: __, idempotencyKey: ___, ...intent } = call;
    await applied(store, beginning({ ...intent, owner: "run-2", attempt: 2 }));
    const begun = { ...call, phase: "executing", owner: "run-2", attempt: 2 };
    expect(await store.calls.list({ limit: 9 })).toEqual([later, begun]);
    expect(await store.queue.list({ limit: 9 })).toEqual([placeOf(later)]);
    expect(await store.queue.order(call.callId)).toBeUndefined();
    expect(await store.queue.order(later.callId)).toBe(`order of ${later.callId}`);
    expect((await refusal(store, opening(sampleIntent({ idempotencyKey: "k" })))).kind).toBe("idempotency");
  });

  it("takes the callback the intent brings", async () => {
    const { store } = await open();
    const call = queuedCall({ callbackUrl: "https://example.com/old" });
    await applied(store, queueing(call));
    const intent = { ...call, callbackUrl: "https://example.com/new" };
    await applied(store, beginning(intent));
    expect(await store.calls.get(call.callId)).toEqual({ ...intent, phase: "executing" });
  });

  it("does not begin for another tenant, nor when the unit is refused, and stays queued", async () => {
    const { store } = await open();
    const [call] = await accepted(store, 1);
    if (!call) return expect.unreachable();
    const before = await queueContents(store);
    const theirs = { ...beginning(call), begin: { ...call, tenant: "other" } };
    expect(await refusal(store, theirs)).toEqual({ kind: "not_waiting" });
    const close = { callId: "nobody", phase: "unknown" as const };
    expect(await refusal(store, { ...beginning(call), close })).toEqual({ kind: "not_open" });
    expect(await queueContents(store)).toEqual(before);
    expect(await store.queue.order(call.callId)).toBe(`order of ${call.callId}`);
  });

  it("begins once, and ends like any other call", async () => {
    const { store } = await open();
    const [call] = await accepted(store, 1);
    if (!call) return expect.unreachable();
    await applied(store, beginning(call));
    expect(await refusal(store, beginning(call))).toEqual({ kind: "not_waiting" });
    const close = { callId: call.callId, phase: "closed", closing: sampleClosing(call.callId) } as const;
    await applied(store, unitOf({ close }));
    expect(await store.calls.get(call.callId)).toMatchObject({ phase: "closed", startedAt: call.startedAt });
  });
}

function closeTests(open: OpenFixture): void {
  it("may be closed without having run: it leaves the queue and does not begin any more", async () => {
    const { store } = await open();
    const [call, later] = await accepted(store, 2);
    if (!call || !later) return expect.unreachable();
    const { answer, ...closing } = failedClosing(call.callId, "error");
    const late = { ...answer, version: "2.0.0", operation: "other", startedAt: 77, completedAt: 88 };
    const close = { callId: call.callId, phase: "closed", closing: { ...closing, answer: late } } as const;
    const { links } = await applied(store, unitOf({ close, events: ["{}"] }));
    const receipt = { tenant: "acme", ...links[0], inputHash: call.inputHash };
    const kept = { ...call, phase: "closed", closing: { ...closing, answer: { ...late, receipt } } };
    expect(await store.calls.get(call.callId)).toEqual(kept);
    expect(await store.queue.list({ limit: 9 })).toEqual([placeOf(later)]);
    expect(await store.queue.order(call.callId)).toBeUndefined();
    expect(await refusal(store, beginning(call))).toEqual({ kind: "not_waiting" });
    expect(await refusal(store, ending(call))).toEqual({ kind: "not_open" });
  });

  it("is closed only in the phase it is expected in, and stays as it is in any other", async () => {
    const { store } = await open();
    const [call] = await accepted(store, 1);
    if (!call) return expect.unreachable();
    const before = await queueContents(store);
    for (const from of ["waiting", "executing", "unknown", "closed"] as const) {
      expect(await refusal(store, endingFrom(from, call))).toEqual({ kind: "not_open" });
    }
    expect(await queueContents(store)).toEqual(before);
    await applied(store, beginning(call));
    expect(await refusal(store, endingFrom("queued", call))).toEqual({ kind: "not_open" });
    const lost = unitOf({ close: { callId: call.callId, phase: "unknown", from: "executing" } });
    await applied(store, lost);
    expect(await refusal(store, endingFrom("executing", call))).toEqual({ kind: "not_open" });
    await applied(store, endingFrom("unknown", call));
    expect(await refusal(store, endingFrom("closed", call))).toEqual({ kind: "not_open" });
  });

  it("has no unknown outcome, because nothing has run", async () => {
    const { store } = await open();
    const [call] = await accepted(store, 1);
    const before = await queueContents(store);
    const lost = unitOf({ close: { callId: call?.callId ?? "", phase: "unknown" }, events: ["{}"] });
    expect(await refusal(store, lost)).toEqual({ kind: "not_open" });
    expect(await queueContents(store)).toEqual(before);
  });
}

function raceTests(open: OpenFixture): void {
  it("begins once however many try at once", async () => {
    const { store } = await open();
    const [call] = await accepted(store, 1);
    if (!call) return expect.unreachable();
    const owners = Array.from({ length: CROWD }, (_, index) => `racer-${index}`);
    const results = await Promise.all(owners.map((owner) => store.commit(beginning({ ...call, owner }))));
    const winners = owners.filter((_, index) => results[index]?.ok);
    expect(winners).toHaveLength(1);
    for (const result of results) if (!result.ok) expect(result.conflict).toEqual({ kind: "not_waiting" });
    expect(await store.calls.get(call.callId)).toMatchObject({ phase: "executing", owner: winners[0] });
    expect(await store.queue.list({ limit: 9 })).toEqual([]);
    expect(await store.audit.head("acme")).toMatchObject({ sequence: 2 });
  });

  it("ends once and leaves the queue when beginning and cancelling race", async () => {
    const { store } = await open();
    const calls = await accepted(store, CROWD);
    const races = calls.map(async (call, index) => {
      const begin = () => store.commit(beginning({ ...call, owner: "racer" }));
      const end = () => store.commit(ending(call));
      if (index % 2 === 0) return { call, results: await Promise.all([begin(), end()]) };
      const [ended, begun] = await Promise.all([end(), begin()]);
      return { call, results: [begun, ended] };
    });
    for (const { call, results } of await Promise.all(races)) {
      const [begun, ended] = results;
      expect(ended?.ok).toBe(true);
      if (!begun?.ok) expect(begun?.conflict).toEqual({ kind: "not_waiting" });
      const owner = begun?.ok ? "racer" : call.owner;
      expect(await store.calls.get(call.callId)).toMatchObject({ phase: "closed", owner });
    }
    expect(await store.queue.list({ limit: 99 })).toEqual([]);
  });

  it("begins or is cancelled, never both, when it may be cancelled only while it is queued", async () => {
    const { store } = await open();
    const calls = await accepted(store, CROWD);
    const races = calls.map(async (call, index) => {
      const begin = () => store.commit(beginning(call));
      const end = () => store.commit(endingFrom("queued", call));
      const results = await Promise.all(index % 2 === 0 ? [begin(), end()] : [end(), begin()]);
      return { call, begun: results[index % 2], ended: results[1 - (index % 2)] };
    });
    for (const { call, begun, ended } of await Promise.all(races)) {
      expect(begun?.ok).toBe(!ended?.ok);
      const conflict = begun?.ok ? { kind: "not_open" } : { kind: "not_waiting" };
      expect(begun?.ok ? ended : begun).toEqual({ ok: false, conflict });
      const phase = begun?.ok ? "executing" : "closed";
      expect(await store.calls.get(call.callId)).toMatchObject({ phase });
    }
    expect(await store.queue.list({ limit: 99 })).toEqual([]);
    expect(await store.audit.head("acme")).toMatchObject({ sequence: 2 * CROWD });
  });

  it("is accepted once however many bring the same key at once", async () => {
    const { store } = await open();
    const calls = Array.from({ length: CROWD }, () => queuedCall({ idempotencyKey: "once" }));
    const results = await Promise.all(calls.map((call) => store.commit(queueing(call))));
    const winners = calls.filter((_, index) => results[index]?.ok);
    expect(winners).toHaveLength(1);
    expect(await store.queue.list({ limit: 99 })).toEqual(winners.map(placeOf));
    const shown = results.flatMap((result) => (result.ok ? [] : [result.conflict]));
    for (const conflict of shown) expect(conflict).toEqual({ kind: "idempotency", existing: winners[0] });
  });
}
