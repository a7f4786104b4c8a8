import type { DatabaseSync, SQLOutputValue, StatementSync } from "node:sqlite";
import type { StoredRecord } from "@sallyport/engine/ports";

const LIVE = "(expires_at IS NULL OR expires_at > ?)";

const GET_RECORD = `SELECT kind, id, body, revision, expires_at FROM records WHERE kind = ? AND id = ? AND ${LIVE}`;

const LIST_RECORDS = `SELECT kind, id, body, revision, expires_at FROM records
  WHERE kind = ? AND id > ? AND ${LIVE} ORDER BY id LIMIT ?`;

const LIST_FROM_START = LIST_RECORDS.replace("AND id > ? ", "");

/** Reads records that have not expired, synchronously. */
export class RecordReads {
  readonly #get: StatementSync;
  readonly #list: StatementSync;
  readonly #listFromStart: StatementSync;

  readonly #now: () => number;

  constructor(database: DatabaseSync, now: () => number) {
    this.#now = now;
    this.#get = database.prepare(GET_RECORD);
    this.#list = database.prepare(LIST_RECORDS);
    this.#listFromStart = database.prepare(LIST_FROM_START);
  }

  get(kind: string, id: string): StoredRecord | undefined {
    const row = this.#get.get(kind, id, this.#now());
    return row && recordOf(row);
  }

  list(kind: string, { after, limit }: { after?: string; limit: number }): StoredRecord[] {
    const most = Math.max(0, limit);
    const rows =
      after === undefined
        ? this.#listFromStart.all(kind, this.#now(), most)
        : this.#list.all(kind, after, this.#now(), most);
    return rows.map(recordOf);
  }
}

function recordOf(row: Record<string, SQLOutputValue>): StoredRecord {
  return {
    kind: String(row.kind),
    id: String(row.id),
    body: String(row.body),
    revision: Number(row.revision),
    ...(row.expires_at !== null && { expiresAt: Number(row.expires_at) }),
  };
}
