import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createMemoryStore } from "../memory/store.ts";
import {
  type CloudEvent,
  type EventSink,
  type OutgoingEvent,
  PARTITION_LEASE_MS,
  partitionOf,
} from "../ports/outbox.ts";
import type { Store } from "../ports/store.ts";
import { fixtureEngine } from "../testing/fixture-engine.ts";
import { applied, batchOf, pendingOf, unitOf } from "../testing/store-samples.ts";
import { EventPublisher, publishPending } from "./publisher.ts";

const tools = [
  { id: "ok", run: () => ({ fine: true }) },
  {
    id: "slow",
    run: () => new Promise(() => undefined),
    conduct: { sideEffects: "external", limits: { timeoutMs: 5, memoryBytes: 1e9 } },
  },
];

/** A sink in memory that can be down. */
class Received implements EventSink {
  readonly events: OutgoingEvent[] = [];
  isDown = false;
  tries = 0;

  async send(events: readonly OutgoingEvent[]): Promise<void> {
    this.tries += 1;
    if (this.isDown) throw new Error("down");
    this.events.push(...events);
  }

  parsed(): CloudEvent[] {
    return this.events.map(({ json }) => JSON.parse(json));
  }
}

const publishing = (sink: EventSink, name = "s", instance = "i") => ({ name, sink, instance });

/** A unit of the tenant with one event of this name, for each sink. */
const told = (store: Store, name: string, tenant = "acme", sinks = ["s"]) =>
  applied(store, unitOf({ tenant, outbox: batchOf([name], sinks) }));

const named = ({ events }: Received) => events.map(({ json }) => JSON.parse(json).name);

describe("what is published of calls", () => {
  it("is CloudEvents in order, secrets taken out [L3-EVT-1]", async () => {
    const { call, store } = await fixtureEngine({ sinks: ["s"] }, tools);
    await call("ok", { password: "hunter2", n: 1 });
    await call("slow", {});
    const sink = new Received();
    expect(await publishPending(store.outbox, publishing(sink))).toBe(5);
    const sent = sink.parsed();
    expect(sent.map(({ type }) => type)).toEqual([
      "ai.agent.tool.invoked",
      "ai.agent.tool.succeeded",
      "ai.agent.tool.invoked",
      "ai.agent.tool.failed",
      "ai.agent.tool.timeout",
    ]);
    expect(sent[0]).toMatchObject({
      specversion: "1.0",
      partitionkey: "acme",
      data: { parameters: { password: "[REDACTED]", n: 1 } },
    });
    expect(sent[3]).toMatchObject({ data: { error: { code: "timeout", retryable: false } } });
    expect(new Set(sent.map(({ id }) => id)).size).toBe(5);
    expect(sink.events.every(({ tenant }) => tenant === "acme")).toBe(true);
    expect(await publishPending(store.outbox, publishing(sink))).toBe(0);
  });

  it("says of a call that begins whether its caller waits, and how urgent it is [L3-EVT-1]", async () => {
    const { call, engine, store } = await fixtureEngine({ sinks: ["s"] }, tools);
    const caller = { tenant: "acme", agent: "agent" };
    await call("ok", {}, { callId: "plain" });
    await engine.accept({ tool: "ok", input: {}, caller, callId: "queued", priority: "high" });
    await expect.poll(async () => (await store.calls.get("queued"))?.phase).toBe("closed");
    const sink = new Received();
    await publishPending(store.outbox, publishing(sink));
    const invoked = sink.parsed().filter(({ type }) => type === "ai.agent.tool.invoked");
    expect(invoked.map(({ data }) => data)).toMatchObject([
      { invocation_id: "plain", async_mode: false, priority: "normal" },
      { invocation_id: "queued", async_mode: true, priority: "high" },
    ]);
    await engine.close();
  });

  it("is written for every sink, with a hint for each commit; for none nothing is kept", async () => {
    const onEvents = vi.fn();
    const both = await fixtureEngine({ sinks: ["a", "b"], onEvents }, tools);
    await both.call("ok", {});
    expect(await both.store.outbox.backlogs()).toMatchObject([
      { sink: "a", batches: 1 },
      { sink: "b", batches: 1 },
    ]);
    expect(onEvents).toHaveBeenCalledTimes(1);
    const none = await fixtureEngine({}, tools);
    await none.call("ok", {});
    expect(await none.store.outbox.backlogs()).toEqual([]);
  });
});

describe("publishing to one sink", () => {
  it("keeps everything while the sink is down, and sends it when it is back [L3-AUD-1]", async () => {
    const store = createMemoryStore();
    const sink = new Received();
    for (let n = 0; n < 1_000; n += 1) await told(store, `${n}`);
    sink.isDown = true;
    await expect(publishPending(store.outbox, publishing(sink))).rejects.toThrow("down");
    sink.isDown = false;
    expect(await publishPending(store.outbox, publishing(sink))).toBe(1_000);
    expect(named(sink)).toEqual(Array.from({ length: 1_000 }, (_, n) => `${n}`));
    expect(sink.tries).toBe(4);
  });

  it("sends again, with the same ids, what the store did not note as delivered", async () => {
    const store = createMemoryStore();
    const sink = new Received();
    await told(store, "once");
    const failing = { ...store.outbox, delivered: () => Promise.reject(new Error("disk full")) };
    await expect(publishPending(failing, publishing(sink))).rejects.toThrow("disk full");
    await publishPending(store.outbox, publishing(sink));
    expect(named(sink)).toEqual(["once", "once"]);
    expect(await pendingOf(store)).toEqual([]);
  });
});

