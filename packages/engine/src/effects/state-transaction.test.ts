import { describe, expect, it } from "vitest";
import { createMemoryStore } from "../memory/store.ts";
import type { Store } from "../ports/store.ts";
import { STATE_LIMITS, StateTransaction } from "./state-transaction.ts";

const unfit = () => undefined;
const scope = { tenant: "t", tool: "counter" };

function begin(store: Store, callId: string): StateTransaction {
  return new StateTransaction({ reader: store.state, scope, callId, unfit });
}

async function commit(store: Store, transaction: StateTransaction) {
  const state = transaction.writes();
  const result = await store.commit({ tenant: "t", ...(state && { state }) });
  if (result.ok) transaction.commit();
  return result;
}

describe("state transaction", () => {
  it("is active from begin to commit, and never again [R1-4.3]", async () => {
    const store = createMemoryStore();
    const transaction = begin(store, "a");
    expect(transaction.isActive()).toBe(true);
    await transaction.put("n", 1);
    await commit(store, transaction);
    expect(transaction.isActive()).toBe(false);
    await expect(transaction.put("n", 2)).rejects.toThrow(/transaction has ended/);
    await expect(transaction.get("n")).rejects.toThrow(/transaction has ended/);
  });

  it("sees its own changes and tracks them, while others see nothing [R1-5.2]", async () => {
    const store = createMemoryStore();
    const [one, other] = [begin(store, "a"), begin(store, "b")];
    await one.put("x/1", { deep: [1] });
    await one.put("x/2", 2);
    await one.delete("x/2");
    expect(await one.get("x/1")).toEqual({ deep: [1] });
    expect(await one.keys("x/")).toEqual(["x/1"]);
    expect(await other.get("x/1")).toBeUndefined();
    expect(one.mutations()).toEqual([
      { kind: "put", key: "x/1" },
      { kind: "put", key: "x/2" },
      { kind: "delete", key: "x/2" },
    ]);
  });

  it("lists keys after its own changes: what it deleted takes no place in the list, what it added does", async () => {
    const store = createMemoryStore();
    const most = STATE_LIMITS.keysPerList;
    const name = (index: number) => `k/${String(index).padStart(5, "0")}`;
    for (const [callId, from, to] of [
      ["a", 0, most - 2],
      ["b", most - 2, most + 5],
    ] as const) {
      const filling = begin(store, callId);
      for (let index = from; index < to; index += 1) await filling.put(name(index), index);
      await commit(store, filling);
    }
    const transaction = begin(store, "c");
    for (let index = 0; index < 4; index += 1) await transaction.delete(name(index));
    await transaction.put("k/00000a", 1);
    const keys = await transaction.keys("k/");
    expect([keys.length, keys[0], keys[1], keys.at(-1)]).toEqual([most, "k/00000a", name(4), name(most + 2)]);
  });

  it("hands out copies: changing what was read or given changes nothing", async () => {
    const transaction = begin(createMemoryStore(), "a");
    const given = { list: [1] };
    await transaction.put("k", given);
    given.list.push(2);
    const read = (await transaction.get("k")) as { list: number[] };
    read.list.push(3);
    expect(await transaction.get("k")).toEqual({ list: [1] });
  });

  it("reads the state as it was when it began, whatever is committed meanwhile", async () => {
    const store = createMemoryStore();
    const first = begin(store, "a");
    await first.put("n", 1);
    await commit(store, first);
    const reader = begin(store, "b");
    expect(await reader.get("other")).toBeUndefined();
    const writer = begin(store, "c");
    await writer.put("n", 2);
    await commit(store, writer);
    expect(await reader.get("n")).toBe(1);
  });

  it("refuses the second of two that write the same key, and loses nothing [R1-4.3]", async () => {
    const store = createMemoryStore();
    const [one, two] = [begin(store, "a"), begin(store, "b")];
    await one.put("n", "one");
    await two.put("n", "two");
    expect((await commit(store, one)).ok).toBe(true);
    expect(await commit(store, two)).toEqual({ ok: false, conflict: { kind: "state", keys: ["n"] } });
    await two.rollback();
    expect(await begin(store, "c").get("n")).toBe("one");
  });

  it("proves its rollback against the snapshot before execution [R1-7.2]", async () => {
    const store = createMemoryStore();
    const transaction = begin(store, "a");
    await transaction.put("n", 1);
    const proof = await transaction.rollback();
    expect(proof).toMatchObject({ verified: true, discardedMutations: 1 });
    expect(proof.snapshotHash).toMatch(/^[0-9a-f]{64}$/);
    expect(transaction.isActive()).toBe(false);
    expect(await begin(store, "b").get("n")).toBeUndefined();
  });

  it("does not call a rollback proved when something of the call is left in the store [R1-7.2]", async () => {
    const store = createMemoryStore();
    const transaction = begin(store, "a");
    await transaction.put("n", 1);
    const state = transaction.writes();
    await store.commit({ tenant: "t", ...(state && { state }) });
    expect((await transaction.rollback()).verified).toBe(false);
  });

  it("does not call a rollback proved when the snapshot reads differently afterwards [R1-7.2]", async () => {
    const store = createMemoryStore();
    let reads = 0;
    const lying = {
      ...store.state,
      get: async () => ({ value: ++reads, version: 0 }),
      open: store.state.open.bind(store.state),
    };
    const reader = Object.assign(Object.create(store.state), lying);
    const transaction = new StateTransaction({ reader, scope, callId: "a", unfit });
    await transaction.get("n");
    expect((await transaction.rollback()).verified).toBe(false);
  });

  it("finds a key deleted that was there, long after it let go of its snapshot [R1-4.3]", async () => {
    const store = createMemoryStore();
    const first = begin(store, "first");
    await first.put("n", 1);
    await commit(store, first);
    const held = begin(store, "held");
    await held.put("n", 2);
    const writes = held.writes();
    held.commit();
    for (const callId of ["deletes", "goes on"]) {
      const other = begin(store, callId);
      if (callId === "deletes") await other.delete("n");
      else await other.put("m", 1);
      await commit(store, other);
    }
    const late = await store.commit({
      tenant: "t",
      ...(writes && { state: writes }),
    });
    expect(late).toMatchObject({ ok: false, conflict: { kind: "state", keys: ["n"] } });
  });

  it("costs the store nothing when no state is used", async () => {
    const untouched = { state: undefined as never } as Pick<Store, "state">;
    const transaction = new StateTransaction({ reader: untouched.state, scope, callId: "a", unfit });
    expect(transaction.writes()).toBeUndefined();
    expect((await transaction.rollback()).verified).toBe(true);
  });

  it("refuses what it cannot keep", async () => {
    const transaction = begin(createMemoryStore(), "a");
    await expect(transaction.put("k".repeat(STATE_LIMITS.keyBytes + 1), 1)).rejects.toThrow(/key/);
    await expect(transaction.put("k", "x".repeat(STATE_LIMITS.valueBytes))).rejects.toThrow(/larger/);
    await expect(transaction.put("\ud800", 1)).rejects.toThrow(/key/);
    for (let index = 0; index < STATE_LIMITS.mutations; index += 1)
      await transaction.put(`k${index % 5}`, index);
    await expect(transaction.put("one more", 1)).rejects.toThrow(/more than/);
  });
});
