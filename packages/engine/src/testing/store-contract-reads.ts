import { describe, expect } from "vitest";
import { GENESIS, linkAll } from "../audit/index.ts";
import type { CallFilter } from "../ports/calls.ts";
import type { OutboxMessage, Store } from "../ports/store.ts";
import {
  applied,
  failedClosing,
  opening,
  type StoreTest,
  sampleCall,
  sampleIntent,
  sampleTool,
  unitOf,
} from "./store-samples.ts";

/** The journal is read by id, by key, and newest first through filters. */
export function callsContract(it: StoreTest): void {
  describe("the journal", () => {
    it("knows nothing of a call that never was", async ({ store }) => {
      expect(await store.calls.get("nobody")).toBeUndefined();
      expect(await store.calls.list({ limit: 10 })).toEqual([]);
    });

    it("keeps every field of a record, and only those it has", async ({ store }) => {
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

    it("lists newest first, filtered, within the limit, page after page", async ({ store }) => {
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

const bodies = (count: number, from = 0) =>
  Array.from({ length: count }, (_, index) =>
    JSON.stringify({ n: from + index, odd: '"\u0000\u2028\n\u{1f600}' }),
  );

/** Events form one chain per tenant, numbered from 1. */
export function auditContract(it: StoreTest): void {
  describe("the audit record", () => {
    it("links events to their tenant's chain, in order, from 1 [R1-8.1]", async ({ store }) => {
      const first = await applied(store, unitOf({ events: bodies(3) }));
      const second = await applied(store, unitOf({ events: bodies(2, 3) }));
      const expected = linkAll(GENESIS, bodies(5));
      expect(await store.audit.read("acme", { after: 0, limit: 10 })).toEqual(expected);
      const links = expected.map(({ sequence, hash }) => ({ sequence, hash }));
      expect([first.link, second.link]).toEqual([links[2], links[4]]);
      expect(await store.audit.head("acme")).toEqual(links[4]);
    });

    it("keeps tenants apart", async ({ store }) => {
      await applied(store, unitOf({ events: bodies(2) }));
      await applied(store, unitOf({ tenant: "other", events: bodies(1) }));
      expect((await store.audit.tenants()).toSorted()).toEqual(["acme", "other"]);
      expect(await store.audit.head("other")).toMatchObject({ sequence: 1 });
      expect(await store.audit.head("nobody")).toBeUndefined();
      expect(await store.audit.read("nobody", { after: 0, limit: 10 })).toEqual([]);
    });

    it("is read from any sequence on, at most as many as asked for", async ({ store }) => {
      for (const from of [0, 3, 6]) await applied(store, unitOf({ events: bodies(3, from) }));
      const read = async (after: number, limit: number) =>
        (await store.audit.read("acme", { after, limit })).map(({ sequence }) => sequence);
      expect(await read(0, 4)).toEqual([1, 2, 3, 4]);
      expect(await read(4, 2)).toEqual([5, 6]);
      expect(await read(8, 100)).toEqual([9]);
      expect(await read(9, 100)).toEqual([]);
      expect(await read(0, 0)).toEqual([]);
    });

    it("gives no link to a unit without events, and no chain to its tenant", async ({ store }) => {
      expect(await applied(store, unitOf({}))).toEqual({ ok: true });
      expect(await store.audit.tenants()).toEqual([]);
    });
  });
}

const invoked = (callId: string): OutboxMessage => ({ callId, type: "tool.invoked" });
const succeeded = (callId: string): OutboxMessage => ({ callId, type: "tool.succeeded" });

/** Messages wait, oldest first, until they are said to be delivered. */
export function outboxContract(it: StoreTest): void {
  describe("the outbox", () => {
    it("keeps messages in order until they are delivered [L3-AUD-1]", async ({ store }) => {
      await applied(store, unitOf({ outbox: [invoked("a"), succeeded("a b\u0000")] }));
      await applied(store, unitOf({ outbox: [invoked("c")] }));
      const pending = await store.outbox.pending(10);
      expect(pending.map(({ callId, type }) => ({ callId, type }))).toEqual([
        invoked("a"),
        succeeded("a b\u0000"),
        invoked("c"),
      ]);
      const positions = pending.map(({ position }) => position);
      expect(positions).toEqual(positions.toSorted((one, other) => one - other));
      expect(new Set(positions).size).toBe(3);
    });

    it("forgets up to a position and no further, wherever it falls", async ({ store }) => {
      const ids = ["a", "b", "c", "d", "e"];
      await applied(store, unitOf({ outbox: ids.slice(0, 3).map(invoked) }));
      await applied(store, unitOf({ outbox: ids.slice(3).map(invoked) }));
      for (const [index, { position }] of (await store.outbox.pending(10)).entries()) {
        await store.outbox.delivered(position);
        const left = (await store.outbox.pending(10)).map(({ callId }) => callId);
        expect(left).toEqual(ids.slice(index + 1));
      }
    });

    it("never gives a position twice, and takes an old position for nothing new", async ({ store }) => {
      await applied(store, unitOf({ outbox: [invoked("a"), invoked("b")] }));
      const last = (await store.outbox.pending(10)).at(-1)?.position ?? 0;
      await store.outbox.delivered(last);
      await applied(store, unitOf({ outbox: [invoked("c")] }));
      await store.outbox.delivered(last);
      const [left, ...more] = await store.outbox.pending(10);
      expect(left).toMatchObject(invoked("c"));
      expect(left?.position).toBeGreaterThan(last);
      expect(more).toEqual([]);
    });

    it("gives at most as many as asked for", async ({ store }) => {
      await applied(store, unitOf({ outbox: ["a", "b", "c"].map(invoked) }));
      expect((await store.outbox.pending(2)).map(({ callId }) => callId)).toEqual(["a", "b"]);
      expect(await store.outbox.pending(0)).toEqual([]);
    });
  });
}

/** Tool versions are put once; afterwards only how they leave can change. */
export function toolsContract(it: StoreTest): void {
  describe("tool versions", () => {
    it("are kept whole, in the order they were registered", async ({ store }) => {
      const records = [
        sampleTool("calc", "1.0.0"),
        { ...sampleTool("zip", "0.1.0"), module: "/tools/zip.ts" },
        sampleTool("calc", "1.1.0"),
      ];
      await applied(store, unitOf({ tools: records.slice(0, 2).map((record) => ({ record })) }));
      await applied(store, unitOf({ tools: records.slice(2).map((record) => ({ record })) }));
      expect(await store.tools.all()).toEqual(records);
    });

    it("take new retirement dates and keep the manifest they came with", async ({ store }) => {
      const record = sampleTool("calc", "1.0.0");
      await applied(store, unitOf({ tools: [{ record }] }));
      const retirement = { deprecatedAt: 5, replacement: "2.0.0", guidance: "Use 2.\u0000" };
      const manifest = { ...record.manifest, description: "Rewritten history" };
      await applied(store, unitOf({ tools: [{ record: { ...record, manifest, retirement } }] }));
      expect(await store.tools.all()).toEqual([{ ...record, retirement }]);
    });

    it("are put into quarantine and released, together with their retirement dates", async ({ store }) => {
      const quarantine = { at: 5, reason: "odd \u0000 \ud800", by: "sallyport", callId: "c" };
      const record = { ...sampleTool("calc", "1.0.0"), retirement: { deprecatedAt: 4 }, module: "/calc.ts" };
      const other = { ...sampleTool("zip", "1.0.0"), quarantine: { at: 1, reason: "No.", by: "ada" } };
      await applied(store, unitOf({ tools: [{ record }, { record: other }] }));
      const held = { ...record, quarantine, retirement: {} };
      await applied(store, unitOf({ tools: [{ record: held }] }));
      expect(await store.tools.all()).toEqual([held, other]);
      await applied(store, unitOf({ tools: [{ record }] }));
      expect(await store.tools.all()).toEqual([record, other]);
    });
  });
}
