import { describe, expect, it } from "vitest";
import type { CallFilter } from "../ports/calls.ts";
import type { Store } from "../ports/store.ts";
import type { OpenFixture } from "./store-contract.ts";
import { applied, failedClosing, opening, sampleCall, sampleIntent } from "./store-contract-samples.ts";

/** The journal is read by id, by key, and newest first through filters. */
export function callsContract(open: OpenFixture): void {
  describe("the journal", () => {
    it("knows nothing of a call that never was", async () => {
      const { store } = await open();
      expect(await store.calls.get("nobody")).toBeUndefined();
      expect(await store.calls.list({ limit: 10 })).toEqual([]);
    });

    it("keeps every field of a record, and only those it has", async () => {
      const { store } = await open();
      const full = sampleIntent({
        user: "ada",
        session: "s",
        idempotencyKey: "k",
        attempt: 3,
        owner: "run-9",
        callbackUrl: "https://example.com/done?a=\u0000",
        asyncMode: true,
        priority: "high",
      });
      await applied(store, opening(full));
      expect(await store.calls.get(full.callId)).toEqual(full);
    });

    it("keeps its own copy: a later change of what was given or read changes nothing", async () => {
      const { store } = await open();
      const call = sampleCall();
      await applied(store, opening(call));
      const before = structuredClone(await store.calls.get(call.callId));
      if (call.closing) call.closing.answer.warnings.push({ code: "X", message: "later" });
      (await store.calls.get(call.callId))?.closing?.answer.warnings.push({ code: "Y", message: "later" });
      expect(await store.calls.get(call.callId)).toEqual(before);
    });

    it("lists newest first, filtered, within the limit, page after page", async () => {
      const { store } = await open();
      const ids = await fill(store);
      const list = async (filter: Omit<CallFilter, "limit">, limit = 10) =>
        (await store.calls.list({ ...filter, limit })).map(({ callId }) => ids.indexOf(callId));
      expect(await list({})).toEqual([5, 4, 3, 2, 1, 0]);
      expect(await list({}, 2)).toEqual([5, 4]);
      expect(await list({ before: ids[4] ?? "" }, 2)).toEqual([3, 2]);
      expect(await list({ before: "nobody" })).toEqual([]);
      expect(await list({}, 0)).toEqual([]);
      expect(await list({ tenant: "other" })).toEqual([5, 3]);
      expect(await list({ tenant: "acme", agent: "agent-2" })).toEqual([4, 2]);
      expect(await list({ tenant: "acme", agent: "agent-2", before: ids[4] ?? "" })).toEqual([2]);
      expect(await list({ tenant: "acme", agent: "agent-2", tool: "files" }, 1)).toEqual([4]);
      expect(await list({ tenant: "acme", agent: "agent-2", phase: "executing" })).toEqual([2]);
      expect(await list({ tenant: "acme", agent: "agent-2", status: "timeout" })).toEqual([]);
      expect(await list({ tenant: "other", agent: "agent-2" })).toEqual([3]);
      expect(await list({ agent: "agent-2" })).toEqual([4, 3, 2]);
      expect(await list({ agent: "agent-2", tool: "calc" })).toEqual([2]);
      expect(await list({ agent: "nobody", tenant: "acme" })).toEqual([]);
      expect(await list({ tool: "files" })).toEqual([4, 3]);
      expect(await list({ tool: "files", tenant: "other" })).toEqual([3]);
      expect(await list({ phase: "executing" })).toEqual([2]);
      expect(await list({ phase: "executing", tenant: "other" })).toEqual([]);
      expect(await list({ phase: "closed" }, 2)).toEqual([5, 4]);
      expect(await list({ status: "timeout" })).toEqual([5, 1]);
      expect(await list({ status: "timeout", tenant: "acme", before: ids[5] ?? "" })).toEqual([1]);
      expect(await list({ status: "success" })).toEqual([4, 3, 0]);
      expect(await list({ status: "success", phase: "closed", tool: "calc" })).toEqual([0]);
    });
  });
}

async function fill(store: Store): Promise<string[]> {
  const late = sampleIntent();
  const slow = sampleIntent({ tenant: "other" });
  const calls = [
    sampleCall(),
    { ...late, phase: "closed" as const, closing: failedClosing(late.callId, "timeout") },
    sampleIntent({ agent: "agent-2" }),
    sampleCall({ tenant: "other", tool: "files", agent: "agent-2" }),
    sampleCall({ tool: "files", agent: "agent-2" }),
    { ...slow, phase: "closed" as const, closing: failedClosing(slow.callId, "timeout") },
  ];
  for (const call of calls) await applied(store, opening(call));
  return calls.map(({ callId }) => callId);
}
