import { describe, expect, it } from "vitest";
import type { StateWrites } from "../ports/state.ts";
import { storeContract } from "../testing/store-contract.ts";
import {
  applied,
  contentsOf,
  opening,
  queueing,
  sampleApproval,
  sampleCall,
  sampleCallback,
  sampleIntent,
  unitOf,
} from "../testing/store-samples.ts";
import { createMemoryStore } from "./store.ts";

storeContract("the memory store", async () => {
  let now = 1_767_225_600_000;
  const store = createMemoryStore({ clock: { now: () => now } });
  const advance = (ms: number) => {
    now += ms;
  };
  return { store, advance, dispose: () => store.close() };
});

describe("a bounded memory store", () => {
  it("forgets the oldest closed calls and their keys, never an open one", async () => {
    const store = createMemoryStore({ maxClosedCalls: 10 });
    const open = sampleIntent();
    await applied(store, opening(open));
    const calls = Array.from({ length: 50 }, (_, index) => sampleCall({ idempotencyKey: `k${index}` }));
    for (const call of calls) await applied(store, opening(call));
    const left = await store.calls.list({ limit: 100 });
    expect(left.length).toBeLessThanOrEqual(12);
    expect(left[0]?.callId).toBe(calls[49]?.callId);
    expect(left.at(-1)?.callId).toBe(open.callId);
    expect((await applied(store, opening(sampleCall({ idempotencyKey: "k0" })))).ok).toBe(true);
    expect(await store.audit.read("acme", { strand: 0, after: 0, limit: 100 })).toHaveLength(52);
  });

  it("forgets the approvals of the calls it forgets, and no others", async () => {
    const store = createMemoryStore({ maxClosedCalls: 10 });
    const waiting = sampleIntent({ phase: "waiting" });
    const asked = sampleApproval({ callId: waiting.callId });
    await applied(store, { ...opening(waiting), approvals: [{ record: asked, order: "{}" }] });
    const records = Array.from({ length: 50 }, () => sampleApproval());
    for (const record of records) {
      const unit = opening(sampleCall({ callId: record.callId }));
      await applied(store, { ...unit, approvals: [{ record, order: "{}" }] });
    }
    const left = await store.approvals.list({ limit: 100 });
    expect(left.length).toBeLessThanOrEqual(12);
    expect([left[0], left.at(-1)]).toEqual([records[49], asked]);
    expect(await store.approvals.ofCall(records[0]?.callId ?? "")).toBeUndefined();
    expect(await store.approvals.order(records[0]?.approvalId ?? "")).toBeUndefined();
  });

  it("forgets the callbacks of the calls it forgets, and never a queued call", async () => {
    const store = createMemoryStore({ maxClosedCalls: 10 });
    const queued = sampleIntent({ phase: "queued" });
    await applied(store, queueing(queued));
    const calls = Array.from({ length: 50 }, () => sampleCall());
    for (const call of calls) {
      const callback = sampleCallback({ callId: call.callId });
      await applied(store, { ...opening(call), callbacks: [{ callback }] });
    }
    const left = await store.calls.list({ phase: "closed", limit: 100 });
    expect((await contentsOf(store)).callbacks).toHaveLength(left.length);
    expect(await store.callbacks.ofCall(calls[0]?.callId ?? "")).toBeUndefined();
    expect(await store.queue.order(queued.callId)).toBeDefined();
  });

  it("forgets the oldest audit entries and keeps their numbers and its head", async () => {
    const store = createMemoryStore({ maxAuditEntries: 10 });
    for (let index = 0; index < 50; index += 1) await applied(store, unitOf({ audit: "{}" }));
    const left = await store.audit.read("acme", { strand: 0, after: 0, limit: 100 });
    expect(left.length).toBeLessThanOrEqual(11);
    expect(left.at(-1)?.sequence).toBe(50);
    expect(await store.audit.read("acme", { strand: 0, after: 48, limit: 100 })).toHaveLength(2);
    expect(await store.audit.heads("acme")).toMatchObject([{ sequence: 50 }]);
  });

  it("applies nothing of a unit that cannot be kept", async () => {
    const store = createMemoryStore();
    const scope = { tenant: "acme", tool: "calc" };
    // @ts-expect-error a value that is not JSON, as a defect elsewhere might hand over
    const writes: StateWrites["writes"] = [{ key: "k", value: 1n }];
    const unit = unitOf({ audit: "{}", state: { scope, callId: "c", snapshotVersion: 0, writes } });
    await expect(store.commit(unit)).rejects.toThrow(TypeError);
    expect(await store.audit.heads("acme")).toEqual([]);
  });
});
