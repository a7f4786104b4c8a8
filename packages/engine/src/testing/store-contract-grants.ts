import { describe, expect, it } from "vitest";
import type { GrantRecord, GrantWrite } from "../ports/grants.ts";
import type { Store, UnitOfWork } from "../ports/store.ts";
import type { OpenFixture } from "./store-contract.ts";
import { sampleCapabilityGrant, sampleStandingGrant } from "./store-contract-permit-samples.ts";
import { applied, refusal, unitOf } from "./store-contract-samples.ts";

/** Grants change only by a write made on their newest revision; counting a use needs none and is never refused. */
export function grantsContract(open: OpenFixture): void {
  describe("grants", () => {
    keepingTests(open);
    revisionTests(open);
    useTests(open);
  });
}

const granting = (...grants: GrantWrite[]): UnitOfWork => unitOf({ grants, events: ["{}"] });

const using = (...uses: [grantId: string, at: number][]): UnitOfWork =>
  unitOf({ grantUses: uses.map(([grantId, at]) => ({ grantId, at })) });

const revoked = <Grant extends GrantRecord>(grant: Grant, fields: Partial<Grant> = {}): Grant => ({
  ...grant,
  revokedAt: 9,
  revokedBy: "ada",
  revision: grant.revision + 1,
  ...fields,
});

const events = async (store: Store) => (await store.audit.head("acme"))?.sequence ?? 0;

function keepingTests(open: OpenFixture): void {
  it("are kept whole, of both kinds, oldest first", async () => {
    const { store } = await open();
    const odd = 'a\u0000b "\\ \uffff \u{1f600} \ud800';
    const grants = [
      sampleCapabilityGrant({ delegationDepth: 1, parentGrantId: odd, expiresAt: 9, grantor: odd }),
      sampleStandingGrant({ session: odd, project: odd, approvalId: "a", uses: 3, lastUsedAt: 7 }),
      sampleCapabilityGrant({ tenant: "other" }),
    ];
    expect(await store.grants.all()).toEqual([]);
    await applied(store, granting(...grants.slice(0, 2).map((record) => ({ record }))));
    await applied(store, granting(...grants.slice(2).map((record) => ({ record }))));
    expect(await store.grants.all()).toEqual(grants);
    expect(await store.grants.get(grants[1]?.grantId ?? "")).toEqual(grants[1]);
    expect(await store.grants.get("nobody")).toBeUndefined();
  });

  it("are the store's own: a later change of what was given or read changes nothing", async () => {
    const { store } = await open();
    const record = sampleStandingGrant();
    const before = structuredClone(record);
    await applied(store, granting({ record }));
    record.operations.push("*");
    (await store.grants.all()).pop();
    const read = await store.grants.get(record.grantId);
    if (read) read.uses = 99;
    expect(await store.grants.all()).toEqual([before]);
  });
}

function revisionTests(open: OpenFixture): void {
  it("change when the writer knows the newest revision, and keep their place", async () => {
    const { store } = await open();
    const [first, second] = [sampleStandingGrant(), sampleCapabilityGrant()];
    await applied(store, granting({ record: first }, { record: second }));
    const gone = revoked(first);
    await applied(store, granting({ record: gone, expect: 1 }));
    expect(await store.grants.all()).toEqual([gone, second]);
    const conflict = { kind: "grant", grantId: first.grantId };
    expect(await refusal(store, granting({ record: revoked(first), expect: 1 }))).toEqual(conflict);
    expect(await refusal(store, granting({ record: first }))).toEqual(conflict);
    expect(await store.grants.all()).toEqual([gone, second]);
    expect(await events(store)).toBe(2);
  });

  it("do not come into being by a change", async () => {
    const { store } = await open();
    const record = revoked(sampleStandingGrant());
    const conflict = { kind: "grant", grantId: record.grantId };
    expect(await refusal(store, granting({ record, expect: 1 }))).toEqual(conflict);
    expect(await store.grants.all()).toEqual([]);
  });

  it("follow each other within a unit, which is refused whole when one comes too late", async () => {
    const { store } = await open();
    const record = sampleStandingGrant();
    const change = { record: revoked(record), expect: 1 };
    const late = { ...granting({ record }, change, change), grantUses: [{ grantId: record.grantId, at: 1 }] };
    expect(await refusal(store, late)).toEqual({ kind: "grant", grantId: record.grantId });
    expect(await store.grants.all()).toEqual([]);
    expect(await events(store)).toBe(0);
    await applied(store, granting({ record }, change));
    expect(await store.grants.all()).toEqual([change.record]);
  });

  it.each([
    ["a new one that is not the first", { revision: 2 }, undefined],
    ["a change that skips one", { revision: 3 }, 1],
  ])("reject %s, and nothing of its unit is kept", async (_, fields, expected) => {
    const { store } = await open();
    const record = sampleStandingGrant();
    await applied(store, granting({ record }));
    const wrong = { ...record, ...fields, grantId: expected === undefined ? "new" : record.grantId };
    const unit = granting({ record: wrong, ...(expected !== undefined && { expect: expected }) });
    await expect(store.commit(unit)).rejects.toThrow(/revision/);
    expect(await store.grants.all()).toEqual([record]);
    expect(await events(store)).toBe(1);
  });
}

function useTests(open: OpenFixture): void {
  it("count their uses and know the latest, whatever order they come in", async () => {
    const { store } = await open();
    const [used, idle] = [sampleStandingGrant(), sampleStandingGrant()];
    await applied(store, granting({ record: used }, { record: idle }));
    await applied(store, using([used.grantId, 50], [used.grantId, 70], ["nobody", 1]));
    await applied(store, using([used.grantId, 60]));
    expect(await store.grants.all()).toEqual([{ ...used, uses: 3, lastUsedAt: 70 }, idle]);
  });

  it("count a use in the unit that made them, but none from before", async () => {
    const { store } = await open();
    const record = sampleStandingGrant();
    await applied(store, using([record.grantId, 1]));
    await applied(store, { ...granting({ record }), grantUses: [{ grantId: record.grantId, at: 5 }] });
    expect(await store.grants.get(record.grantId)).toEqual({ ...record, uses: 1, lastUsedAt: 5 });
  });

  it("keep their counts when they change, and their revision when they are used", async () => {
    const { store } = await open();
    const record = sampleStandingGrant();
    await applied(store, granting({ record }));
    await applied(store, using([record.grantId, 5]));
    const gone = revoked(record, { uses: 99, lastUsedAt: 1 });
    await applied(store, granting({ record: gone, expect: 1 }));
    await applied(store, using([record.grantId, 4]));
    expect(await store.grants.get(record.grantId)).toEqual({ ...gone, uses: 2, lastUsedAt: 5 });
    const { revokedAt: _, ...again } = { ...gone, revision: 3 };
    await applied(store, granting({ record: again, expect: 2 }));
    expect(await store.grants.get(record.grantId)).toEqual({ ...again, uses: 2, lastUsedAt: 5 });
  });

  it("show no time of use before the first, whatever a change says", async () => {
    const { store } = await open();
    const record = sampleStandingGrant();
    await applied(store, granting({ record }));
    const changed = revoked(record, { uses: 4, lastUsedAt: 8 });
    await applied(store, granting({ record: changed, expect: 1 }));
    const { lastUsedAt: _, ...expected } = changed;
    expect(await store.grants.get(record.grantId)).toEqual({ ...expected, uses: 0 });
  });
}
