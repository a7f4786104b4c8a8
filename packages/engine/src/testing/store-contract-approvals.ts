import { describe, expect, it } from "vitest";
import type { ApprovalFilter, ApprovalRecord, ApprovalWrite } from "../ports/approvals.ts";
import type { Store, UnitOfWork } from "../ports/store.ts";
import type { OpenFixture } from "./store-contract.ts";
import { moved, sampleApproval } from "./store-contract-permit-samples.ts";
import { applied, refusal, unitOf } from "./store-contract-samples.ts";

/** Approvals change only by a write made on their newest revision; their orders are kept apart and can be forgotten. */
export function approvalsContract(open: OpenFixture): void {
  describe("approvals", () => {
    keepingTests(open);
    revisionTests(open);
    mistakeTests(open);
    orderTests(open);
    readingTests(open);
  });
}

/** Writes approvals in one unit, with one event. */
const asking = (...approvals: ApprovalWrite[]): UnitOfWork => unitOf({ approvals, events: ["{}"] });

const change = (record: ApprovalRecord, more: Partial<ApprovalWrite> = {}): ApprovalWrite => ({
  record,
  expect: record.revision - 1,
  ...more,
});

const events = async (store: Store) => (await store.audit.head("acme"))?.sequence ?? 0;

function keepingTests(open: OpenFixture): void {
  it("are unknown until they are written", async () => {
    const { store } = await open();
    expect(await store.approvals.get("nobody")).toBeUndefined();
    expect(await store.approvals.ofCall("nobody")).toBeUndefined();
    expect(await store.approvals.order("nobody")).toBeUndefined();
    expect(await store.approvals.list({ limit: 9 })).toEqual([]);
  });

  it("are kept whole, odd text included, and only what they have [FR-APR-03]", async () => {
    const { store } = await open();
    const odd = 'a\u0000b "\\ \uffff \u{1f600} \u2028 \ud800';
    const plain = sampleApproval();
    const full = sampleApproval({
      user: odd,
      session: odd,
      input: { [odd]: [1e308, null, odd] },
      effects: { files: [odd] },
      votes: [{ by: odd, level: 1, at: 5, digest: "d", comment: odd }],
    });
    await applied(store, asking({ record: plain }, { record: full }));
    expect(await store.approvals.get(plain.approvalId)).toEqual(plain);
    expect(await store.approvals.get(full.approvalId)).toEqual(full);
  });

  it("are the store's own: a later change of what was given or read changes nothing", async () => {
    const { store } = await open();
    const record = sampleApproval();
    const before = structuredClone(record);
    await applied(store, asking({ record }));
    record.rules.push("later");
    const read = await store.approvals.get(record.approvalId);
    read?.levels.push({ level: 2, approvers: ["mallory"], timeoutMs: 1 });
    const [listed] = await store.approvals.list({ limit: 1 });
    if (listed) listed.standing = { state: "approved", at: 1 };
    expect(await store.approvals.get(record.approvalId)).toEqual(before);
  });
}

function revisionTests(open: OpenFixture): void {
  it("are written once under one id", async () => {
    const { store } = await open();
    const record = sampleApproval();
    await applied(store, asking({ record }));
    const again = { record: sampleApproval({ approvalId: record.approvalId, reason: "Other." }), order: "x" };
    const conflict = { kind: "approval", approvalId: record.approvalId };
    expect(await refusal(store, asking(again))).toEqual(conflict);
    expect(await store.approvals.get(record.approvalId)).toEqual(record);
    expect(await store.approvals.order(record.approvalId)).toBeUndefined();
    expect(await events(store)).toBe(1);
  });

  it("change when the writer knows the newest revision, and only then [FR-APR-03]", async () => {
    const { store } = await open();
    const first = sampleApproval();
    await applied(store, asking({ record: first }));
    const approved = moved(first, "approved");
    await applied(store, asking(change(approved)));
    expect(await store.approvals.get(first.approvalId)).toEqual(approved);
    const conflict = { kind: "approval", approvalId: first.approvalId };
    expect(await refusal(store, asking(change(moved(first, "denied"))))).toEqual(conflict);
    const ahead = moved({ ...approved, revision: 3 }, "denied");
    expect(await refusal(store, asking(change(ahead)))).toEqual(conflict);
    expect(await store.approvals.get(first.approvalId)).toEqual(approved);
    expect(await events(store)).toBe(2);
  });

  it("do not come into being by a change", async () => {
    const { store } = await open();
    const record = moved(sampleApproval(), "approved");
    const conflict = { kind: "approval", approvalId: record.approvalId };
    expect(await refusal(store, asking(change(record)))).toEqual(conflict);
    expect(await store.approvals.get(record.approvalId)).toBeUndefined();
  });

  it("follow each other within a unit", async () => {
    const { store } = await open();
    const first = sampleApproval();
    const second = moved(first, "approved");
    const third = moved(second, "reserved");
    await applied(store, asking({ record: first, order: "{}" }, change(second), change(third)));
    expect(await store.approvals.get(first.approvalId)).toEqual(third);
    expect(await store.approvals.order(first.approvalId)).toBe("{}");
  });

  it("refuse a unit whole when one of its writes comes too late", async () => {
    const { store } = await open();
    const [first, other, fresh] = [sampleApproval(), sampleApproval(), sampleApproval()];
    await applied(store, asking({ record: first, order: "kept" }, { record: other }));
    const unit = asking(
      { record: fresh, order: "new" },
      change(moved(first, "approved"), { order: null }),
      change(moved(other, "approved")),
      change(moved(first, "denied")),
    );
    expect(await refusal(store, unit)).toEqual({ kind: "approval", approvalId: first.approvalId });
    const left = await store.approvals.list({ limit: 9 });
    expect(left).toEqual([other, first]);
    expect(await store.approvals.order(first.approvalId)).toBe("kept");
    expect(await events(store)).toBe(1);
  });
}

