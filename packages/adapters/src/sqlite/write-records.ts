import type { Outcome, RecordJob } from "./messages.ts";
import type { Statements } from "./statements.ts";

/** The first record that is not at the revision its write expects; nothing has been written then. Writes follow each other. */
export function recordConflict(sql: Statements, { at, rows }: RecordJob): Outcome | undefined {
  const written = new Map<string, number>();
  for (const { kind, id, body, expect } of rows) {
    const name = JSON.stringify([kind, id]);
    const revision = written.get(name) ?? Number(sql.findRecord.get(kind, id, at)?.revision ?? 0);
    if (expect !== null && expect !== revision) return ["record", kind, id];
    written.set(name, body === null ? 0 : revision + 1);
  }
  return undefined;
}

/** Writes what `recordConflict` found nothing against, in order. Some that have expired go first, whatever their kind. */
export function writeRecords(sql: Statements, { at, rows }: RecordJob): void {
  sql.forgetExpired.run(at);
  for (const { kind, id, body, expiresAt } of rows) {
    if (body === null) sql.deleteRecord.run(kind, id);
    else sql.putRecord.run(kind, id, body, expiresAt, at);
  }
}
