import type { DatabaseSync } from "node:sqlite";
import { lost } from "../sqlite/failures.ts";
import { FIRST_SCHEMA } from "./schema-1.ts";

/** Migration n takes a database of version n - 1 to n. Never edit one that has been released; add the next. */
const MIGRATIONS: readonly string[] = [FIRST_SCHEMA];

/** Throws E3914 for a database from newer code. */
export function refuseNewer(database: DatabaseSync, migrations: readonly string[] = MIGRATIONS): void {
  const found = schemaVersion(database);
  if (found <= migrations.length) return;
  throw lost(`The conversations are of version ${found}; this Sallyport knows up to ${migrations.length}.`, {
    advice: "Run the newer Sallyport that wrote them, or restore a backup from before the upgrade.",
  });
}

/**
 * Brings a database up to this code's version, all steps and the number in one transaction. The version is read inside
 * it: nothing locks the folder, so another process may be at the same work.
 */
export function migrate(database: DatabaseSync, migrations: readonly string[] = MIGRATIONS): void {
  if (schemaVersion(database) === migrations.length) return;
  database.exec("BEGIN IMMEDIATE");
  try {
    refuseNewer(database, migrations);
    for (const sql of migrations.slice(schemaVersion(database))) database.exec(sql);
    database.exec(`PRAGMA user_version = ${migrations.length}; COMMIT`);
  } catch (error) {
    if (database.isTransaction) database.exec("ROLLBACK");
    throw error;
  }
}

function schemaVersion(database: DatabaseSync): number {
  return Number(database.prepare("PRAGMA user_version").get()?.user_version ?? 0);
}