function mistakeTests(open: OpenFixture): void {
  it.each([
    ["a new one that is not the first", { revision: 2 }, undefined],
    ["a change that keeps its revision", { revision: 1 }, 1],
    ["a change that skips one", { revision: 3 }, 1],
    ["a change on no number", { revision: 2 }, Number.NaN],
  ])("reject %s, and nothing of its unit is kept", async (_, fields, expected) => {
    const { store } = await open();
    const record = sampleApproval();
    await applied(store, asking({ record }));
    const wrong = { ...record, ...fields, approvalId: expected === undefined ? "new" : record.approvalId };
    const write = { record: wrong, ...(expected !== undefined && { expect: expected }) };
    const unit = asking({ record: sampleApproval({ approvalId: "beside" }) }, write);
    await expect(store.commit(unit)).rejects.toThrow(/revision/);
    expect(await store.approvals.list({ limit: 9 })).toEqual([record]);
    expect(await events(store)).toBe(1);
  });
}

function orderTests(open: OpenFixture): void {
  it("keep the order apart from the record, until it is replaced or forgotten", async () => {
    const { store } = await open();
    const first = sampleApproval();
    const order = '{"secret":"hunter2 \\u0000 \u0000 \u{1f600}"}';
    const kept = () => store.approvals.order(first.approvalId);
    await applied(store, asking({ record: first, order }));
    expect(await kept()).toBe(order);
    const second = moved(first, "edited");
    await applied(store, asking(change(second)));
    expect(await kept()).toBe(order);
    const third = moved(second, "reserved");
    await applied(store, asking(change(third, { order: "" })));
    expect(await kept()).toBe("");
    await applied(store, asking(change(moved(third, "consumed"), { order: null })));
    expect(await kept()).toBeUndefined();
  });

  it("show the order nowhere else", async () => {
    const { store } = await open();
    const record = sampleApproval();
    await applied(store, asking({ record, order: "hunter2" }));
    const { get, ofCall, list } = store.approvals;
    const shown = [await get(record.approvalId), await ofCall(record.callId), ...(await list({ limit: 9 }))];
    expect(shown).toEqual([record, record, record]);
  });

  it("may come without an order, and get one later", async () => {
    const { store } = await open();
    const [none, forgotten] = [sampleApproval(), sampleApproval()];
    await applied(store, asking({ record: none }, { record: forgotten, order: null }));
    expect(await store.approvals.order(none.approvalId)).toBeUndefined();
    expect(await store.approvals.order(forgotten.approvalId)).toBeUndefined();
    await applied(store, asking(change(moved(none, "edited"), { order: "{}" })));
    expect(await store.approvals.order(none.approvalId)).toBe("{}");
  });
}

function readingTests(open: OpenFixture): void {
  it("are listed newest first, by tenant and state, page after page", async () => {
    const { store } = await open();
    const ids = await fill(store);
    const list = async (filter: Omit<ApprovalFilter, "limit">, limit = 10) =>
      (await store.approvals.list({ ...filter, limit })).map(({ approvalId }) => ids.indexOf(approvalId));
    expect(await list({})).toEqual([5, 4, 3, 2, 1, 0]);
    expect(await list({}, 2)).toEqual([5, 4]);
    expect(await list({}, 0)).toEqual([]);
    expect(await list({ before: ids[4] ?? "" }, 2)).toEqual([3, 2]);
    expect(await list({ before: "nobody" })).toEqual([]);
    expect(await list({ tenant: "other" })).toEqual([5, 3]);
    expect(await list({ tenant: "other", before: ids[5] ?? "" })).toEqual([3]);
    expect(await list({ states: ["pending"] })).toEqual([5, 4, 2]);
    expect(await list({ states: ["approved", "pending", "pending"] }, 3)).toEqual([5, 4, 2]);
    expect(await list({ states: ["approved", "pending"], before: ids[2] ?? "" })).toEqual([0]);
    expect(await list({ states: ["pending"], tenant: "acme", before: ids[5] ?? "" }, 1)).toEqual([4]);
    expect(await list({ states: ["denied"] })).toEqual([3, 1]);
    expect(await list({ states: ["denied", "pending"], tenant: "other" })).toEqual([5, 3]);
    expect(await list({ states: ["void"] })).toEqual([]);
    expect(await list({ states: [] })).toEqual([]);
  });

  it("are found by their call, the newest when there are several", async () => {
    const { store } = await open();
    const first = sampleApproval();
    const second = sampleApproval({ callId: first.callId });
    await applied(store, asking({ record: first }));
    await applied(store, asking({ record: second }, { record: sampleApproval() }));
    await applied(store, asking(change(moved(first, "void"))));
    expect(await store.approvals.ofCall(first.callId)).toEqual(second);
  });
}

/** Six approvals; two of them have been denied and one approved since, out of order. */
async function fill(store: Store): Promise<string[]> {
  const records = ["acme", "acme", "acme", "other", "acme", "other"].map((tenant) =>
    sampleApproval({ tenant }),
  );
  for (const record of records) await applied(store, asking({ record }));
  for (const [index, state] of [
    [3, "denied"],
    [0, "approved"],
    [1, "denied"],
  ] as const) {
    const record = records[index];
    if (record) await applied(store, asking(change(moved(record, state))));
  }
  return records.map(({ approvalId }) => approvalId);
}
