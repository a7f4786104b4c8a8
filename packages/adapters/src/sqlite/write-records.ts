import type { Outcome, RecordRow } from "./messages.ts";
import type { Statements } from "./statements.ts";

/** The first record that is not at the revision its write expects; nothing has been written then. Writes follow each other. */
export function recordConflict(sql: Statements, rows: readonly RecordRow[]): Outcome | undefined {
  const now = Date.now();
  const written = new Map<string, number>();
  for (const { kind, id, body, expect } of rows) {
    const name = JSON.stringify([kind, id]);
    const revision = written.get(name) ?? Number(sql.findRecord.get(kind, id, now)?.revision ?? 0);
    if (expect !== null && expect !== revision) return ["record", kind, id];
    written.set(name, body === null ? 0 : revision + 1);
  }
  return undefined;
}

/** Writes what `recordConflict` found nothing against, in order. Some that have expired go first, whatever their kind. */
export function writeRecords(sql: Statements, rows: readonly RecordRow[]): void {
  const now = Date.now();
  sql.forgetExpired.run(now);
  for (const { kind, id, body, expiresAt } of rows) {
    if (body === null) sql.deleteRecord.run(kind, id);
    else sql.putRecord.run(kind, id, body, expiresAt, now);
  }
}
