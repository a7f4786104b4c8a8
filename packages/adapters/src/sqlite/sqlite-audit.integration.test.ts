import { DatabaseSync } from "node:sqlite";
import { verifyChain } from "@sallyport/engine";
import type { AuditEntry, Store } from "@sallyport/engine/ports";
import { applied, unitOf } from "@sallyport/engine/testing";
import { describe, expect, it } from "vitest";
import { inFolder } from "./fixtures/run-process.ts";
import { openSqliteStore } from "./index.ts";

const UNITS_PER_ROW = 5;
const ROWS = 201;
const FORGED = `${"f".repeat(64)} {"tenant":"acme","state":"FORGED"}`;

/** Commits units together, which puts them into one row. */
const writeRow = (store: Store, row: number) =>
  Promise.all(
    Array.from({ length: UNITS_PER_ROW }, (_, index) =>
      applied(store, unitOf({ audit: `{"n":${row * UNITS_PER_ROW + index},"tenant":"acme"}` })),
    ),
  );

const INSERT =
  "INSERT INTO audit (tenant_id, strand, first_sequence, last_sequence, lines) VALUES ('acme', 0, ?, ?, ?)";

type Forgery = (database: DatabaseSync) => void;
const lines = (count: number) => Array(count).fill(FORGED).join("\n");

const FORGERIES: [string, Forgery][] = [
  ["that names an older event", (db) => db.prepare(INSERT).run(998, 1_003, FORGED)],
  ["that names a later event", (db) => db.prepare(INSERT).run(1_001, 998, FORGED)],
  ["with more lines than it says", (db) => db.prepare(INSERT).run(1_003, 1_003, lines(9))],
  ["behind the newest event", (db) => db.prepare(INSERT).run(1_006, 1_006, FORGED)],
  ["whose number is no number", (db) => db.prepare(INSERT).run(1_000, Buffer.from("1000"), FORGED)],
  ["whose number is a fraction", (db) => db.prepare(INSERT).run(1_000, 1_000.5, FORGED)],
  [
    "in front of a genuine one",
    (db) =>
      db
        .prepare("UPDATE audit SET first_sequence = 994, lines = ? || lines WHERE last_sequence = 1005")
        .run(`${lines(7)}\n`),
  ],
];

describe("a forged audit row", () => {
  it.each(FORGERIES)("%s is found, or read by nobody [R1-8.1]", (_, forge) =>
    inFolder(async (folder) => {
      const store = await openSqliteStore({ folder });
      for (let row = 0; row < ROWS; row += 1) {
        await writeRow(store, row);
      }
      const genuine = new Set(
        (await store.audit.read("acme", { strand: 0, after: 0, limit: 9_999 })).map(key),
      );
      const database = new DatabaseSync(`${folder}/sallyport.db`);
      forge(database);
      database.close();
      const { findings } = await verifyChain(store.audit, "acme");
      const forged: string[] = [];
      for (let after = 985; after < ROWS * UNITS_PER_ROW + 5; after += 1) {
        for (const limit of [1, 3, 20]) {
          const page = await store.audit.read("acme", { strand: 0, after, limit });
          forged.push(...page.map(key).filter((entry) => !genuine.has(entry)));
        }
      }
      expect(genuine.size).toBe(ROWS * UNITS_PER_ROW);
      expect(findings.length > 0 || forged.length === 0).toBe(true);
      await store.close();
    }),
  );
});

function key({ sequence, hash, body }: AuditEntry): string {
  return `${sequence} ${hash} ${body}`;
}
