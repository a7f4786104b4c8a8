import { describe, expect, it } from "vitest";
import type { Store, UnitOfWork } from "../ports/store.ts";
import type { OpenFixture } from "./store-contract.ts";
import {
  moved,
  sampleApproval,
  sampleRevocation,
  sampleStandingGrant,
} from "./store-contract-permit-samples.ts";
import {
  applied,
  failedClosing,
  refusal,
  sampleCallback,
  sampleIntent,
  sampleTool,
  unitOf,
} from "./store-contract-samples.ts";

const CROWD = 20;
const SCOPE = { tenant: "acme", tool: "calc" };

/** A yes and the call it lets through become durable together: once, or not at all. */
export function consentContract(open: OpenFixture): void {
  describe("a call and its approval", () => {
    wholeTests(open);
    raceTests(open);
  });
}

/** A waiting call and its approved approval, as the store has them now. */
async function asked(store: Store) {
  const call = sampleIntent({ phase: "waiting" });
  const record = sampleApproval({ callId: call.callId });
  const approved = moved(record, "approved");
  const unit = unitOf({ open: call, approvals: [{ record, order: "{}" }], events: ["{}"] });
  await applied(store, unit);
  await applied(store, unitOf({ approvals: [{ record: approved, expect: 1 }], events: ["{}"] }));
  return { call, approved };
}

type Asked = Awaited<ReturnType<typeof asked>>;

/** Consumes the approval and begins the call, with everything a unit may hold beside. */
function running({ call, approved }: Asked, owner: string): UnitOfWork {
  const record = moved(approved, "consumed");
  return unitOf({
    begin: { ...call, owner },
    approvals: [{ record, expect: approved.revision, order: null }],
    events: [`{"by":"${owner}"}`],
    outbox: [{ callId: call.callId, type: "tool.invoked" }],
  });
}

async function contents(store: Store) {
  return {
    calls: await store.calls.list({ limit: 99 }),
    approvals: await store.approvals.list({ limit: 99 }),
    grants: await store.grants.all(),
    revocations: await store.revocations.all(),
    tools: await store.tools.all(),
    callbacks: await store.callbacks.due(Number.POSITIVE_INFINITY, 99),
    events: await store.audit.read("acme", { after: 0, limit: 99 }),
    messages: await store.outbox.pending(99),
  };
}

