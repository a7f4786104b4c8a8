import { describe, expect, it } from "vitest";
import { RecentErrors } from "../memory/platform.ts";
import { createMemoryStore } from "../memory/store.ts";
import { FaultPlan, withFaults } from "../testing/faults.ts";
import { errorOf, fixtureEngine } from "../testing/fixture-engine.ts";
import { Membership } from "./membership.ts";

const RULES = { leaseMs: 60, renewMs: 10 };

/** A shared store whose renewals fail while it is away, and a process whose time passes only when it is told to. */
function unsteady() {
  const store = createMemoryStore({ isShared: true });
  const away = { is: false };
  let elapsed = 0;
  const clock = { now: () => Date.now(), elapsed: () => elapsed };
  const goAway = () => {
    away.is = true;
    elapsed += RULES.leaseMs * 0.9;
  };
  const renew: typeof store.instances.renew = (order) =>
    away.is ? Promise.reject(new Error("away")) : store.instances.renew(order);
  return { store: { ...store, instances: { ...store.instances, renew } }, away, clock, goAway };
}

async function until(isSo: () => unknown): Promise<void> {
  await expect.poll(isSo, { timeout: 10_000, interval: 2 }).toBeTruthy();
}

describe("a process with a lease", () => {
  it("renews it as long as it is there, and gives it up when it leaves [X-5]", async () => {
    const { store } = unsteady();
    const { engine } = await fixtureEngine({ store, lease: { leaseMs: 60_000, renewMs: 5 } });
    const [first] = await store.instances.list();
    await until(async () => ((await store.instances.list())[0]?.expiresAt ?? 0) > (first?.expiresAt ?? 0));
    expect(await store.instances.list()).toMatchObject([{ slot: 0, about: { pid: process.pid } }]);
    await engine.close();
    expect(await store.instances.list()).toEqual([]);
  });

  it("begins nothing while it is late, and goes on when the store is back [X-5]", async () => {
    const { store, away, clock, goAway } = unsteady();
    const tool = { id: "t", run: () => "ran" };
    const { engine, call } = await fixtureEngine({ store, clock, lease: RULES }, [tool]);
    goAway();
    expect(errorOf(await call("t", {}))).toMatchObject({ code: "E3922", retryable: true });
    expect(await engine.resume("nobody")).toMatchObject({ code: "E3922" });
    away.is = false;
    await until(async () => (await call("t", {})).status === "success");
    await engine.close();
  });

  it("ends attempts that change the world before the lease expires, and no others [X-5]", async () => {
    const { store, away, clock, goAway } = unsteady();
    const outside = Promise.withResolvers<void>();
    const inside = Promise.withResolvers<void>();
    const { engine, call } = await fixtureEngine({ store, clock, lease: RULES }, [
      {
        id: "pay",
        conduct: { sideEffects: "external" },
        run: (_input, { signal }) =>
          new Promise((_resolve, reject) => {
            outside.resolve();
            signal.addEventListener("abort", () => reject(new Error("aborted")));
          }),
      },
      {
        id: "note",
        conduct: { sideEffects: "state" },
        run: async (_input, { signal }) => {
          await inside.promise;
          return signal.aborted;
        },
      },
    ]);
    const [paid, noted] = [call("pay", {}), call("note", {})];
    await outside.promise;
    goAway();
    // Asking for it again could do it twice.
    expect(errorOf(await paid)).toMatchObject({ code: "E3922", retryable: false });
    away.is = false;
    inside.resolve();
    expect(await noted).toMatchObject({ status: "success", result: false });
    await engine.close();
  });

  it("leaves a call that waits for a person on record while it is late, and goes on with it afterwards [X-5]", async () => {
    const { store, away, clock, goAway } = unsteady();
    const pay = {
      id: "pay",
      conduct: { sideEffects: "external", requiresApproval: true },
      run: () => "paid",
    };
    const { engine, call } = await fixtureEngine({ store, clock, lease: RULES }, [pay]);
    const waiting = call("pay", {}, { callId: "asked", onApproval: "wait" });
    await until(async () => (await store.calls.get("asked"))?.phase === "waiting");
    goAway();
    expect(await waiting).toMatchObject({ status: "pending_approval" });
    away.is = false;
    expect((await store.calls.get("asked"))?.phase).toBe("waiting");
    const approval = await store.approvals.ofCall("asked");
    await engine.approvals.approve(approval?.approvalId ?? "", { by: "somebody" });
    await until(async () => {
      const answer = await engine.resume("asked");
      return "result" in answer && answer.result === "paid";
    });
    await engine.close();
  });

  it("has it without end, and renews nothing, where no other process can use the store", async () => {
    const plan = new FaultPlan();
    const store = withFaults(createMemoryStore(), plan);
    const membership = new Membership({
      ...{ leaseMs: 1, renewMs: 1, instance: "one", store, errors: new RecentErrors() },
      clock: { now: () => Date.now() },
      onLate: () => expect.unreachable(),
    });
    await membership.join();
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(membership.refusal).toBeUndefined();
    expect(await store.instances.list()).toMatchObject([{ instance: "one", expiresAt: Infinity }]);
    expect(plan.seen.filter(({ method }) => method === "instances.renew")).toHaveLength(1);
    await membership.leave();
  });

  it("takes no calls before it has joined", () => {
    const membership = new Membership({
      ...{ ...RULES, instance: "one", store: createMemoryStore(), errors: new RecentErrors() },
      clock: { now: () => Date.now() },
      onLate: () => undefined,
    });
    expect(membership.refusal).toMatchObject({ code: "E3922" });
  });
});
