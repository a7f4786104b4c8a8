import { expect } from "vitest";
import {
  type OutboxReader,
  PARTITION_LEASE_MS,
  PARTITIONS,
  PENDING_CHARS,
  partitionOf,
} from "../ports/outbox.ts";
import type { Store } from "../ports/store.ts";
import {
  applied,
  batchOf,
  crowd,
  ODD_TEXT,
  opening,
  pendingOf,
  refusal,
  type StoreTest,
  sampleCall,
  unitOf,
} from "./store-samples.ts";

/** Tenants of every partition, so that whoever holds partitions has something to publish. */
const TENANTS = crowd(200, (index) => `tenant-${index}`);

async function writeOf(store: Store, tenants: readonly string[], sinks?: string[]): Promise<void> {
  for (const tenant of tenants) await applied(store, unitOf({ tenant, outbox: batchOf([tenant], sinks) }));
}

const eventsOf = (batches: Awaited<ReturnType<OutboxReader["pending"]>>) =>
  batches.flatMap(({ events }) => events);
const idsOf = (batches: readonly { id: string }[]) => batches.map(({ id }) => id);

/** Batches of events wait for each sink, oldest first, until that sink has taken them. */
export function outboxContract(it: StoreTest): void {
  it("keeps the events of a unit together and in order, the same ones until they are delivered [L3-AUD-1]", async ({
    store,
  }) => {
    await applied(store, unitOf({ outbox: batchOf(["a", "b"]) }));
    await applied(store, unitOf({ tenant: ODD_TEXT, outbox: batchOf([ODD_TEXT]) }));
    const pending = await pendingOf(store);
    expect(pending.map(({ tenant, events }) => ({ tenant, events }))).toEqual([
      { tenant: "acme", events: batchOf(["a", "b"]).events },
      { tenant: ODD_TEXT, events: batchOf([ODD_TEXT]).events },
    ]);
    expect(await pendingOf(store)).toEqual(pending);
    expect(new Set(idsOf(pending)).size).toBe(2);
  });

  it("keeps nothing of a unit that is refused, or has no events or no sinks", async ({ store }) => {
    const call = sampleCall();
    await applied(store, opening(call));
    const again = { ...opening(call), outbox: batchOf(["a"]) };
    expect(await refusal(store, again)).toEqual({ kind: "duplicate_call" });
    await applied(store, unitOf({ outbox: batchOf([]) }));
    await applied(store, unitOf({ outbox: batchOf(["a"], []) }));
    expect(await store.outbox.backlogs()).toEqual([]);
    expect(await pendingOf(store)).toEqual([]);
  });

  it("forgets what a sink has taken, in any order, and takes an old id for nothing new", async ({
    store,
  }) => {
    await Promise.all(
      ["a", "b", "c", "d"].map((name) => applied(store, unitOf({ outbox: batchOf([name]) }))),
    );
    const [first, second, third, fourth] = idsOf(await pendingOf(store));
    const left = async (...ids: (string | undefined)[]) => {
      await store.outbox.delivered({ sink: "s", ids: ids.map(String) });
      return idsOf(await pendingOf(store));
    };
    expect(await left(third)).toEqual([first, second, fourth]);
    expect(await left(first, third, first)).toEqual([second, fourth]);
    expect(await left("nobody", "")).toEqual([second, fourth]);
    expect(await left(fourth, second)).toEqual([]);
    await applied(store, unitOf({ outbox: batchOf(["e"]) }));
    expect(await left(first, second, third, fourth)).toHaveLength(1);
    expect(eventsOf(await pendingOf(store))).toEqual(batchOf(["e"]).events);
  });

  it("lets each sink take its events at its own pace [L3P2-4]", async ({ store }) => {
    await writeOf(store, ["a", "b"], ["fast", "down"]);
    await writeOf(store, ["c"], ["fast"]);
    const ids = idsOf(await pendingOf(store, { sink: "fast" }));
    expect(ids).toHaveLength(3);
    await store.outbox.delivered({ sink: "fast", ids });
    expect(await pendingOf(store, { sink: "fast" })).toEqual([]);
    expect(eventsOf(await pendingOf(store, { sink: "down" }))).toEqual(batchOf(["a", "b"]).events);
    expect(await store.outbox.backlogs()).toMatchObject([{ sink: "down", batches: 2 }]);
    expect(await pendingOf(store, { sink: "unheard of" })).toEqual([]);
  });

  it("says how much waits for each sink, and since when", async ({ store }) => {
    expect(await store.outbox.backlogs()).toEqual([]);
    await writeOf(store, ["a", "b", "c"], ["x", "y"]);
    const [one, other, ...more] = (await store.outbox.backlogs()).toSorted((a, b) =>
      a.sink < b.sink ? -1 : 1,
    );
    expect([one, other, more]).toMatchObject([{ sink: "x", batches: 3 }, { sink: "y", batches: 3 }, []]);
    await store.outbox.delivered({
      sink: "x",
      ids: idsOf((await pendingOf(store, { sink: "x" })).slice(0, 2)),
    });
    const after = (await store.outbox.backlogs()).find(({ sink }) => sink === "x");
    expect(after?.batches).toBe(1);
    expect(after?.oldestAt).toBeGreaterThanOrEqual(one?.oldestAt ?? Number.NaN);
  });

  it("gives at most as many as asked for, and at least one however large it is", async ({ store }) => {
    await writeOf(store, ["a", "b", "c"]);
    expect(eventsOf(await pendingOf(store, { limit: 2 }))).toEqual(batchOf(["a", "b"]).events);
    expect(await pendingOf(store, { limit: 0 })).toEqual([]);
    const large = "x".repeat(PENDING_CHARS);
    await writeOf(store, [large, "d"], ["large"]);
    for (const expected of [large, "d"]) {
      const [batch, ...more] = await pendingOf(store, { sink: "large" });
      expect([batch?.tenant === expected, more]).toEqual([true, []]);
      await store.outbox.delivered({ sink: "large", ids: [String(batch?.id)] });
    }
  });

  it("keeps the order of each call while many commit and others publish [L3-EVT-1]", async ({ store }) => {
    const calls = crowd(30, (index) => `call-${index}`);
    const steps = ["invoked", "failed", "timeout"];
    const commits = calls.map(async (call, index) => {
      for (const step of steps)
        await applied(store, unitOf({ tenant: `t-${index % 5}`, outbox: batchOf([`${call} ${step}`]) }));
    });
    const sent: string[] = [];
    const publish = async () => {
      const batches = await pendingOf(store, { limit: 7 });
      sent.push(...eventsOf(batches));
      await store.outbox.delivered({ sink: "s", ids: idsOf(batches) });
      return batches.length;
    };
    while (sent.length < 45) await publish();
    await Promise.all(commits);
    while ((await publish()) > 0);
    for (const call of calls) {
      const own = sent.filter((event) => event.includes(`"${call} `));
      expect(own).toEqual(batchOf(steps.map((step) => `${call} ${step}`)).events);
    }
  });
}

