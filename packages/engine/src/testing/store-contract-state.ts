import { expect } from "vitest";
import { STATE_RETENTION_MS, type StateScope, type StateSnapshot } from "../ports/state.ts";
import type { Store } from "../ports/store.ts";
import {
  applied,
  newCallId,
  put,
  refusal,
  type StoreFixture,
  type StoreTest,
  type Writes,
  writing,
} from "./store-samples.ts";

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

  it("still sees that a key was deleted when the deletion is forgotten [R1-4.3]", async ({
    fixture,
    skip,
  }) => {
    const { store } = fixture;
    await put(store, SCOPE, { held: 1, never: undefined });
    const snapshot = await store.state.open(SCOPE);
    await put(store, SCOPE, { held: undefined });
    if (!(await outlived(fixture))) return skip("the clock of this store cannot be moved");
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

  it("keeps what a snapshot sees for the retention, whatever is written meanwhile", async ({ fixture }) => {
    const { store, advance } = fixture;
    await put(store, SCOPE, { a: 1, b: 1 });
    const snapshot = await store.state.open(SCOPE);
    for (const a of [2, 3, 4]) {
      await put(store, SCOPE, { a, b: undefined });
      await advance?.(MINUTE);
    }
    expect(await contents(store, snapshot)).toEqual({ a: 1, b: 1 });
    expect(await store.state.get(snapshot, "b")).toEqual({ value: 1, version: 1 });
  });

  it("forgets values and deletions that are older than the retention, with a write of any scope", async ({
    fixture,
    skip,
  }) => {
    const { store } = fixture;
    const calls = [await put(store, SCOPE, { a: 1 }), await put(store, SCOPE, { a: 2, b: 1 })];
    calls.push(await put(store, SCOPE, { a: undefined }));
    const newest = await put(store, SCOPE, { b: 2 });
    if (!(await outlived(fixture))) return skip("the clock of this store cannot be moved");
    const counted = () => Promise.all(calls.map((callId) => store.state.writtenBy(SCOPE, callId)));
    expect(await counted()).toEqual([1, 2, 1]);
    await put(store, { ...SCOPE, tool: "other" }, { a: 1 });
    expect(await counted()).toEqual([0, 0, 0]);
    expect(await store.state.writtenBy(SCOPE, newest)).toBe(1);
    expect(await contents(store, await store.state.open(SCOPE))).toEqual({ b: 2 });
  });

  it("refuses reads through a snapshot that it has forgotten something of, and never shows something else", async ({
    fixture,
    skip,
  }) => {
    const { store } = fixture;
    await put(store, SCOPE, { a: 1, b: 1 });
    const old = await store.state.open(SCOPE);
    await put(store, SCOPE, { a: 2 });
    const later = await store.state.open(SCOPE);
    if (!(await outlived(fixture))) return skip("the clock of this store cannot be moved");
    expect(await contents(store, old)).toEqual({ a: 1, b: 1 });
    await put(store, SCOPE, { c: 3 });
    const gone = {
      failure: { code: "E3704", message: expect.stringContaining("longer than the store keeps") },
    };
    await expect(store.state.get(old, "a")).rejects.toMatchObject(gone);
    await expect(store.state.get(old, "b")).rejects.toMatchObject(gone);
    await expect(store.state.keys(old, { prefix: "", limit: 9 })).rejects.toMatchObject(gone);
    expect(await contents(store, later)).toEqual({ a: 2, b: 1 });
    expect(await refusal(store, writing(SCOPE, old, { a: 9 }))).toEqual({ kind: "state", keys: ["a"] });
  });
}

const MINUTE = 60_000;

/** Moves the store's clock on until snapshots of now are older than its retention; false when it cannot be moved. */
async function outlived({ advance }: StoreFixture): Promise<boolean> {
  await advance?.(STATE_RETENTION_MS + MINUTE);
  return advance !== undefined;
}

async function contents(store: Store, snapshot: StateSnapshot): Promise<Writes> {
  const keys = await store.state.keys(snapshot, { prefix: "", limit: 1000 });
  const values = await Promise.all(keys.map((key) => store.state.get(snapshot, key)));
  return Object.fromEntries(keys.map((key, index) => [key, values[index]?.value]));
}
