import { describe, expect } from "vitest";
import type { GrantRecord, GrantWrite, UseLimit } from "../ports/grants.ts";
import type { Store, UnitOfWork } from "../ports/store.ts";
import {
  applied,
  contentsOf,
  ODD_TEXT,
  opening,
  refusal,
  type StoreTest,
  sampleApproval,
  sampleCapabilityGrant,
  sampleIntent,
  sampleRevocation,
  sampleStandingGrant,
  sampleTool,
  unitOf,
} from "./store-samples.ts";

/** A revoked token stays revoked, as it first was. */
export function revocationsContract(it: StoreTest): void {
  it("stay as they were first revoked, and revoking again is no conflict [L3-PRM-1]", async ({ store }) => {
    const first = sampleRevocation();
    const again = { ...first, reason: "Again.", forgetAt: 0 };
    await applied(store, unitOf({ revocations: [first, again] }));
    const done = await applied(store, unitOf({ revocations: [again], audit: "{}" }));
    expect(done.link).toMatchObject({ sequence: 1 });
    expect((await store.revocations.changedSince()).changed).toEqual([first]);
  });

  it("are told apart by every character of their names, those no encoding knows included [L3-PRM-1]", async ({
    store,
  }) => {
    const names = [
      "a",
      "A",
      "a ",
      "a\u0000",
      "a\u0000b",
      "\ud800",
      "\udfff",
      "\ufffd",
      '"\\ud800"',
      "e\u0301",
      "é",
    ];
    const revocations = names.map((jti) => sampleRevocation({ jti }));
    for (const revocation of revocations) await applied(store, unitOf({ revocations: [revocation] }));
    expect((await store.revocations.changedSince()).changed).toEqual(revocations);
  });
}

const granting = (...grants: GrantWrite[]): UnitOfWork => unitOf({ grants, audit: "{}" });

const using = (...uses: [grantId: string, at: number][]): UnitOfWork =>
  unitOf({ grantUses: uses.map(([grantId, at]) => ({ grantId, at })) });

const revoked = <Grant extends GrantRecord>(grant: Grant, fields: Partial<Grant> = {}): Grant => ({
  ...grant,
  revokedAt: 9,
  revokedBy: "ada",
  revision: grant.revision + 1,
  ...fields,
});

