import { expect } from "vitest";
import { auditBody, StrandAnchors, verifyChain } from "../audit/index.ts";
import type { ApprovalRecord } from "../ports/approvals.ts";
import type { Callback, CallbackWrite, CallFilter, CallRecord } from "../ports/calls.ts";
import type { AuditLink, Store, UnitOfWork } from "../ports/store.ts";
import {
  applied,
  chainOf,
  failedClosing,
  linksOf,
  moved,
  opening,
  refusal,
  type StoreTest,
  sampleApproval,
  sampleCall,
  sampleCallback,
  sampleClosing,
  sampleIntent,
  sampleTool,
  unitOf,
} from "./store-samples.ts";

/** The journal is read by id, by key, and newest first through filters. */
export function callsContract(it: StoreTest): void {
  it("knows nothing of a call that never was", async ({ store }) => {
    expect(await store.calls.get("nobody")).toBeUndefined();
    expect(await store.calls.list({ limit: 10 })).toEqual([]);
  });

  it("lists newest first, filtered, within the limit, page after page", async ({ store }) => {
    const ids = await fill(store);
    const list = async (filter: Omit<CallFilter, "limit">, limit = 10) =>
      (await store.calls.list({ ...filter, limit })).map(({ callId }) => ids.indexOf(callId));
    expect(await list({})).toEqual([5, 4, 3, 2, 1, 0]);
    expect(await list({}, 2)).toEqual([5, 4]);
    const { startedAt } = sampleIntent();
    const before = (index: number) => ({ before: { at: startedAt, id: ids[index] ?? "" } });
    expect(await list(before(4), 2)).toEqual([3, 2]);
    expect(await list({ before: { at: startedAt, id: "" } })).toEqual([]);
    expect(await list({}, 0)).toEqual([]);
    expect(await list({ tenant: "other" })).toEqual([5, 3]);
    expect(await list({ tenant: "acme", agent: "agent-2" })).toEqual([4, 2]);
    expect(await list({ tenant: "acme", agent: "agent-2", ...before(4) })).toEqual([2]);
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
    expect(await list({ status: "timeout", tenant: "acme", ...before(5) })).toEqual([1]);
    expect(await list({ status: "success" })).toEqual([4, 3, 0]);
    expect(await list({ status: "success", phase: "closed", tool: "calc" })).toEqual([0]);
  });

  it("gives a pager each row that was there when it began once, whatever is committed meanwhile", async ({
    store,
  }) => {
    // As of processes that commit late what they began early.
    const calls = [40, 10, 50, 20, 10, 30, 60].map((startedAt) =>
      sampleIntent({ startedAt, phase: "waiting" }),
    );
    const questions = calls.map(({ startedAt }) => sampleApproval({ createdAt: startedAt }));
    for (const [n, open] of calls.entries())
      await applied(store, unitOf({ open, approvals: [{ record: questions[n] ?? sampleApproval() }] }));
    const met: (CallRecord | undefined)[] = [];
    const asked: (ApprovalRecord | undefined)[] = [];
    for (let n = 0; n < 7; n += 1) {
      const [last, answered] = [met.at(-1), asked.at(-1)];
      const before = last && { at: last.startedAt, id: last.callId };
      const behind = answered && { at: answered.createdAt, id: answered.approvalId };
      const [call] = await store.calls.list({ limit: 1, ...(before && { before }) });
      const [question] = await store.approvals.list({ limit: 1, ...(behind && { before: behind }) });
      met.push(call);
      asked.push(question);
      // Something new where the pager has been, and what it has seen and has not seen moves on.
      const open = sampleIntent({ startedAt: (call?.startedAt ?? 0) + 1 });
      const record = sampleApproval({ createdAt: open.startedAt });
      await applied(store, unitOf({ open, approvals: [{ record }] }));
      const change = moved(questions[n] ?? record, "approved");
      const begin = { ...(calls[n] ?? open), startedAt: 70 };
      await applied(store, unitOf({ begin, approvals: [{ record: change, expect: 1 }] }));
    }
    const byTime = [6, 2, 0, 5, 3, 4, 1];
    expect(met.map((call) => call?.callId)).toEqual(byTime.map((n) => calls[n]?.callId));
    expect(asked.map((one) => one?.approvalId)).toEqual(byTime.map((n) => questions[n]?.approvalId));
  });
}

