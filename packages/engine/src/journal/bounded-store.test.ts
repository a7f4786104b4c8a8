import { describe, expect, it } from "vitest";
import { createMemoryStore } from "../memory/index.ts";
import type { Store } from "../ports/store.ts";
import { FaultPlan, withFaults } from "../testing/faults.ts";
import {
  sampleApproval,
  sampleRevocation,
  sampleStandingGrant,
} from "../testing/store-contract-permit-samples.ts";
import {
  applied,
  queueing,
  sampleCallback,
  sampleIntent,
  unitOf,
} from "../testing/store-contract-samples.ts";
import { boundStore } from "./bounded-store.ts";

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
    ["tools.all", () => store.tools.all()],
    ["approvals.get", () => store.approvals.get("a")],
    ["approvals.ofCall", () => store.approvals.ofCall("a")],
    ["approvals.list", () => store.approvals.list({ limit: 1 })],
    ["approvals.order", () => store.approvals.order("a")],
    ["grants.get", () => store.grants.get("a")],
    ["grants.all", () => store.grants.all()],
    ["revocations.all", () => store.revocations.all()],
    ["queue.list", () => store.queue.list({ limit: 1 })],
    ["queue.order", () => store.queue.order("a")],
    ["callbacks.due", () => store.callbacks.due(1, 1)],
    ["callbacks.ofCall", () => store.callbacks.ofCall("a")],
  ];
}

describe("a store with an end to every wait", () => {
  it("counts as lost when it does not answer, whatever was asked (E3914)", async () => {
    const plan = new FaultPlan([{ method: "*", when: "before", action: { kind: "hang" } }]);
    const store = boundStore(withFaults(createMemoryStore(), plan), 20);
    const uses = usesOf(store);
    const settled = await Promise.allSettled(uses.map(([, use]) => use()));
    for (const [index, [name]] of uses.entries()) {
      expect(settled[index], name).toMatchObject({
        reason: { failure: { code: "E3914", details: { unanswered: true } } },
      });
    }
    expect(plan.seen.map(({ method }) => method)).toEqual(uses.map(([name]) => name));
    plan.release();
  });

  it("says what the store says while it answers", async () => {
    const store = boundStore(createMemoryStore(), 1_000);
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
    expect(await store.grants.all()).toEqual([grant]);
    expect(await store.revocations.all()).toEqual([revocation]);
  });

  it("says what the store says of accepted calls and callbacks", async () => {
    const store = boundStore(createMemoryStore(), 1_000);
    const [first, second] = [sampleIntent(), sampleIntent()];
    const callback = sampleCallback({ dueAt: 5 });
    await applied(store, { ...queueing(first), callbacks: [{ callback }] });
    await applied(store, queueing(second, { order: "{}" }));
    expect(await store.queue.list({ after: first.callId, limit: 9 })).toMatchObject([
      { callId: second.callId },
    ]);
    expect(await store.queue.order(second.callId)).toBe("{}");
    expect(await store.callbacks.due(5, 9)).toEqual([callback]);
    expect(await store.callbacks.due(4, 9)).toEqual([]);
    expect(await store.callbacks.ofCall(callback.callId)).toEqual(callback);
  });
});
