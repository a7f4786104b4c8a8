import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import {
  applied,
  moved,
  opening,
  sampleApproval,
  sampleIntent,
  sampleRevocation,
  sampleStandingGrant,
  unitOf,
} from "@sallyport/engine/testing";
import { describe, expect, it } from "vitest";
import { inFolder } from "./fixtures/run-process.ts";
import { DATABASE_FILE, openSqliteStore } from "./index.ts";
import { approvalReads } from "./read-permits.ts";

describe("a forgotten order", () => {
  it.each([
    ["short", 10],
    ["longer than a page", 60_000],
  ])("is gone from the file when it was %s", (_, length) =>
    inFolder(async (folder) => {
      const store = await openSqliteStore({ folder });
      const marks = Array.from({ length: 20 }, (_, index) => `hunter-${index}-`);
      const records = marks.map(() => sampleApproval());
      const order = (mark: string) => `${mark}${"x".repeat(length)}${mark}`;
      const asking = records.map((record, index) => ({ record, order: order(marks[index] ?? "") }));
      await applied(store, unitOf({ approvals: asking }));
      const settled = records.slice(1).map((record) => {
        const [voted, consumed] = [
          { ...record, revision: 2, summary: "y".repeat(200) },
          { ...record, revision: 3 },
        ];
        return [
          { record: voted, expect: 1 },
          { record: consumed, expect: 2, order: null },
        ];
      });
      for (const approvals of settled) await applied(store, unitOf({ approvals }));
      await store.close();
      const file = (await readFile(join(folder, DATABASE_FILE))).toString("latin1");
      expect(marks.filter((mark) => file.includes(mark))).toEqual(marks.slice(0, 1));
    }),
  );

  it("is refused beforehand when it could not be kept as it is", () =>
    inFolder(async (folder) => {
      const store = await openSqliteStore({ folder });
      const unit = unitOf({ approvals: [{ record: sampleApproval(), order: "\ud800" }], audit: "{}" });
      await expect(store.commit(unit)).rejects.toThrow(/well-formed/);
      expect(await store.audit.heads("acme")).toEqual([]);
      await store.close();
    }));
});

describe("a batch with approvals and grants", () => {
  it("fails only the unit that cannot be written, and counts what the others used once", () =>
    inFolder(async (folder) => {
      const store = await openSqliteStore({ folder });
      const grant = sampleStandingGrant();
      await applied(store, unitOf({ grants: [{ record: grant }] }));
      const units = Array.from({ length: 20 }, (_, index) => ({
        ...opening(sampleIntent({ phase: "waiting", ...(index === 7 && { startedAt: Number.NaN }) })),
        approvals: [{ record: sampleApproval(), order: "{}" }],
        grantUses: [{ grantId: grant.grantId, at: 100 - index }],
        revocations: [sampleRevocation()],
      }));
      const results = await Promise.allSettled(units.map((unit) => store.commit(unit)));
      const failed = results.flatMap((result, index) => (result.status === "rejected" ? [index] : []));
      expect(failed).toEqual([7]);
      expect(await store.approvals.list({ limit: 99 })).toHaveLength(19);
      expect(await store.grants.get(grant.grantId)).toEqual({ ...grant, uses: 19, lastUsedAt: 100 });
      expect((await store.revocations.changedSince()).changed).toHaveLength(19);
      expect(await store.audit.heads("acme")).toMatchObject([{ sequence: 19 }]);
      await store.close();
    }));

  it("counts a use only when the grant was there before it, also within one transaction", () =>
    inFolder(async (folder) => {
      const store = await openSqliteStore({ folder });
      const grant = sampleStandingGrant();
      const use = unitOf({ grantUses: [{ grantId: grant.grantId, at: 5 }] });
      const units = [use, use, unitOf({ grants: [{ record: grant }] }), use];
      await Promise.all(units.map((unit) => applied(store, unit)));
      expect(await store.grants.get(grant.grantId)).toEqual({ ...grant, uses: 1, lastUsedAt: 5 });
      await store.close();
    }));
});

describe("lists of approvals", () => {
  it("look at no more rows than they have to", () =>
    inFolder(async (folder) => {
      const store = await openSqliteStore({ folder });
      const record = sampleApproval();
      await applied(
        store,
        unitOf({ approvals: [{ record }, { record: moved(record, "approved"), expect: 1 }] }),
      );
      await store.close();
      const database = new DatabaseSync(join(folder, DATABASE_FILE), { readOnly: true });
      const asked: string[] = [];
      const reads = approvalReads(spied(database, asked));
      reads.list({ states: ["pending", "approved"], tenant: "acme", limit: 9 });
      reads.list({ tenant: "acme", limit: 9 });
      reads.list({ states: ["denied"], limit: 9 });
      const plans = asked.map((sql) =>
        database
          .prepare(`EXPLAIN QUERY PLAN ${sql}`)
          .all()
          .map(({ detail }) => String(detail))
          .join("; "),
      );
      const sortsTies = "; USE TEMP B-TREE FOR LAST TERM OF ORDER BY";
      expect(plans).toEqual([
        expect.stringMatching(/^SEARCH approvals USING INDEX approvals_open \(state=\?\)/),
        `SEARCH approvals USING INDEX approvals_by_tenant (tenant_id=?)${sortsTies}`,
        `SCAN approvals USING INDEX approvals_by_time${sortsTies}`,
      ]);
      database.close();
    }));
});

/** Notes the lists that are prepared. */
function spied(database: DatabaseSync, asked: string[]): DatabaseSync {
  const prepare = database.prepare.bind(database);
  database.prepare = (sql) => {
    if (sql.includes("LIMIT ?")) asked.push(sql);
    return prepare(sql);
  };
  return database;
}
