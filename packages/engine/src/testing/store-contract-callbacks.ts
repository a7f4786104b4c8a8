import { describe, expect } from "vitest";
import type { Callback, CallbackWrite } from "../ports/calls.ts";
import type { Store } from "../ports/store.ts";
import {
  applied,
  ODD_TEXT,
  opening,
  refusal,
  type StoreTest,
  sampleCallback,
  sampleClosing,
  sampleIntent,
  unitOf,
} from "./store-samples.ts";

const CROWD = 20;

/** Somebody is to be told how a call ended: each step of that is counted, and what is settled stays so. */
export function callbacksContract(it: StoreTest): void {
  describe("a callback", () => {
    keepTests(it);
    changeTests(it);
    mistakeTests(it);
    dueTests(it);
    raceTests(it);
  });
}

const writing = (...callbacks: CallbackWrite[]) => unitOf({ callbacks, events: ["{}"] });

/** The next delivery of it is under way. */
function tried(callback: Callback, fields: Partial<Callback> = {}): CallbackWrite {
  const { attempts } = callback;
  return { callback: { ...callback, attempts: attempts + 1, ...fields }, expect: attempts };
}

/** Whatever comes of a delivery is written on the attempt that made it. */
function settled(callback: Callback, fields: Partial<Callback>): CallbackWrite {
  return { callback: { ...callback, ...fields }, expect: callback.attempts };
}

const dueIds = async (store: Store, by: number, limit = 99) =>
  (await store.callbacks.due(by, limit)).map(({ callId }) => callId);

function keepTests(it: StoreTest): void {
  it("is written together with the end of its call", async ({ store }) => {
    const call = sampleIntent({ callbackUrl: "https://example.com/done" });
    await applied(store, opening(call));
    const callback = sampleCallback({ callId: call.callId });
    const close = { callId: call.callId, phase: "closed", closing: sampleClosing(call.callId) } as const;
    await applied(store, unitOf({ close, callbacks: [{ callback }] }));
    expect(await store.calls.get(call.callId)).toMatchObject({ phase: "closed", callbackUrl: callback.url });
    expect(await store.callbacks.ofCall(call.callId)).toEqual(callback);
    expect(await store.callbacks.ofCall("nobody")).toBeUndefined();
  });

  it("is kept with every field", async ({ store }) => {
    const callback = sampleCallback({ tenant: "other", problem: ODD_TEXT, attempts: 3 });
    await applied(store, writing({ callback }));
    expect(await store.callbacks.ofCall(callback.callId)).toEqual(callback);
    expect(await store.callbacks.due(callback.dueAt, 9)).toEqual([callback]);
  });
}

function changeTests(it: StoreTest): void {
  it("moves on from the attempts its writer knows", async ({ store }) => {
    const callback = sampleCallback();
    await applied(store, writing({ callback }));
    const first = tried(callback, { dueAt: callback.dueAt + 1 });
    await applied(store, writing(first));
    const failed = settled(first.callback, { problem: "no answer", dueAt: callback.dueAt + 2 });
    await applied(store, writing(failed));
    expect(await store.callbacks.ofCall(callback.callId)).toEqual(failed.callback);
    const second = tried(failed.callback);
    const done = { ...second.callback, state: "delivered" as const };
    delete done.problem;
    await applied(store, writing(second, { callback: done, expect: 2 }));
    expect(await store.callbacks.ofCall(callback.callId)).toEqual(done);
  });

  it("is refused when it is there already, is not there, or has moved on, with all of the unit", async ({
    store,
  }) => {
    const [callback, other] = [sampleCallback(), sampleCallback()];
    await applied(store, writing({ callback }));
    const first = tried(callback);
    await applied(store, writing(first));
    const conflict = { kind: "callback", callId: callback.callId };
    expect(await refusal(store, writing({ callback: other }, { callback }))).toEqual(conflict);
    expect(await refusal(store, writing({ callback: other }, tried(callback)))).toEqual(conflict);
    const early = tried({ ...callback, attempts: 2 });
    expect(await refusal(store, { ...opening(sampleIntent()), callbacks: [early] })).toEqual(conflict);
    const never = { kind: "callback", callId: other.callId };
    expect(await refusal(store, writing(tried(other)))).toEqual(never);
    expect(await refusal(store, writing({ callback: other }, { callback: other }))).toEqual(never);
    expect(await store.callbacks.ofCall(callback.callId)).toEqual(first.callback);
    expect(await store.callbacks.ofCall(other.callId)).toBeUndefined();
    expect(await store.calls.list({ limit: 9 })).toEqual([]);
    expect(await store.audit.head("acme")).toMatchObject({ sequence: 2 });
  });

  it.for(["delivered", "given_up"] as const)(
    "is not taken up again once it is %s",
    async (state, { store }) => {
      const callback = sampleCallback({ attempts: 1 });
      await applied(store, writing({ callback }));
      const over = settled(callback, { state });
      await applied(store, writing(over));
      const conflict = { kind: "callback", callId: callback.callId };
      expect(await refusal(store, writing(tried(callback)))).toEqual(conflict);
      expect(await refusal(store, writing(over))).toEqual(conflict);
      expect(await store.callbacks.ofCall(callback.callId)).toEqual(over.callback);
    },
  );

  it("conflicts after the call and before the state", async ({ store }) => {
    const call = sampleIntent();
    const callback = sampleCallback();
    const scope = { tenant: "acme", tool: "calc" };
    const state = { scope, callId: "c", snapshotVersion: 0, writes: [{ key: "n", value: 1 }] };
    await applied(store, { ...opening(call), callbacks: [{ callback }], state });
    const again = { ...opening(call), callbacks: [{ callback }] };
    expect((await refusal(store, again)).kind).toBe("duplicate_call");
    expect((await refusal(store, { ...again, state })).kind).toBe("duplicate_call");
    const { open: _, ...rest } = again;
    expect((await refusal(store, { ...rest, state })).kind).toBe("callback");
  });
}

