import { describe, expect, it } from "vitest";
import { createMemoryStore } from "../memory/store.ts";
import type { Store } from "../ports/store.ts";
import { type FaultAction, FaultPlan, type FaultRule, withFaults } from "../testing/faults.ts";
import {
  applied,
  queueing,
  sampleApproval,
  sampleCallback,
  sampleIntent,
  sampleRevocation,
  sampleStandingGrant,
  unitOf,
} from "../testing/store-samples.ts";
import { boundStore, unanswered } from "./bounded-store.ts";

const scope = { tenant: "acme", tool: "calc" };

function usesOf(store: Store): [name: string, use: () => Promise<unknown>][] {
  const snapshot = { scope, version: 0 };
  return [
    ["commit", () => store.commit(unitOf({}))],
    ["calls.get", () => store.calls.get("a")],
    ["calls.byIdempotencyKey", () => store.calls.byIdempotencyKey({ tenant: "a", agent: "a", key: "a" })],
    ["calls.list", () => store.calls.list({ limit: 1 })],
    ["state.open", () => store.state.open(scope)],
    ["state.get", () => store.state.get(snapshot, "a")],
    ["state.keys", () => store.state.keys(snapshot, { prefix: "", limit: 1 })],
    ["state.writtenBy", () => store.state.writtenBy(scope, "a")],
    ["tools.changedSince", () => store.tools.changedSince()],
    ["approvals.get", () => store.approvals.get("a")],
    ["approvals.ofCall", () => store.approvals.ofCall("a")],
    ["approvals.list", () => store.approvals.list({ limit: 1 })],
    ["approvals.order", () => store.approvals.order("a")],
    ["grants.get", () => store.grants.get("a")],
    ["grants.changedSince", () => store.grants.changedSince()],
    ["revocations.changedSince", () => store.revocations.changedSince()],
    ["queue.order", () => store.queue.order("a")],
    ["callbacks.ofCall", () => store.callbacks.ofCall("a")],
  ];
}

describe("a store with an end to every wait", () => {
  it("counts as lost when it does not answer, whatever was asked (E3914)", async () => {
    const plan = new FaultPlan([{ method: "*", when: "before", action: { kind: "hang" } }]);
    const store = boundStore(withFaults(createMemoryStore(), plan), { maxMs: 20, owner: "run-1" });
    const uses = usesOf(store);
    const settled = await Promise.allSettled(uses.map(([, use]) => use()));
    for (const [index, [name]] of uses.entries()) {
      expect(settled[index], name).toMatchObject({
        reason: { failure: { code: "E3914", details: { unanswered: true } } },
      });
    }
    const asked = [...uses.map(([name]) => name), "commit"];
    expect(plan.seen.map(({ method }) => method)).toEqual(asked);
    plan.release();
  });

  it("says what the store says while it answers", async () => {
    const store = boundStore(createMemoryStore(), { maxMs: 1_000, owner: "run-1" });
    const [record, grant, revocation] = [sampleApproval(), sampleStandingGrant(), sampleRevocation()];
    const unit = {
      approvals: [{ record, order: "{}" }],
      grants: [{ record: grant }],
      revocations: [revocation],
    };
    await applied(store, unitOf(unit));
    expect(await store.approvals.get(record.approvalId)).toEqual(record);
    expect(await store.approvals.ofCall(record.callId)).toEqual(record);
    expect(await store.approvals.list({ limit: 9 })).toEqual([record]);
    expect(await store.approvals.order(record.approvalId)).toBe("{}");
    expect(await store.grants.get(grant.grantId)).toEqual(grant);
    expect((await store.grants.changedSince()).changed).toEqual([grant]);
    expect((await store.revocations.changedSince()).changed).toEqual([revocation]);
  });

  it("writes into the audit strand that is the process's own at that time [L3-AUD-1]", async () => {
    let slot = 2;
    const store = boundStore(createMemoryStore(), { maxMs: 1_000, owner: "run-1", strand: () => slot });
    expect((await applied(store, unitOf({ audit: "{}" }))).link).toMatchObject({ strand: 2, sequence: 1 });
    slot = 0;
    expect((await applied(store, unitOf({ audit: "{}" }))).link).toMatchObject({ strand: 0, sequence: 1 });
  });

  it("says what the store says of accepted calls and callbacks", async () => {
    const store = boundStore(createMemoryStore(), { maxMs: 1_000, owner: "run-1" });
    const [first, second] = [sampleIntent(), sampleIntent()];
    const callback = sampleCallback({ dueAt: 5 });
    await applied(store, { ...queueing(first), callbacks: [{ callback }] });
    await applied(store, queueing(second, { order: "{}" }));
    expect(await store.queue.size()).toBe(2);
    expect(await store.queue.order(second.callId)).toBe("{}");
    expect(await store.callbacks.ofCall(callback.callId)).toEqual(callback);
  });
});

describe("a unit that the store does not answer", () => {
  const gone: FaultAction = { kind: "reject", error: unanswered("The writer has ended.") };

  function faulty(rules: FaultRule[]) {
    const plan = new FaultPlan(rules);
    const inner = createMemoryStore();
    return { plan, inner, store: boundStore(withFaults(inner, plan), { maxMs: 20, owner: "run-1" }) };
  }

  const eventsIn = (store: Store) => store.audit.read("acme", { strand: 0, after: 0, limit: 9 });

  it.each<[string, FaultRule]>([
    ["after it was written", { method: "commit", nth: 1, when: "after", action: gone }],
    ["before it was written", { method: "commit", nth: 1, when: "before", action: gone }],
    ["in time", { method: "commit", nth: 1, when: "before", action: { kind: "slow", ms: 60 } }],
  ])("%s is sent again and applied once", async (_, rule) => {
    const { store, inner, plan } = faulty([rule]);
    const result = await applied(store, unitOf({ audit: "{}" }));
    expect(result.link).toMatchObject({ sequence: 1 });
    await new Promise((resolve) => setTimeout(resolve, 80));
    expect(await eventsIn(inner)).toHaveLength(1);
    expect(plan.seen).toHaveLength(2);
  });

  it("the second time either is left open, whatever the second answer says", async () => {
    const full = new Error("the disk is full");
    const { store, inner } = faulty([
      { method: "commit", nth: 1, when: "after", action: gone },
      { method: "commit", nth: 2, when: "before", action: { kind: "reject", error: full } },
    ]);
    await expect(store.commit(unitOf({ audit: "{}" }))).rejects.toBe(gone.error);
    expect(await eventsIn(inner)).toHaveLength(1);
  });

  it("is not sent a third time when the first answer is lost after the second", async () => {
    const first = { method: "commit", nth: 1, when: "before" } as const;
    const { store, plan } = faulty([
      { ...first, action: { kind: "hang" } },
      { ...first, action: gone },
      { ...first, nth: 2, action: gone },
    ]);
    await expect(store.commit(unitOf({}))).rejects.toThrow("did not answer");
    plan.release();
    await new Promise((resolve) => setImmediate(resolve));
    expect(plan.seen).toHaveLength(2);
  });

  it("but refuses is not sent again", async () => {
    const full = new Error("the disk is full");
    const { store, plan } = faulty([
      { method: "commit", when: "before", action: { kind: "reject", error: full } },
    ]);
    await expect(store.commit(unitOf({}))).rejects.toBe(full);
    expect(plan.seen).toHaveLength(1);
  });
});