/** Grants change only by a write made on their newest revision; counting a use needs none, and is refused only beyond its limit. */
export function grantsContract(it: StoreTest): void {
  it("are kept whole, of both kinds, oldest first, and keep their place when they change", async ({
    store,
  }) => {
    const odd = `${ODD_TEXT} \ud800`;
    const grants = [
      sampleCapabilityGrant({ delegationDepth: 1, parentGrantId: odd, expiresAt: 9, grantor: odd }),
      sampleStandingGrant({ session: odd, project: odd, approvalId: "a", uses: 3, lastUsedAt: 7 }),
      sampleCapabilityGrant({ tenant: "other" }),
    ];
    expect((await store.grants.changedSince()).changed).toEqual([]);
    await applied(store, granting(...grants.slice(0, 2).map((record) => ({ record }))));
    await applied(store, granting(...grants.slice(2).map((record) => ({ record }))));
    expect((await store.grants.changedSince()).changed).toEqual(grants);
    expect(await store.grants.get(grants[1]?.grantId ?? "")).toEqual(grants[1]);
    expect(await store.grants.get("nobody")).toBeUndefined();
    const [first, ...others] = grants;
    if (!first) return expect.unreachable();
    const gone = revoked(first);
    await applied(store, granting({ record: gone, expect: 1 }));
    expect((await store.grants.changedSince()).changed).toEqual([gone, ...others]);
  });

  it("count their uses and know the latest, whatever order they come in", async ({ store }) => {
    const [used, idle] = [sampleStandingGrant(), sampleStandingGrant()];
    await applied(store, granting({ record: used }, { record: idle }));
    await applied(store, using([used.grantId, 50], [used.grantId, 70], ["nobody", 1]));
    await applied(store, using([used.grantId, 60]));
    expect((await store.grants.changedSince()).changed).toEqual([{ ...used, uses: 3, lastUsedAt: 70 }, idle]);
  });

  it("count a use in the unit that made them, but none from before", async ({ store }) => {
    const record = sampleStandingGrant();
    await applied(store, using([record.grantId, 1]));
    await applied(store, { ...granting({ record }), grantUses: [{ grantId: record.grantId, at: 5 }] });
    expect(await store.grants.get(record.grantId)).toEqual({ ...record, uses: 1, lastUsedAt: 5 });
  });

  it("keep their counts when they change, and their revision when they are used", async ({ store }) => {
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

  const HOUR = 3_600_000;
  const TWO_AN_HOUR = { rates: [{ max: 2, windowMs: HOUR }] };

  it.for<[string, UseLimit, allowed: number, freeAt: number | undefined]>([
    ["uses in all", { maxUses: 3 }, 3, undefined],
    ["a rate", TWO_AN_HOUR, 2, 5 + HOUR],
    ["the tighter of both", { maxUses: 1, ...TWO_AN_HOUR }, 1, undefined],
  ])(
    "refuse a use beyond %s, however many come at once, and nothing of its unit is kept [X-13]",
    async ([, limit, allowed, freeAt], { store }) => {
      const record = sampleCapabilityGrant();
      const { grantId } = record;
      await applied(store, granting({ record }));
      const units = Array.from({ length: 9 }, () => {
        const call = sampleIntent();
        return { ...opening(call), grantUses: [{ grantId, at: 5, callId: call.callId, ...limit }] };
      });
      const results = await Promise.all(units.map((unit) => store.commit(unit)));
      const conflict = { kind: "grant_spent", grantId, ...(freeAt !== undefined && { freeAt }) };
      const refused = results.filter(({ ok }) => !ok);
      expect(refused).toEqual(Array.from({ length: 9 - allowed }, () => ({ ok: false, conflict })));
      expect((await store.grants.get(grantId))?.uses).toBe(allowed);
      expect(await store.calls.list({ limit: 99 })).toHaveLength(allowed);
    },
  );

  it("refuse a limited use of a grant that is not there", async ({ store }) => {
    const unit = unitOf({ grantUses: [{ grantId: "nobody", at: 1, maxUses: 9 }] });
    expect(await refusal(store, unit)).toEqual({ kind: "grant_spent", grantId: "nobody" });
  });

  it("are free again when a use leaves the window or is given back", async ({ store }) => {
    const record = sampleCapabilityGrant();
    const { grantId } = record;
    await applied(store, granting({ record }));
    const use = async (callId: string, at: number) => {
      const limit = { maxUses: 4, ...TWO_AN_HOUR };
      return (await store.commit(unitOf({ grantUses: [{ grantId, at, callId, ...limit }] }))).ok;
    };
    expect([await use("a", 1), await use("b", 2), await use("c", 3)]).toEqual([true, true, false]);
    await applied(store, unitOf({ returnedUses: [{ grantId, callId: "b" }] }));
    expect((await store.grants.get(grantId))?.uses).toBe(1);
    expect([await use("c", 4), await use("d", 5)]).toEqual([true, false]);
    expect([await use("d", 1 + HOUR), await use("e", 2 + HOUR)]).toEqual([true, false]);
    expect([await use("e", 4 + HOUR), await use("f", 9 * HOUR)]).toEqual([true, false]);
    expect((await store.grants.get(grantId))?.uses).toBe(4);
  });

  it("show no time of use before the first, whatever a change says", async ({ store }) => {
    const record = sampleStandingGrant();
    await applied(store, granting({ record }));
    const changed = revoked(record, { uses: 4, lastUsedAt: 8 });
    await applied(store, granting({ record: changed, expect: 1 }));
    const { lastUsedAt: _, ...expected } = changed;
    expect(await store.grants.get(record.grantId)).toEqual({ ...expected, uses: 0 });
  });
}

/** A kind of record that changes only by a write made on its newest revision. */
interface Revised {
  kind: "approval" | "grant" | "tool";
  /** A unit of writes of one record, one event with it; each has its revision and the one it was made on. */
  writing(id: string, ...writes: [revision: number, expect?: number | undefined][]): UnitOfWork;
  read(store: Store, id: string): Promise<{ revision: number } | undefined>;
  conflict(id: string): object;
}

const REVISED: Revised[] = [
  {
    kind: "approval",
    writing: (approvalId, ...writes) =>
      unitOf({
        approvals: writes.map(([revision, expected]) => ({
          record: sampleApproval({ approvalId, revision }),
          ...(expected !== undefined && { expect: expected }),
        })),
        audit: "{}",
      }),
    read: (store, id) => store.approvals.get(id),
    conflict: (approvalId) => ({ kind: "approval", approvalId }),
  },
  {
    kind: "grant",
    writing: (grantId, ...writes) =>
      granting(
        ...writes.map(([revision, expected]) => ({
          record: sampleStandingGrant({ grantId, revision }),
          ...(expected !== undefined && { expect: expected }),
        })),
      ),
    read: (store, id) => store.grants.get(id),
    conflict: (grantId) => ({ kind: "grant", grantId }),
  },
  {
    kind: "tool",
    writing: (id, ...writes) =>
      unitOf({
        tools: writes.map(([revision, expected]) => ({
          record: { ...sampleTool(id, "1.0.0"), revision },
          ...(expected !== undefined && { expect: expected }),
        })),
        audit: "{}",
      }),
    read: async (store, id) =>
      (await store.tools.changedSince()).changed.find(({ manifest }) => manifest.id === id),
    conflict: (tool) => ({ kind: "tool", tool, version: "1.0.0" }),
  },
];

/** Who does not know the newest revision changes nothing. */
export function revisionContract(it: StoreTest): void {
  describe.for(REVISED)("the revisions of one $kind", ({ writing, read, conflict }) => {
    it("go on when the writer knows the newest, and only then [FR-APR-03]", async ({ store }) => {
      await applied(store, writing("x", [1]));
      await applied(store, writing("x", [2, 1]));
      const before = await contentsOf(store);
      // As new; on an older one; on one to come.
      for (const late of [[1], [2, 1], [4, 3]] as const) {
        expect(await refusal(store, writing("x", [...late]))).toEqual(conflict("x"));
      }
      expect(await contentsOf(store)).toEqual(before);
      expect((await read(store, "x"))?.revision).toBe(2);
    });

    it("do not begin by a change", async ({ store }) => {
      expect(await refusal(store, writing("x", [2, 1]))).toEqual(conflict("x"));
      expect(await read(store, "x")).toBeUndefined();
    });

    it("follow each other within a unit, which is refused whole when one comes too late", async ({
      store,
    }) => {
      const before = await contentsOf(store);
      expect(await refusal(store, writing("x", [1], [2, 1], [2, 1]))).toEqual(conflict("x"));
      expect(await contentsOf(store)).toEqual(before);
      await applied(store, writing("x", [1], [2, 1], [3, 2]));
      expect((await read(store, "x"))?.revision).toBe(3);
    });

    it.for<[string, number, number | undefined]>([
      ["a new one that is not the first", 2, undefined],
      ["a change that keeps its revision", 1, 1],
      ["a change that skips one", 3, 1],
      ["a change on no number", 2, Number.NaN],
    ])("reject %s, and nothing of its unit is kept", async ([, revision, expected], { store }) => {
      await applied(store, writing("x", [1]));
      const before = await contentsOf(store);
      const wrong = writing(expected === undefined ? "new" : "x", [revision, expected]);
      const unit = { ...wrong, revocations: [sampleRevocation()] };
      await expect(store.commit(unit)).rejects.toThrow(/revision/);
      expect(await contentsOf(store)).toEqual(before);
    });
  });
}
