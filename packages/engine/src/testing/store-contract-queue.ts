import { describe, expect, it } from "vitest";
import type { CallRecord } from "../ports/calls.ts";
import type { Store } from "../ports/store.ts";
import type { OpenFixture } from "./store-contract.ts";
import {
  accepted,
  beginning,
  ending,
  placeOf,
  queueContents,
  queuedCall,
} from "./store-contract-queue-samples.ts";
import { applied, opening, queueing, refusal, sampleIntent, unitOf } from "./store-contract-samples.ts";

/** An accepted call is in the journal and in the queue, both or neither; the queue is read in order. */
export function queueContract(open: OpenFixture): void {
  describe("a call in the queue", () => {
    acceptTests(open);
    refusedTests(open);
    listTests(open);
  });
}

async function idsAfter(store: Store, after: string | undefined, limit = 99): Promise<string[]> {
  const page = await store.queue.list({ limit, ...(after !== undefined && { after }) });
  return page.map(({ callId }) => callId);
}

const idsOf = (calls: readonly CallRecord[]) => calls.map(({ callId }) => callId);

function acceptTests(open: OpenFixture): void {
  it("is in the journal and in the queue, with everything it takes to run it [L3-EXE-5]", async () => {
    const { store } = await open();
    const call = queuedCall({ idempotencyKey: "k", callbackUrl: "https://example.com/done" });
    const order = 'a\u0000b "\\ \uffff \u{1f600} \u2028';
    await applied(store, queueing(call, { priority: "high", queuedAt: 77, order }));
    expect(await store.calls.get(call.callId)).toEqual(call);
    expect(await store.calls.list({ phase: "queued", limit: 9 })).toEqual([call]);
    expect(await store.queue.list({ limit: 9 })).toEqual([
      { ...placeOf(call), priority: "high", queuedAt: 77 },
    ]);
    expect(await store.queue.order(call.callId)).toBe(order);
    expect(await store.queue.order("nobody")).toBeUndefined();
  });

  it("is listed in the journal among the others, newest first and page after page", async () => {
    const { store } = await open();
    const [first, second] = await accepted(store, 2);
    const other = sampleIntent();
    await applied(store, opening(other));
    const [last] = await accepted(store, 1);
    const list = async (before?: CallRecord) =>
      idsOf(await store.calls.list({ limit: 2, ...(before && { before: before.callId }) }));
    expect(await list()).toEqual([last?.callId, other.callId]);
    expect(await list(other)).toEqual([second?.callId, first?.callId]);
    const queued = await store.calls.list({ phase: "queued", before: last?.callId ?? "", limit: 9 });
    expect(queued).toEqual([second, first]);
  });
}

function refusedTests(open: OpenFixture): void {
  it("is refused whole when its id or its key is taken", async () => {
    const { store } = await open();
    const call = queuedCall({ idempotencyKey: "k" });
    await applied(store, queueing(call));
    const before = await queueContents(store);
    expect(await refusal(store, queueing(call, { order: "another" }))).toEqual({ kind: "duplicate_call" });
    const namesake = queueing(queuedCall({ idempotencyKey: "k" }));
    expect(await refusal(store, namesake)).toEqual({ kind: "idempotency", existing: call });
    expect(await refusal(store, opening(sampleIntent({ idempotencyKey: "k" })))).toMatchObject({
      kind: "idempotency",
    });
    expect(await queueContents(store)).toEqual(before);
    expect(await store.queue.order(call.callId)).toBe(`order of ${call.callId}`);
  });

  it("is refused whole when another part of its unit is", async () => {
    const { store } = await open();
    const call = queuedCall();
    const unit = { ...queueing(call), close: { callId: "nobody", phase: "unknown" as const } };
    expect(await refusal(store, unit)).toEqual({ kind: "not_open" });
    expect(await queueContents(store)).toEqual({ calls: [], queue: [], events: [] });
  });

  it("is a mistake unless the same unit opens it as queued and gives it its place", async () => {
    const { store } = await open();
    const [call, other] = [queuedCall(), queuedCall()];
    const unit = queueing(call);
    const mistakes = [
      { ...unit, open: { ...call, phase: "waiting" as const } },
      { ...unit, open: other },
      unitOf({ ...(unit.enqueue && { enqueue: unit.enqueue }), events: ["{}"] }),
      opening(call),
    ];
    for (const mistake of mistakes) await expect(store.commit(mistake)).rejects.toThrow(/queue/);
    expect(await queueContents(store)).toEqual({ calls: [], queue: [], events: [] });
  });
}

function listTests(open: OpenFixture): void {
  it("comes in the order of acceptance, whatever its priority and its time", async () => {
    const { store } = await open();
    const calls = [queuedCall({ startedAt: 3 }), queuedCall({ startedAt: 1 }), queuedCall({ startedAt: 2 })];
    const priorities = ["low", "high", "normal"] as const;
    for (const [index, call] of calls.entries()) {
      await applied(store, queueing(call, { priority: priorities[index] ?? "normal" }));
    }
    expect(await idsAfter(store, undefined)).toEqual(idsOf(calls));
    expect((await store.queue.list({ limit: 9 })).map(({ priority }) => priority)).toEqual(priorities);
  });

  it("is listed page after page, also behind a call that has left meanwhile", async () => {
    const { store } = await open();
    const calls = await accepted(store, 7);
    const ids = idsOf(calls);
    expect(await idsAfter(store, undefined, 3)).toEqual(ids.slice(0, 3));
    for (const index of [2, 4]) {
      const gone = calls[index];
      if (gone) await applied(store, index === 2 ? beginning(gone) : ending(gone));
    }
    expect(await idsAfter(store, ids[2], 2)).toEqual([ids[3], ids[5]]);
    expect(await idsAfter(store, ids[5], 2)).toEqual([ids[6]]);
    expect(await idsAfter(store, ids[6])).toEqual([]);
    expect(await idsAfter(store, ids[4])).toEqual([ids[5], ids[6]]);
  });

  it("is not listed beyond the limit, nor behind a call nobody knows", async () => {
    const { store } = await open();
    await accepted(store, 2);
    expect(await store.queue.list({ limit: 0 })).toEqual([]);
    expect(await store.queue.list({ limit: -1 })).toEqual([]);
    expect(await store.queue.list({ after: "nobody", limit: 9 })).toEqual([]);
  });
}