async function fill(store: Store): Promise<string[]> {
  const late = (call: CallRecord) =>
    ({ ...call, phase: "closed", closing: failedClosing(call.callId, "timeout") }) as const;
  const calls = [
    sampleCall(),
    late(sampleIntent()),
    sampleIntent({ agent: "agent-2" }),
    sampleCall({ tenant: "other", tool: "files", agent: "agent-2" }),
    sampleCall({ tool: "files", agent: "agent-2" }),
    late(sampleIntent({ tenant: "other" })),
  ];
  for (const call of calls) await applied(store, opening(call));
  return calls.map(({ callId }) => callId);
}

const bodies = (count: number) =>
  Array.from({ length: count }, (_, n) => JSON.stringify({ n, odd: '"\u0000\u2028\n\u{1f600}' }));

/** Commits a unit for each body, in order. */
async function append(store: Store, texts: readonly string[], unit: Partial<UnitOfWork> = {}) {
  const links: (AuditLink | undefined)[] = [];
  for (const audit of texts) links.push((await applied(store, unitOf({ ...unit, audit }))).link);
  return links;
}

/** Units form one chain per tenant and strand, numbered from 1. */
export function auditContract(it: StoreTest): void {
  it("links units to their tenant's chain, in order, from 1 [R1-8.1] [L3-AUD-1] [D-17]", async ({
    store,
  }) => {
    const links = await append(store, bodies(5));
    const expected = chainOf(bodies(5));
    expect(await store.audit.read("acme", { strand: 0, after: 0, limit: 10 })).toEqual(expected);
    expect(links).toEqual(linksOf(expected));
    expect(await store.audit.heads("acme")).toEqual(links.slice(-1));
  });

  it("keeps the strands of a tenant apart, each a chain of its own [R1-8.1] [L3-AUD-1]", async ({
    store,
  }) => {
    await append(store, bodies(2), { strand: 11 });
    await append(store, bodies(3));
    await append(store, bodies(4), { strand: 2 });
    await append(store, bodies(4).slice(2), { strand: 11 });
    for (const [strand, count] of [
      [0, 3],
      [2, 4],
      [11, 4],
    ] as const) {
      const entries = await store.audit.read("acme", { strand, after: 0, limit: 10 });
      expect(entries).toEqual(chainOf(bodies(count), strand));
      expect(await store.audit.read("acme", { strand, after: 1, limit: 1 })).toEqual(entries.slice(1, 2));
    }
    const heads = [chainOf(bodies(3)), chainOf(bodies(4), 2), chainOf(bodies(4), 11)];
    expect(await store.audit.heads("acme")).toEqual(heads.flatMap((chain) => linksOf(chain).slice(-1)));
    expect(await store.audit.read("acme", { strand: 1, after: 0, limit: 10 })).toEqual([]);
    expect(await store.audit.tenants()).toEqual(["acme"]);
    expect(await store.audit.strands("acme")).toEqual([0, 2, 11]);
    expect((await store.audit.strays?.()) ?? []).toEqual([]);
  });

  it("keeps tenants apart", async ({ store }) => {
    await append(store, bodies(2));
    await append(store, bodies(1), { tenant: "other" });
    expect((await store.audit.tenants()).toSorted()).toEqual(["acme", "other"]);
    expect(await store.audit.heads("other")).toMatchObject([{ sequence: 1 }]);
    expect(await store.audit.heads("nobody")).toEqual([]);
    expect(await store.audit.read("nobody", { strand: 0, after: 0, limit: 10 })).toEqual([]);
  });

  it("is read from any sequence on, at most as many as asked for", async ({ store }) => {
    await append(store, bodies(6));
    await Promise.all(bodies(3).map((audit) => applied(store, unitOf({ audit }))));
    const read = async (after: number, limit: number) =>
      (await store.audit.read("acme", { strand: 0, after, limit })).map(({ sequence }) => sequence);
    expect(await read(0, 4)).toEqual([1, 2, 3, 4]);
    expect(await read(Number.NEGATIVE_INFINITY, 2)).toEqual([1, 2]);
    expect(await read(4, 2)).toEqual([5, 6]);
    expect(await read(6, 2)).toEqual([7, 8]);
    expect(await read(8, 100)).toEqual([9]);
    expect(await read(9, 100)).toEqual([]);
    expect(await read(0, 0)).toEqual([]);
  });

  it("is verified over all strands of a tenant, with their anchors [R1-8.1] [L3-AUD-1]", async ({
    store,
  }) => {
    const body = (n: number) => auditBody("acme", [`{"eventId":"${n}"}`]);
    const clock = { now: () => 5 };
    const ids = { next: () => "id" };
    for (const strand of [0, 1, 2]) await append(store, [body(1), body(2)], { strand });
    for (const strand of [0, 1, 2]) {
      const anchors = new StrandAnchors({ store, clock, ids, strand: () => strand });
      expect(await anchors.write()).toBe(1);
    }
    const strands = [0, 1, 2].map((strand) => ({ strand, sequence: 3, events: 3 }));
    expect(await verifyChain(store.audit, "acme")).toMatchObject({ strands, findings: [] });
  });

  it("gives no link to a unit without an audit body, and no chain to its tenant", async ({ store }) => {
    expect(await applied(store, unitOf({ strand: 1 }))).toEqual({ ok: true });
    expect(await store.audit.tenants()).toEqual([]);
  });
}