function wholeTests(open: OpenFixture): void {
  it("go on together [FR-APR-03]", async () => {
    const { store } = await open();
    const both = await asked(store);
    await applied(store, running(both, "run-2"));
    expect(await store.calls.get(both.call.callId)).toMatchObject({ phase: "executing", owner: "run-2" });
    expect(await store.approvals.ofCall(both.call.callId)).toEqual(moved(both.approved, "consumed"));
    expect(await store.approvals.order(both.approved.approvalId)).toBeUndefined();
  });

  it("stay as they are when any part of the unit is refused", async () => {
    const { store } = await open();
    const both = await asked(store);
    const known = sampleStandingGrant();
    const state = { scope: SCOPE, callId: "c", snapshotVersion: 0, writes: [{ key: "n", value: 1 }] };
    await applied(store, unitOf({ grants: [{ record: known }], state }));
    const before = await contents(store);
    const callback = sampleCallback({ attempts: 3 });
    const unit: UnitOfWork = {
      ...running(both, "run-2"),
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
      expect(await contents(store)).toEqual(before);
      expect(await store.approvals.order(both.approved.approvalId)).toBe("{}");
    }
    await applied(store, unit);
  });

  it("name the conflict of the call before the approval's, the grant's, the callback's, the state's", async () => {
    const { store } = await open();
    const both = await asked(store);
    const grant = sampleStandingGrant();
    const state = { scope: SCOPE, callId: "c", snapshotVersion: 0, writes: [{ key: "n", value: 1 }] };
    const callbacks = [{ callback: sampleCallback() }];
    const unit = { ...running(both, "run-2"), grants: [{ record: grant }], callbacks, state };
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

function raceTests(open: OpenFixture): void {
  it("let one of many begin, and the others leave nothing [FR-APR-03]", async () => {
    const { store } = await open();
    const both = await asked(store);
    const owners = Array.from({ length: CROWD }, (_, index) => `racer-${index}`);
    const results = await Promise.all(owners.map((owner) => store.commit(running(both, owner))));
    const winners = owners.filter((_, index) => results[index]?.ok);
    expect(winners).toHaveLength(1);
    for (const result of results) if (!result.ok) expect(result.conflict).toEqual({ kind: "not_waiting" });
    expect(await store.calls.get(both.call.callId)).toMatchObject({ owner: winners[0] });
    expect(await store.approvals.get(both.approved.approvalId)).toEqual(moved(both.approved, "consumed"));
    const events = await store.audit.read("acme", { after: 2, limit: 99 });
    expect(events.map(({ body }) => body)).toEqual([`{"by":"${winners[0]}"}`]);
    expect(await store.outbox.pending(99)).toHaveLength(1);
  });

  it("let one of many reserve an approval", async () => {
    const { store } = await open();
    const { approved } = await asked(store);
    const results = await Promise.all(
      Array.from({ length: CROWD }, (_, index) => {
        const standing = { state: "reserved", owner: `racer-${index}`, until: 9 } as const;
        const record = { ...approved, standing, revision: 3 };
        return store.commit(unitOf({ approvals: [{ record, expect: 2 }], events: ["{}"] }));
      }),
    );
    const winner = results.findIndex(({ ok }) => ok);
    const conflict = { kind: "approval", approvalId: approved.approvalId };
    expect(results.filter((result) => !result.ok).map(({ conflict }) => conflict)).toEqual(
      Array.from({ length: CROWD - 1 }, () => conflict),
    );
    const kept = await store.approvals.get(approved.approvalId);
    expect(kept?.standing).toMatchObject({ owner: `racer-${winner}` });
    expect(await store.audit.head("acme")).toMatchObject({ sequence: 3 });
  });

  it("end one way when many begin and many withdraw", async () => {
    const { store } = await open();
    const both = await asked(store);
    const withdrawal = unitOf({
      close: { callId: both.call.callId, phase: "closed", closing: failedClosing(both.call.callId, "error") },
      approvals: [{ record: moved(both.approved, "withdrawn"), expect: 2, order: null }],
      events: ['{"by":"nobody"}'],
    });
    const units = Array.from({ length: CROWD }, (_, index) =>
      index % 2 === 0 ? withdrawal : running(both, "run-2"),
    );
    const results = await Promise.all(units.map((unit) => store.commit(unit)));
    const winners = results.flatMap(({ ok }, index) => (ok ? [index % 2] : []));
    expect(winners).toHaveLength(1);
    const phase = (await store.calls.get(both.call.callId))?.phase;
    const state = (await store.approvals.get(both.approved.approvalId))?.standing.state;
    expect([phase, state]).toEqual(winners[0] === 0 ? ["closed", "withdrawn"] : ["executing", "consumed"]);
    expect(await store.audit.head("acme")).toMatchObject({ sequence: 3 });
  });

  it("count every use of a grant, although it is changed meanwhile", async () => {
    const { store } = await open();
    const grant = sampleStandingGrant();
    await applied(store, unitOf({ grants: [{ record: grant }] }));
    const change = { ...grant, revokedAt: 9, revision: 2 };
    const units = Array.from({ length: CROWD }, (_, index) =>
      unitOf({
        grantUses: [{ grantId: grant.grantId, at: CROWD - index }],
        ...(index === 5 && { grants: [{ record: change, expect: 1 }] }),
      }),
    );
    await Promise.all(units.map((unit) => applied(store, unit)));
    expect(await store.grants.get(grant.grantId)).toEqual({ ...change, uses: CROWD, lastUsedAt: CROWD });
  });
}
