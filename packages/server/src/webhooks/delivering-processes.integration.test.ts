import { FaultPlan, withFaults } from "@sallyport/engine/testing";
import { describe, expect, it } from "vitest";
import { CallbackRig } from "./fixtures/callback-rig.ts";
import { answering, Receiver } from "./fixtures/receiver.ts";

const WAIT = { timeout: 30_000, interval: 10 };

describe("processes that deliver", () => {
  it("share one store and tell each caller once", async () => {
    await using receiver = await Receiver.start();
    await using rig = new CallbackRig();
    const callIds: string[] = [];
    for (let nth = 0; nth < 60; nth += 1) callIds.push(await rig.ended(receiver.url));
    for (let nth = 0; nth < 3; nth += 1) rig.start({ perHost: 8 });
    for (const callId of callIds) await expect.poll(() => rig.stateOf(callId), WAIT).toBe("delivered");
    expect(receiver.counts()).toEqual(Object.fromEntries(callIds.map((callId) => [callId, 1])));
  });

  it("that are stopped in the middle leave the rest to the next, which goes on at once", async () => {
    await using receiver = await Receiver.start((res, nth) => {
      if (nth > 2) answering(204)(res);
    });
    await using rig = new CallbackRig();
    const callIds = [
      await rig.ended(receiver.url),
      await rig.ended(receiver.url),
      await rig.ended(receiver.url),
    ];
    const first = rig.start({ timeoutMs: 60_000, waitsMs: [3_600_000] });
    await expect.poll(() => receiver.told.length, WAIT).toBe(2);
    await first.close();
    const now = rig.clock.now();
    for (const callId of callIds) {
      const left = await rig.of(callId);
      expect(left?.state).toBe("due");
      expect(left?.dueAt).toBeLessThanOrEqual(now);
    }
    rig.start({ waitsMs: [3_600_000] });
    for (const callId of callIds) await expect.poll(() => rig.stateOf(callId), WAIT).toBe("delivered");
    const [one = "", other = "", third = ""] = callIds;
    expect(receiver.counts()).toEqual({ [one]: 2, [other]: 2, [third]: 1 });
  });

  it("whose clocks are wrong tell no later and no oftener: the store's clock says what is due [X-5]", async () => {
    await using receiver = await Receiver.start((res, nth) => answering(nth < 3 ? 500 : 204)(res));
    await using rig = new CallbackRig();
    const ended = rig.clock.now();
    const clock = { now: () => rig.clock.now() + 3_600_000, elapsed: () => performance.now() };
    rig.start({ clock, waitsMs: [50, 60_000], random: () => 0 });
    const callId = await rig.ended(receiver.url, {}, clock);
    await expect.poll(async () => (await rig.of(callId))?.attempts, WAIT).toBe(2);
    await expect.poll(async () => (await rig.of(callId))?.dueAt, WAIT).toBeLessThan(rig.clock.now() + 60_001);
    expect((await rig.of(callId))?.dueAt).toBeGreaterThan(ended + 60_000);
    rig.clock.forward(60_000);
    await expect.poll(() => rig.stateOf(callId), WAIT).toBe("delivered");
  });

  it("that die in the middle leave what they had taken, until it can be taken for lost", async () => {
    await using receiver = await Receiver.start();
    await using rig = new CallbackRig();
    const callId = await rig.ended(receiver.url);
    const due = await rig.of(callId);
    if (!due) return expect.unreachable();
    // As a process leaves it that was killed while it sent.
    const taken = { ...due, attempts: 1, dueAt: rig.clock.now() + 40_000 };
    await rig.store.commit({
      tenant: due.tenant,
      callbacks: [{ callback: taken, expect: 0 }],
    });
    const callbacks = rig.start();
    rig.clock.forward(39_000);
    callbacks.kick();
    const other = await rig.ended(receiver.url);
    await expect.poll(() => rig.stateOf(other), WAIT).toBe("delivered");
    expect(await rig.stateOf(callId)).toBe("due");
    rig.clock.forward(2_000);
    await expect.poll(() => rig.stateOf(callId), WAIT).toBe("delivered");
    expect(await rig.of(callId)).toMatchObject({ attempts: 2 });
  });

  it("do not settle what another has taken over meanwhile", async () => {
    let takeOver = async (): Promise<void> => undefined;
    await using receiver = await Receiver.start((res) => void takeOver().then(() => answering(500)(res)));
    await using rig = new CallbackRig();
    const callId = await rig.ended(receiver.url);
    takeOver = async () => {
      const taken = await rig.of(callId);
      if (!taken) return;
      const delivered = { ...taken, attempts: 2, state: "delivered" as const };
      await rig.store.commit({
        tenant: taken.tenant,
        callbacks: [{ callback: delivered, expect: 1 }],
      });
    };
    const callbacks = rig.start();
    await expect.poll(() => rig.stateOf(callId), WAIT).toBe("delivered");
    await callbacks.close();
    expect(await rig.of(callId)).toMatchObject({ state: "delivered", attempts: 2 });
  });

  it.each([
    ["claiming what is due", "work.claim"],
    ["reading the call", "calls.get"],
  ] as const)("go on when the store fails at %s", async (_, method) => {
    await using receiver = await Receiver.start();
    await using rig = new CallbackRig();
    const callId = await rig.ended(receiver.url);
    const error = new Error("disk");
    const plan = new FaultPlan(
      [1, 2].map((nth) => ({ method, nth, when: "before", action: { kind: "reject", error } })),
    );
    rig.start({ store: withFaults(rig.store, plan) });
    await expect.poll(() => rig.log.lines.length, WAIT).toBeGreaterThan(0);
    const later = setInterval(() => rig.clock.forward(20_000), 50);
    try {
      await expect.poll(() => rig.stateOf(callId), WAIT).toBe("delivered");
    } finally {
      clearInterval(later);
    }
    expect(receiver.counts()).toEqual({ [callId]: 1 });
  });

  it("tell it again under the same id when it could not be kept that it was told", async () => {
    await using receiver = await Receiver.start();
    await using rig = new CallbackRig();
    const callId = await rig.ended(receiver.url);
    const plan = new FaultPlan([
      { method: "commit", nth: 1, when: "before", action: { kind: "reject", error: new Error("disk") } },
    ]);
    const callbacks = rig.start({ store: withFaults(rig.store, plan) });
    await expect.poll(() => rig.log.lines.join(), WAIT).toContain("callbacks cannot be read or written");
    expect(await rig.stateOf(callId)).toBe("due");
    rig.clock.forward(60_000);
    callbacks.kick();
    await expect.poll(() => rig.stateOf(callId), WAIT).toBe("delivered");
    expect(receiver.counts()).toEqual({ [callId]: 2 });
  });

  it("do not ask a lost store in a tight loop", async () => {
    await using rig = new CallbackRig();
    await rig.ended("http://127.0.0.1:1/x");
    const plan = new FaultPlan([
      { method: "work.claim", when: "before", action: { kind: "reject", error: new Error("disk") } },
    ]);
    rig.start({ store: withFaults(rig.store, plan), pollMs: 100 });
    await expect
      .poll(() => plan.seen.filter(({ method }) => method === "work.claim").length, WAIT)
      .toBeGreaterThanOrEqual(3);
    expect(plan.seen.length).toBeLessThan(20);
  });
});