/** Tool versions are put once; afterwards only how they leave can change. */
export function toolsContract(it: StoreTest): void {
  it("take new retirement dates and keep the manifest they came with", async ({ store }) => {
    const record = sampleTool("calc", "1.0.0");
    await applied(store, unitOf({ tools: [{ record }] }));
    const retirement = { deprecatedAt: 5, replacement: "2.0.0", guidance: "Use 2.\u0000" };
    const manifest = { ...record.manifest, description: "Rewritten history" };
    await applied(
      store,
      unitOf({ tools: [{ record: { ...record, manifest, retirement, revision: 2 }, expect: 1 }] }),
    );
    expect((await store.tools.changedSince()).changed).toEqual([{ ...record, retirement, revision: 2 }]);
  });

  it("are put into quarantine and released, together with their retirement dates", async ({ store }) => {
    const quarantine = { at: 5, reason: "odd \u0000 \ud800", by: "sallyport", callId: "c" };
    const record = { ...sampleTool("calc", "1.0.0"), retirement: { deprecatedAt: 4 }, module: "/calc.ts" };
    const other = { ...sampleTool("zip", "1.0.0"), quarantine: { at: 1, reason: "No.", by: "ada" } };
    await applied(store, unitOf({ tools: [{ record }, { record: other }] }));
    const held = { ...record, quarantine, retirement: {}, revision: 2 };
    await applied(store, unitOf({ tools: [{ record: held, expect: 1 }] }));
    expect((await store.tools.changedSince()).changed).toEqual([held, other]);
    const released = { ...record, revision: 3 };
    await applied(store, unitOf({ tools: [{ record: released, expect: 2 }] }));
    expect((await store.tools.changedSince()).changed).toEqual([released, other]);
  });
}

const telling = (...callbacks: CallbackWrite[]) => unitOf({ callbacks, audit: "{}" });

/** The next delivery of it is under way. */
function tried(callback: Callback, fields: Partial<Callback> = {}): CallbackWrite {
  const { attempts } = callback;
  return { callback: { ...callback, attempts: attempts + 1, ...fields }, expect: attempts };
}

/** Whatever comes of a delivery is written on the attempt that made it. */
function settled(callback: Callback, fields: Partial<Callback>): CallbackWrite {
  return { callback: { ...callback, ...fields }, expect: callback.attempts };
}

