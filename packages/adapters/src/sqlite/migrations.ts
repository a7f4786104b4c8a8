import type { DatabaseSync } from "node:sqlite";
import { carryOutbox } from "./carry-outbox.ts";
import { lost } from "./failures.ts";
import { FIRST_SCHEMA } from "./schema-1.ts";
import { SECOND_SCHEMA } from "./schema-2.ts";
import { THIRD_SCHEMA } from "./schema-3.ts";
import { FOURTH_SCHEMA } from "./schema-4.ts";
import { FIFTH_SCHEMA } from "./schema-5.ts";
import { SIXTH_SCHEMA } from "./schema-6.ts";

/** A step to the next version: what changes in the tables, then what it takes to fill them from the former ones. */
type Migration = string | { sql: string; carry(database: DatabaseSync): void };

/** Migration n takes a database of version n - 1 to n. Never edit one that has been released; add the next. */
const MIGRATIONS: readonly Migration[] = [
  FIRST_SCHEMA,
  SECOND_SCHEMA,
  THIRD_SCHEMA,
  FOURTH_SCHEMA,
  { sql: FIFTH_SCHEMA, carry: carryOutbox },
  SIXTH_SCHEMA,
];

/** The schema version this code reads and writes. */
export const SCHEMA_VERSION = MIGRATIONS.length;

/**
 * Brings a database up to this code's version, each step in one transaction together with its number: an
 * interrupted step leaves the older version whole. Throws E3914 for a database from newer code.
 */
export function migrate(database: DatabaseSync, migrations: readonly Migration[] = MIGRATIONS): void {
  refuseNewer(schemaVersion(database), migrations.length);
  const found = schemaVersion(database);
  for (const [index, migration] of migrations.slice(found).entries()) {
    step(database, migration, found + index + 1);
  }
}

/** For a reader, which cannot migrate: throws E3914 unless the database is exactly of this code's version. */
export function requireSchema(database: DatabaseSync): void {
  const found = schemaVersion(database);
  refuseNewer(found, SCHEMA_VERSION);
  if (found === SCHEMA_VERSION) return;
  throw lost(`The database is of version ${found}; this Sallyport reads version ${SCHEMA_VERSION}.`, {
    advice: "Open the folder once for writing, which brings the database up to date.",
  });
}

function refuseNewer(found: number, known: number): void {
  if (found <= known) return;
  throw lost(`The database is of version ${found}; this Sallyport knows versions up to ${known}.`, {
    advice: "Run the newer Sallyport that wrote this folder, or restore a backup from before the upgrade.",
  });
}

function step(database: DatabaseSync, migration: Migration, version: number): void {
  database.exec("BEGIN IMMEDIATE");
  try {
    database.exec(typeof migration === "string" ? migration : migration.sql);
    if (typeof migration !== "string") migration.carry(database);
    database.exec(`PRAGMA user_version = ${version}; COMMIT`);
  } catch (error) {
    if (database.isTransaction) database.exec("ROLLBACK");
    throw error;
  }
}

export function schemaVersion(database: DatabaseSync): number {
  return Number(database.prepare("PRAGMA user_version").get()?.user_version ?? 0);
}
