import type { DatabaseSync, SQLOutputValue, StatementSync } from "node:sqlite";
import type { Changes, GrantRecord } from "@sallyport/engine/ports";
import { changesOf } from "./changes.ts";

const GET_GRANT = "SELECT record, uses, last_used_at FROM grants WHERE grant_id = ?";

const LIST_CHANGED = `SELECT record, uses, last_used_at, change FROM grants
  WHERE change > ? ORDER BY position`;

/** Reads grants with their counts, synchronously. */
export class GrantReads {
  readonly #get: StatementSync;
  readonly #changed: StatementSync;

  constructor(database: DatabaseSync) {
    this.#get = database.prepare(GET_GRANT);
    this.#changed = database.prepare(LIST_CHANGED);
  }

  get(grantId: string): GrantRecord | undefined {
    const row = this.#get.get(grantId);
    return row && recordOf(row);
  }

  changedSince(cursor: string | undefined): Changes<GrantRecord> {
    return changesOf(this.#changed, cursor, recordOf);
  }
}

function recordOf(row: Record<string, SQLOutputValue>): GrantRecord {
  const record: GrantRecord = JSON.parse(String(row.record));
  record.uses = Number(row.uses);
  if (row.last_used_at !== null) record.lastUsedAt = Number(row.last_used_at);
  else delete record.lastUsedAt;
  return record;
}
