import type { DatabaseSync, SQLOutputValue, StatementSync } from "node:sqlite";
import type { GrantRecord } from "@sallyport/engine/ports";

const GET_GRANT = "SELECT record, uses, last_used_at FROM grants WHERE grant_id = ?";

const LIST_GRANTS = "SELECT record, uses, last_used_at FROM grants ORDER BY position";

/** Reads grants with their counts, synchronously. */
export class GrantReads {
  readonly #get: StatementSync;
  readonly #all: StatementSync;

  constructor(database: DatabaseSync) {
    this.#get = database.prepare(GET_GRANT);
    this.#all = database.prepare(LIST_GRANTS);
  }

  get(grantId: string): GrantRecord | undefined {
    const row = this.#get.get(grantId);
    return row && recordOf(row);
  }

  all(): GrantRecord[] {
    return this.#all.all().map(recordOf);
  }
}

function recordOf(row: Record<string, SQLOutputValue>): GrantRecord {
  const record: GrantRecord = JSON.parse(String(row.record));
  record.uses = Number(row.uses);
  if (row.last_used_at !== null) record.lastUsedAt = Number(row.last_used_at);
  else delete record.lastUsedAt;
  return record;
}