/** Partitions of tenants are published by one live instance at a time. */
export function partitionsContract(it: StoreTest): void {
  it("share the tenants between the instances that ask, and leave none out", async ({ store }) => {
    await writeOf(store, TENANTS);
    const asked = async (instance: string) =>
      (await pendingOf(store, { instance })).map(({ tenant }) => tenant);
    expect(await asked("one")).toHaveLength(TENANTS.length);
    // The second asks in vain until the first has given up half of what it holds, between two sends of its own.
    expect(await asked("two")).toEqual([]);
    const [one, two] = [await asked("one"), await asked("two")];
    expect(one.filter((tenant) => two.includes(tenant))).toEqual([]);
    expect([...one, ...two].toSorted()).toEqual(TENANTS.toSorted());
    expect(new Set(one.map(partitionOf)).size).toBe(PARTITIONS / 2);
    expect([await asked("one"), await asked("two")]).toEqual([one, two]);
  });

  it("are leased for each sink by itself", async ({ store }) => {
    await writeOf(store, TENANTS, ["s", "other"]);
    expect(await pendingOf(store, { instance: "one" })).toHaveLength(TENANTS.length);
    expect(await pendingOf(store, { instance: "two", sink: "other" })).toHaveLength(TENANTS.length);
  });

  it("pass to the others when their instance asks no more", async ({ fixture, skip }) => {
    const { store, advance } = fixture;
    if (!advance) return skip("the clock of this store cannot be moved");
    await writeOf(store, TENANTS);
    const asked = async (instance: string) => (await pendingOf(store, { instance })).length;
    await asked("one");
    await asked("two");
    await asked("one");
    const half = await asked("two");
    expect(half).toBeLessThan(TENANTS.length);
    await advance(PARTITION_LEASE_MS / 2);
    expect(await asked("two")).toBe(half);
    await advance(PARTITION_LEASE_MS / 2 + 1);
    expect(await asked("two")).toBe(TENANTS.length);
    expect(await asked("one")).toBe(0);
  });

  it("stay with an instance that renews them while it sends, whoever asks meanwhile", async ({
    fixture,
    skip,
  }) => {
    const { store, advance } = fixture;
    if (!advance) return skip("the clock of this store cannot be moved");
    await writeOf(store, TENANTS);
    const asked = async (instance: string) => (await pendingOf(store, { instance })).length;
    const renewed = () => store.outbox.renew({ sink: "s", instance: "one" });
    expect(await renewed()).toBe(false);
    expect(await asked("one")).toBe(TENANTS.length);
    for (const _ of crowd(3, () => 0)) {
      await advance(PARTITION_LEASE_MS / 2 - 1);
      expect([await renewed(), await asked("two")]).toEqual([true, 0]);
    }
    await advance(PARTITION_LEASE_MS + 1);
    expect([await renewed(), await asked("two")]).toEqual([false, TENANTS.length]);
  });
}
