import { expect } from "vitest";
import type { ApprovalFilter, ApprovalRecord, ApprovalWrite } from "../ports/approvals.ts";
import type { Store, UnitOfWork } from "../ports/store.ts";
import {
  applied,
  approvedCall,
  consuming,
  contentsOf,
  moved,
  queueing,
  refusal,
  type StoreTest,
  sampleApproval,
  sampleCallback,
  sampleIntent,
  sampleRevocation,
  sampleStandingGrant,
  sampleTool,
  unitOf,
} from "./store-samples.ts";

const SCOPE = { tenant: "acme", tool: "calc" };

/** A yes and the call it lets through become durable together: once, or not at all. */
export function consentContract(it: StoreTest): void {
  it("go on together [FR-APR-03]", async ({ store }) => {
    const both = await approvedCall(store);
    await applied(store, consuming(both, "run-2"));
    expect(await store.calls.get(both.call.callId)).toMatchObject({ phase: "executing", owner: "run-2" });
    expect(await store.approvals.ofCall(both.call.callId)).toEqual(moved(both.approved, "consumed"));
    expect(await store.approvals.order(both.approved.approvalId)).toBeUndefined();
  });

  it("stay as they are when any part of the unit is refused", async ({ store }) => {
    const both = await approvedCall(store);
    const known = sampleStandingGrant();
    const state = { scope: SCOPE, callId: "c", snapshotVersion: 0, writes: [{ key: "n", value: 1 }] };
    await applied(store, unitOf({ grants: [{ record: known }], state }));
    const before = await contentsOf(store);
    const callback = sampleCallback({ callId: both.call.callId, attempts: 3 });
    const unit: UnitOfWork = {
      ...consuming(both, "run-2"),
      tools: [{ record: sampleTool("calc", "1.0.0") }],
      grants: [{ record: sampleStandingGrant() }],
      grantUses: [{ grantId: known.grantId, at: 5 }],
      revocations: [sampleRevocation()],
      callbacks: [{ callback }],
    };
    const late = { record: { ...moved(both.approved, "denied"), revision: 2 }, expect: 1 };
    const refused: [UnitOfWork, object][] = [
      [{ ...unit, open: both.call }, { kind: "duplicate_call" }],
      [{ ...unit, begin: sampleIntent() }, { kind: "not_waiting" }],
      [{ ...unit, close: { callId: "nobody", phase: "unknown" } }, { kind: "not_open" }],
      [{ ...queueing(sampleIntent()), close: { callId: "nobody", phase: "unknown" } }, { kind: "not_open" }],
      [
        { ...unit, approvals: [late] },
        { kind: "approval", approvalId: both.approved.approvalId },
      ],
      [
        { ...unit, grants: [{ record: known }] },
        { kind: "grant", grantId: known.grantId },
      ],
      [
        { ...unit, callbacks: [{ callback, expect: 3 }] },
        { kind: "callback", callId: callback.callId },
      ],
      [
        { ...unit, state },
        { kind: "state", keys: ["n"] },
      ],
    ];
    for (const [one, conflict] of refused) {
      expect(await refusal(store, one)).toEqual(conflict);
      expect(await contentsOf(store)).toEqual(before);
      expect(await store.approvals.order(both.approved.approvalId)).toBe("{}");
    }
    await applied(store, unit);
  });

  it("name the conflict of the call before the approval's, the grant's, the callback's, the state's", async ({
    store,
  }) => {
    const both = await approvedCall(store);
    const grant = sampleStandingGrant();
    const state = { scope: SCOPE, callId: "c", snapshotVersion: 0, writes: [{ key: "n", value: 1 }] };
    const callbacks = [{ callback: sampleCallback() }];
    const unit = { ...consuming(both, "run-2"), grants: [{ record: grant }], callbacks, state };
    await applied(store, unit);
    const kinds: string[] = [];
    const { begin: _, approvals: __, grants: ___, callbacks: ____, ...rest } = unit;
    for (const one of [
      { ...unit, open: both.call },
      { ...unit, close: { callId: "nobody", phase: "unknown" as const } },
      { ...rest, approvals: unit.approvals ?? [], grants: unit.grants, callbacks },
      { ...rest, grants: unit.grants, callbacks },
      { ...rest, callbacks },
      rest,
    ]) {
      kinds.push((await refusal(store, one)).kind);
    }
    expect(kinds).toEqual(["duplicate_call", "not_waiting", "approval", "grant", "callback", "state"]);
  });
}

/** Writes approvals in one unit, with one event. */
const asking = (...approvals: ApprovalWrite[]): UnitOfWork => unitOf({ approvals, audit: "{}" });

const change = (record: ApprovalRecord, more: Partial<ApprovalWrite> = {}): ApprovalWrite => ({
  record,
  expect: record.revision - 1,
  ...more,
});

/** Approvals change only by a write made on their newest revision; their orders are kept apart and can be forgotten. */
export function approvalsContract(it: StoreTest): void {
  it("are unknown until they are written", async ({ store }) => {
    expect(await store.approvals.get("nobody")).toBeUndefined();
    expect(await store.approvals.ofCall("nobody")).toBeUndefined();
    expect(await store.approvals.order("nobody")).toBeUndefined();
    expect(await store.approvals.list({ limit: 9 })).toEqual([]);
  });

  it("keep the order apart from the record, until it is replaced or forgotten", async ({ store }) => {
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

  it("may come without an order, and get one later", async ({ store }) => {
    const [none, forgotten] = [sampleApproval(), sampleApproval()];
    await applied(store, asking({ record: none }, { record: forgotten, order: null }));
    expect(await store.approvals.order(none.approvalId)).toBeUndefined();
    expect(await store.approvals.order(forgotten.approvalId)).toBeUndefined();
    await applied(store, asking(change(moved(none, "edited"), { order: "{}" })));
    expect(await store.approvals.order(none.approvalId)).toBe("{}");
  });

  it("are listed newest first, by tenant and state, page after page", async ({ store }) => {
    const ids = await fill(store);
    const list = async (filter: Omit<ApprovalFilter, "limit">, limit = 10) =>
      (await store.approvals.list({ ...filter, limit })).map(({ approvalId }) => ids.indexOf(approvalId));
    expect(await list({})).toEqual([5, 4, 3, 2, 1, 0]);
    expect(await list({}, 2)).toEqual([5, 4]);
    expect(await list({}, 0)).toEqual([]);
    const { createdAt } = sampleApproval();
    const before = (index: number) => ({ before: { at: createdAt, id: ids[index] ?? "" } });
    expect(await list(before(4), 2)).toEqual([3, 2]);
    expect(await list({ before: { at: createdAt, id: "" } })).toEqual([]);
    expect(await list({ tenant: "other" })).toEqual([5, 3]);
    expect(await list({ tenant: "other", ...before(5) })).toEqual([3]);
    expect(await list({ states: ["pending"] })).toEqual([5, 4, 2]);
    expect(await list({ states: ["approved", "pending", "pending"] }, 3)).toEqual([5, 4, 2]);
    expect(await list({ states: ["approved", "pending"], ...before(2) })).toEqual([0]);
    expect(await list({ states: ["pending"], tenant: "acme", ...before(5) }, 1)).toEqual([4]);
    expect(await list({ states: ["denied"] })).toEqual([3, 1]);
    expect(await list({ states: ["denied", "pending"], tenant: "other" })).toEqual([5, 3]);
    expect(await list({ states: ["void"] })).toEqual([]);
    expect(await list({ states: [] })).toEqual([]);
  });

  it("are found by their call, the newest when there are several", async ({ store }) => {
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