describe("a publisher", () => {
  let store: Store;
  beforeEach(() => {
    vi.useFakeTimers();
    store = createMemoryStore({ clock: { now: () => Date.now() } });
  });
  afterEach(() => vi.useRealTimers());

  const HOUR = 3_600_000;

  it("loses nothing of a day on which the sink is down, and tries seldom meanwhile [L3P2-4]", async () => {
    const [sink, other] = [new Received(), new Received()];
    const changes: (string | undefined)[] = [];
    const onChange = (problem?: { error: unknown }) => changes.push(problem && String(problem.error));
    const publisher = new EventPublisher(store.outbox, publishing(sink), { onChange });
    const neighbour = new EventPublisher(store.outbox, publishing(other, "other"));
    for (const each of [publisher, neighbour]) each.start();
    sink.isDown = true;
    for (let hour = 0; hour < 24; hour += 1) {
      await told(store, `hour-${hour}`, "acme", ["s", "other"]);
      for (const each of [publisher, neighbour]) each.wake();
      await vi.advanceTimersByTimeAsync(HOUR);
    }
    expect(sink.tries).toBeGreaterThan(24 * 60 - 20);
    expect(sink.tries).toBeLessThan(24 * 120 + 20);
    expect(publisher.problem?.sink).toBe("s");
    expect(await store.outbox.backlogs()).toMatchObject([{ sink: "s", batches: 24 }]);
    const hours = Array.from({ length: 24 }, (_, hour) => `hour-${hour}`);
    // The one that is up noticed nothing of it.
    expect([named(other), neighbour.problem]).toEqual([hours, undefined]);
    sink.isDown = false;
    await vi.advanceTimersByTimeAsync(60_000);
    expect(named(sink)).toEqual(hours);
    expect(changes).toEqual(["Error: down", undefined]);
    expect(publisher.problem).toBeUndefined();
    await Promise.all([publisher.close(), neighbour.close()]);
  });

  /** Takes its time for each send, and stops when it is told to. */
  const slowly = (sink: Received, ms: number): EventSink => ({
    async send(events, signal) {
      await new Promise<void>((resolve, reject) => {
        setTimeout(resolve, ms);
        signal?.addEventListener("abort", () => reject(signal.reason));
      });
      await sink.send(events);
    },
  });

  it("sends a tenant's events alone, however slow the sink is and whoever asks for them meanwhile", async () => {
    const [one, two] = [new Received(), new Received()];
    const publishers = [one, two].map(
      (sink, index) => new EventPublisher(store.outbox, publishing(slowly(sink, 40_000), "s", `i-${index}`)),
    );
    const names = Array.from({ length: 40 }, (_, n) => `${n}`);
    for (const name of names) await told(store, name);
    for (const publisher of publishers) {
      publisher.start();
      await vi.advanceTimersByTimeAsync(1_000);
    }
    await vi.advanceTimersByTimeAsync(100_000);
    expect([named(one), named(two)]).toEqual([names, []]);
    for (const publisher of publishers) await publisher.close({ sendsRest: false });
  });

  it.each([
    ["another has taken them", async () => false],
    ["the store is away for longer than the lease", () => Promise.reject(new Error("away"))],
  ])("stops sending when its partitions may be another's: %s", async (_what, renew) => {
    const sink = new Received();
    const publisher = new EventPublisher({ ...store.outbox, renew }, publishing(slowly(sink, 40_000)));
    await told(store, "a");
    publisher.start();
    await vi.advanceTimersByTimeAsync(PARTITION_LEASE_MS);
    expect([String(publisher.problem?.error), named(sink)]).toEqual([expect.stringMatching(/lease/), []]);
    await publisher.close({ signal: AbortSignal.abort() }).catch(String);
  });

  it("ends within seconds whatever waits and however slow the sink is, and says that events wait", async () => {
    const [idle, busy, told5] = [new Received(), new Received(), new AbortController()];
    for (let n = 0; n < 1_000; n += 1) await told(store, `${n}`, "acme", ["idle", "busy", "cut"]);
    const publishers = [
      new EventPublisher(store.outbox, publishing(slowly(idle, 2_000), "idle")),
      new EventPublisher(store.outbox, publishing(slowly(busy, HOUR), "busy")),
      new EventPublisher(store.outbox, publishing(slowly(busy, HOUR), "cut")),
    ];
    publishers[1]?.start();
    await vi.advanceTimersByTimeAsync(1_000);
    const closing = publishers.map((publisher, index) =>
      publisher.close(index === 2 ? { signal: told5.signal } : {}).catch(String),
    );
    told5.abort();
    expect(await closing[2]).toMatch(/still wait/);
    await vi.advanceTimersByTimeAsync(5_000);
    for (const reason of await Promise.all(closing)) expect(reason).toMatch(/still wait.*at the next start/);
    expect([idle.events.length, busy.events.length]).toEqual([800, 0]);
  });

  it("gathers what is committed together, and looks for what others commit", async () => {
    const sink = new Received();
    const publisher = new EventPublisher(store.outbox, publishing(sink), { lingerMs: 100, everyMs: 1_000 });
    publisher.start();
    await vi.advanceTimersByTimeAsync(10);
    for (const name of ["a", "b"]) await told(store, name).then(() => publisher.wake());
    await vi.advanceTimersByTimeAsync(50);
    expect(sink.tries).toBe(0);
    await vi.advanceTimersByTimeAsync(60);
    expect([named(sink), sink.tries]).toEqual([["a", "b"], 1]);
    await told(store, "by another process");
    await vi.advanceTimersByTimeAsync(1_100);
    expect(named(sink)).toHaveLength(3);
    await publisher.stop();
    await told(store, "too late");
    await vi.advanceTimersByTimeAsync(HOUR);
    expect(named(sink)).toHaveLength(3);
    await publisher.close();
    expect(named(sink)).toHaveLength(4);
  });

  it("sends nothing before it is started, and everything once, whatever hints came before [L3-EVT-1]", async () => {
    const sink = new Received();
    const second = () => new Promise<void>((resolve) => setTimeout(resolve, 1_000));
    const slow = { send: (events: readonly OutgoingEvent[]) => sink.send(events).then(second) };
    const publisher = new EventPublisher(store.outbox, publishing(slow));
    await told(store, "recovered");
    publisher.wake();
    await vi.advanceTimersByTimeAsync(500);
    expect(named(sink)).toEqual([]);
    publisher.start();
    for (let n = 0; n < 100; n += 1) {
      await told(store, `${n}`);
      publisher.wake();
      await vi.advanceTimersByTimeAsync(300);
    }
    expect(named(sink)).toEqual([...new Set(named(sink))]);
    expect(named(sink)).toContain("90");
    await Promise.all([publisher.stop(), vi.advanceTimersByTimeAsync(1_000)]);
  });

  it("ends although other processes write all the time, when it stops and when it closes", async () => {
    const sink = new Received();
    let stopped: Promise<void> | undefined;
    // Each send leaves more to send.
    const busy = {
      send: async (events: readonly OutgoingEvent[]) => {
        await sink.send(events);
        if (sink.tries === 3) stopped = publisher.stop();
        if (sink.tries < 1_000) await told(store, `${sink.tries}`);
      },
    };
    await told(store, "first");
    const publisher = new EventPublisher(store.outbox, publishing(busy));
    publisher.start();
    await vi.advanceTimersByTimeAsync(2_000);
    await stopped;
    expect(sink.tries).toBe(3);
    await publisher.close();
    expect(sink.tries).toBe(4);
  });

  it("shares a sink with another one: each event once, tenants in order, all of them when one ends [L3-EVT-1]", async () => {
    const [one, two] = [new Received(), new Received()];
    const publishers = [one, two].map(
      (sink, index) => new EventPublisher(store.outbox, publishing(sink, "s", `i-${index}`)),
    );
    for (const publisher of publishers) publisher.start();
    await vi.advanceTimersByTimeAsync(3_000);
    const tenants = Array.from({ length: 40 }, (_, index) => `tenant-${index}`);
    for (let n = 0; n < 3; n += 1) for (const tenant of tenants) await told(store, `${tenant} ${n}`, tenant);
    await vi.advanceTimersByTimeAsync(2_000);
    const all = [...named(one), ...named(two)];
    expect(all.toSorted()).toEqual(
      tenants.flatMap((tenant) => [0, 1, 2].map((n) => `${tenant} ${n}`)).toSorted(),
    );
    for (const sink of [one, two])
      for (const tenant of new Set(sink.events.map((event) => event.tenant)))
        expect(named(sink).filter((name) => name.startsWith(`${tenant} `))).toEqual(
          [0, 1, 2].map((n) => `${tenant} ${n}`),
        );
    expect(Math.min(one.events.length, two.events.length)).toBeGreaterThan(0);
    await publishers[0]?.stop();
    for (const tenant of tenants) await told(store, `${tenant} late`, tenant);
    await vi.advanceTimersByTimeAsync(20_000);
    expect(named(two).filter((name) => name.endsWith(" late"))).toHaveLength(tenants.length);
    await publishers[1]?.stop();
  });
});

it("spreads tenants over partitions the same way in every version", () => {
  // By the published hashes of FNV-1a: 811c9dc5, e40c292c, bf9cf968; the last two are UTF-8.
  expect(["", "a", "foobar", "büro", "🎉"].map(partitionOf)).toEqual([5, 12, 8, 5, 9]);
});