/** Somebody is to be told how a call ended: each step of that is counted, and what is settled stays so. */
export function callbacksContract(it: StoreTest): void {
  it("is written together with the end of its call", async ({ store }) => {
    const call = sampleIntent({ callbackUrl: "https://example.com/done" });
    await applied(store, opening(call));
    const callback = sampleCallback({ callId: call.callId });
    const close = { callId: call.callId, phase: "closed", closing: sampleClosing(call.callId) } as const;
    await applied(store, unitOf({ close, callbacks: [{ callback }] }));
    expect(await store.calls.get(call.callId)).toMatchObject({ phase: "closed", callbackUrl: callback.url });
    expect(await store.callbacks.ofCall(call.callId)).toEqual(callback);
    expect(await store.callbacks.ofCall("nobody")).toBeUndefined();
  });

  it("moves on from the attempts its writer knows", async ({ store }) => {
    const callback = sampleCallback();
    await applied(store, telling({ callback }));
    const first = tried(callback, { dueAt: callback.dueAt + 1 });
    await applied(store, telling(first));
    const failed = settled(first.callback, { problem: "no answer", dueAt: callback.dueAt + 2 });
    await applied(store, telling(failed));
    expect(await store.callbacks.ofCall(callback.callId)).toEqual(failed.callback);
    const second = tried(failed.callback);
    const done = { ...second.callback, state: "delivered" as const };
    delete done.problem;
    await applied(store, telling(second, { callback: done, expect: 2 }));
    expect(await store.callbacks.ofCall(callback.callId)).toEqual(done);
  });

  it("is refused when it is there already, is not there, or has moved on, with all of the unit", async ({
    store,
  }) => {
    const [callback, other] = [sampleCallback(), sampleCallback()];
    await applied(store, telling({ callback }));
    const first = tried(callback);
    await applied(store, telling(first));
    const conflict = { kind: "callback", callId: callback.callId };
    expect(await refusal(store, telling({ callback: other }, { callback }))).toEqual(conflict);
    expect(await refusal(store, telling({ callback: other }, tried(callback)))).toEqual(conflict);
    const early = tried({ ...callback, attempts: 2 });
    expect(await refusal(store, { ...opening(sampleIntent()), callbacks: [early] })).toEqual(conflict);
    const never = { kind: "callback", callId: other.callId };
    expect(await refusal(store, telling(tried(other)))).toEqual(never);
    expect(await refusal(store, telling({ callback: other }, { callback: other }))).toEqual(never);
    expect(await store.callbacks.ofCall(callback.callId)).toEqual(first.callback);
    expect(await store.callbacks.ofCall(other.callId)).toBeUndefined();
    expect(await store.calls.list({ limit: 9 })).toEqual([]);
    expect(await store.audit.heads("acme")).toMatchObject([{ sequence: 2 }]);
  });

  it.for(["delivered", "given_up"] as const)(
    "is not taken up again once it is %s",
    async (state, { store }) => {
      const callback = sampleCallback({ attempts: 1 });
      await applied(store, telling({ callback }));
      const over = settled(callback, { state });
      await applied(store, telling(over));
      const conflict = { kind: "callback", callId: callback.callId };
      expect(await refusal(store, telling(tried(callback)))).toEqual(conflict);
      expect(await refusal(store, telling(over))).toEqual(conflict);
      expect(await store.callbacks.ofCall(callback.callId)).toEqual(over.callback);
    },
  );

  it("is a mistake when it counts backwards, and nothing of the unit is kept", async ({ store }) => {
    const callback = sampleCallback({ attempts: 2 });
    await applied(store, telling({ callback }));
    const back = { callback: { ...callback, attempts: 1 }, expect: 2 };
    await expect(store.commit(telling(back))).rejects.toThrow(/attempts/);
    const below = { callback: sampleCallback({ attempts: -1 }) };
    await expect(store.commit(telling(below))).rejects.toThrow(/attempts/);
    expect(await store.callbacks.ofCall(callback.callId)).toEqual(callback);
    expect(await store.audit.heads("acme")).toMatchObject([{ sequence: 1 }]);
  });
}
