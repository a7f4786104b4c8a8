import { expect } from "vitest";
import type { StateScope, StateSnapshot } from "../ports/state.ts";
import type { Store } from "../ports/store.ts";
import { applied, newCallId, put, refusal, type StoreTest, type Writes, writing } from "./store-samples.ts";

const SCOPE: StateScope = { tenant: "acme", tool: "calc" };

/** State is multi-version: a snapshot never changes, and writing over somebody else's change is a conflict. */
export function stateContract(it: StoreTest): void {
  it("is empty, at version 0, where nobody has written", async ({ store }) => {
    const snapshot = await store.state.open(SCOPE);
    expect(snapshot.version).toBe(0);
    expect(await store.state.get(snapshot, "a")).toBeUndefined();
    expect(await store.state.keys(snapshot, { prefix: "", limit: 10 })).toEqual([]);
    expect(await store.state.writtenBy(SCOPE, "nobody")).toBe(0);
  });

  it("shows a snapshot what was there when it was opened, whatever happens later [R1-4.3]", async ({
    store,
  }) => {
    await put(store, SCOPE, { a: 1, b: 1 });
    const before = await store.state.open(SCOPE);
    for (const a of [2, 3, 4]) await put(store, SCOPE, { a, b: undefined, c: a });
    expect(await contents(store, before)).toEqual({ a: 1, b: 1 });
    expect(await contents(store, await store.state.open(SCOPE))).toEqual({ a: 4, c: 4 });
  });

  it("raises the version once for each unit that writes, and dates each entry with it", async ({ store }) => {
    await put(store, SCOPE, { a: 1, b: 1, c: 1 });
    await put(store, SCOPE, { b: 2 });
    await put(store, SCOPE, {});
    const snapshot = await store.state.open(SCOPE);
    expect(snapshot.version).toBe(2);
    expect(await store.state.get(snapshot, "a")).toEqual({ value: 1, version: 1 });
    expect(await store.state.get(snapshot, "b")).toEqual({ value: 2, version: 2 });
  });

  it("keeps scopes apart, also those whose names run together", async ({ store }) => {
    const others = [
      { tenant: "acme", tool: "calc2" },
      { tenant: "ac", tool: "mecalc" },
      { tenant: "acme\u0000", tool: "calc" },
    ];
    await put(store, SCOPE, { a: "mine" });
    for (const scope of others) expect((await store.state.open(scope)).version).toBe(0);
  });

  it("refuses a unit that writes keys changed since its snapshot, naming all of them [R1-4.3]", async ({
    store,
  }) => {
    await put(store, SCOPE, { a: 1, b: 1, c: 1 });
    const snapshot = await store.state.open(SCOPE);
    await put(store, SCOPE, { a: 2, b: undefined });
    const conflict = await refusal(store, writing(SCOPE, snapshot, { a: 9, c: 9, b: 9 }));
    expect(conflict.kind === "state" && conflict.keys.toSorted()).toEqual(["a", "b"]);
    expect(await contents(store, await store.state.open(SCOPE))).toEqual({ a: 2, c: 1 });
  });

  it("lets units with different keys through from the same snapshot", async ({ store }) => {
    const snapshot = await store.state.open(SCOPE);
    await applied(store, writing(SCOPE, snapshot, { a: 1 }));
    await applied(store, writing(SCOPE, snapshot, { b: 2 }));
    expect(await contents(store, await store.state.open(SCOPE))).toEqual({ a: 1, b: 2 });
  });

  it("still sees a conflict with a key that was created and deleted meanwhile", async ({ store }) => {
    const snapshot = await store.state.open(SCOPE);
    await put(store, SCOPE, { gone: 1 });
    await put(store, SCOPE, { gone: undefined });
    await put(store, SCOPE, { other: 1 });
    expect(await refusal(store, writing(SCOPE, snapshot, { gone: 9 }))).toEqual({
      kind: "state",
      keys: ["gone"],
    });
  });

  it("still sees that a key was deleted when its snapshot was released and the deletion forgotten", async ({
    store,
  }) => {
    await put(store, SCOPE, { held: 1, never: undefined });
    const snapshot = await store.state.open(SCOPE);
    store.state.release(snapshot);
    await put(store, SCOPE, { held: undefined });
    for (const other of [1, 2]) await put(store, SCOPE, { other });
    const { state, ...unit } = writing(SCOPE, snapshot, { held: 9, fresh: 9 });
    const writes = state?.writes.map((write) => ({ ...write, existed: write.key === "held" })) ?? [];
    const late = { ...unit, ...(state && { state: { ...state, writes } }) };
    expect(await refusal(store, late)).toEqual({ kind: "state", keys: ["held"] });
    expect(await contents(store, await store.state.open(SCOPE))).toEqual({ other: 2 });
  });

  it("counts what a call has written, and nothing for one that was refused", async ({ store }) => {
    const callId = await put(store, SCOPE, { a: 1, b: undefined, c: 1 });
    const refused = newCallId();
    await refusal(store, writing(SCOPE, { version: 0, callId: refused }, { a: 2, z: 2 }));
    expect(await store.state.writtenBy(SCOPE, callId)).toBe(3);
    expect(await store.state.writtenBy(SCOPE, refused)).toBe(0);
    expect(await store.state.writtenBy({ tenant: "acme", tool: "other" }, callId)).toBe(0);
  });

  it("lists keys by prefix, in code point order, within the limit, without the deleted", async ({
    store,
  }) => {
    const names = [
      "a",
      "a/1",
      "a/2",
      "a/\u{10ffff}",
      "a/\u{10ffff}x",
      "a/\uffff",
      "b",
      "\ud7ff",
      "\ud7ffx",
      "\ue000",
    ];
    await put(store, SCOPE, Object.fromEntries(names.map((name) => [name, 1])));
    await put(store, SCOPE, { "a/1": undefined });
    const snapshot = await store.state.open(SCOPE);
    const keys = (prefix: string, limit = 100) => store.state.keys(snapshot, { prefix, limit });
    expect(await keys("a/")).toEqual(["a/2", "a/\uffff", "a/\u{10ffff}", "a/\u{10ffff}x"]);
    expect(await keys("a/\u{10ffff}")).toEqual(["a/\u{10ffff}", "a/\u{10ffff}x"]);
    expect(await keys("\ud7ff")).toEqual(["\ud7ff", "\ud7ffx"]);
    expect(await keys("", 2)).toEqual(["a", "a/2"]);
    expect(await keys("", 0)).toEqual([]);
    expect(await keys("%")).toEqual([]);
  });

  it("forgets what no snapshot can see once the key has been written again", async ({ store }) => {
    const first = await put(store, SCOPE, { a: 1 });
    for (const a of [2, 3, 4]) await put(store, SCOPE, { a });
    expect(await store.state.writtenBy(SCOPE, first)).toBe(0);
  });

  it("keeps what an open snapshot sees until it is released, and nothing in between", async ({ store }) => {
    const seen = await put(store, SCOPE, { a: 1 });
    const snapshot = await store.state.open(SCOPE);
    const between = await put(store, SCOPE, { a: 2 });
    for (const a of [3, 4, 5]) await put(store, SCOPE, { a });
    expect(await contents(store, snapshot)).toEqual({ a: 1 });
    expect(await store.state.writtenBy(SCOPE, between)).toBe(0);
    store.state.release(snapshot);
    store.state.release(snapshot);
    for (const a of [6, 7]) await put(store, SCOPE, { a });
    expect(await store.state.writtenBy(SCOPE, seen)).toBe(0);
  });

  it("forgets deletions once every snapshot is past them", async ({ store }) => {
    const wrote = await put(store, SCOPE, { a: 1 });
    const deleted = await put(store, SCOPE, { a: undefined });
    for (const other of [1, 2]) await put(store, SCOPE, { other });
    expect(await store.state.writtenBy(SCOPE, wrote)).toBe(0);
    expect(await store.state.writtenBy(SCOPE, deleted)).toBe(0);
  });
}

async function contents(store: Store, snapshot: StateSnapshot): Promise<Writes> {
  const keys = await store.state.keys(snapshot, { prefix: "", limit: 1000 });
  const values = await Promise.all(keys.map((key) => store.state.get(snapshot, key)));
  return Object.fromEntries(keys.map((key, index) => [key, values[index]?.value]));
}