function mistakeTests(it: StoreTest): void {
  it("is a mistake when it counts backwards, and nothing of the unit is kept", async ({ store }) => {
    const callback = sampleCallback({ attempts: 2 });
    await applied(store, writing({ callback }));
    const back = { callback: { ...callback, attempts: 1 }, expect: 2 };
    await expect(store.commit(writing(back))).rejects.toThrow(/attempts/);
    const below = { callback: sampleCallback({ attempts: -1 }) };
    await expect(store.commit(writing(below))).rejects.toThrow(/attempts/);
    expect(await store.callbacks.ofCall(callback.callId)).toEqual(callback);
    expect(await store.audit.head("acme")).toMatchObject({ sequence: 1 });
  });
}

function dueTests(it: StoreTest): void {
  it("is due from its time on, the longest overdue first, until it is settled", async ({ store }) => {
    const [late, early, twin, future, done] = [30, 10, 30, 50, 5].map((dueAt) => sampleCallback({ dueAt }));
    if (!late || !early || !twin || !future || !done) return expect.unreachable();
    for (const callback of [late, early, twin, future, done]) await applied(store, writing({ callback }));
    await applied(store, writing(settled(done, { state: "given_up" })));
    expect(await dueIds(store, 9)).toEqual([]);
    expect(await dueIds(store, 10)).toEqual([early.callId]);
    expect(await dueIds(store, 49)).toEqual([early.callId, late.callId, twin.callId]);
    expect(await dueIds(store, 99, 2)).toEqual([early.callId, late.callId]);
    expect([await dueIds(store, 99, 0), await dueIds(store, 99, -1)]).toEqual([[], []]);
    await applied(store, writing(tried(early, { dueAt: 60 })));
    await applied(store, writing(settled(late, { state: "delivered" })));
    expect(await dueIds(store, 99)).toEqual([twin.callId, future.callId, early.callId]);
  });
}

function raceTests(it: StoreTest): void {
  it("is taken for delivery by one of many at once", async ({ store }) => {
    const callback = sampleCallback();
    await applied(store, writing({ callback }));
    const times = Array.from({ length: CROWD }, (_, index) => callback.dueAt + index);
    const results = await Promise.all(
      times.map((dueAt) => store.commit(writing(tried(callback, { dueAt })))),
    );
    const winners = times.filter((_, index) => results[index]?.ok);
    expect(winners).toHaveLength(1);
    const shown = results.flatMap((result) => (result.ok ? [] : [result.conflict]));
    for (const conflict of shown) expect(conflict).toEqual({ kind: "callback", callId: callback.callId });
    const kept = await store.callbacks.ofCall(callback.callId);
    expect(kept).toEqual({ ...callback, attempts: 1, dueAt: winners[0] });
    expect(await store.audit.head("acme")).toMatchObject({ sequence: 2 });
  });

  it("is written new by one of many at once", async ({ store }) => {
    const urls = Array.from({ length: CROWD }, (_, index) => `https://example.com/${index}`);
    const results = await Promise.all(
      urls.map((url) => store.commit(writing({ callback: sampleCallback({ callId: "same", url }) }))),
    );
    const winners = urls.filter((_, index) => results[index]?.ok);
    expect(winners).toHaveLength(1);
    expect(await store.callbacks.ofCall("same")).toMatchObject({ url: winners[0] });
  });
}
