import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import { verifyChain } from "@sallyport/engine";
import { genesis, linkAfter } from "@sallyport/engine/chain";
import type { Store } from "@sallyport/engine/ports";
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
/** A unit that would be the first of its strand. */
const first = (tenant: string, strand: number) => {
  const { hash, body } = linkAfter(genesis(strand), `{"events":[{"eventId":"f"}],"tenant":"${tenant}"}`);
  return `${hash} ${body}`;
};
type Forgery = (database: DatabaseSync) => void;

/** Rows of a strand and sequence that nobody asks for by the heads. */
const elsewhere =
  (tenant: SQLInputValue, strand: number, sequence = 1): Forgery =>
  (db) =>
    db
      .prepare(
        "INSERT INTO audit (tenant_id, strand, first_sequence, last_sequence, lines) VALUES (?1, ?2, ?3, ?3, ?4)",
      )
      .run(tenant, strand, sequence, first(String(tenant), strand));

const lines = (count: number) => Array(count).fill(FORGED).join("\n");

const FORGERIES: [string, Forgery][] = [
  ["of a strand without a head", elsewhere("acme", 1)],
  ["of a strand below the first", elsewhere("acme", -1)],
  ["of a strand that is a fraction", elsewhere("acme", 0.5)],
  ["with the sequence 0", elsewhere("acme", 0, 0)],
  ["with a sequence below 0", elsewhere("acme", 0, -5)],
  ["of a tenant without a head", elsewhere("ghost", 0)],
  ["of a tenant that is bytes", elsewhere(Buffer.from("acme"), 0)],
  [
    "of a tenant that is no text",
    (db) =>
      db.exec(
        "INSERT INTO audit (tenant_id, strand, first_sequence, last_sequence, lines) VALUES (CAST(x'ff' AS TEXT), 0, 1, 1, '')",
      ),
  ],
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
  it.each(FORGERIES)("%s is found [R1-8.1] [D-17]", (_, forge) =>
    inFolder(async (folder) => {
      const store = await openSqliteStore({ folder });
      for (let row = 0; row < ROWS; row += 1) {
        await writeRow(store, row);
      }
      const database = new DatabaseSync(`${folder}/sallyport.db`);
      forge(database);
      database.close();
      const findings = (await store.audit.strays?.()) ?? [];
      for (const tenant of await store.audit.tenants())
        findings.push(...(await verifyChain(store.audit, tenant)).findings.map(({ message }) => message));
      expect(findings).not.toEqual([]);
      await store.close();
    }),
  );
});
