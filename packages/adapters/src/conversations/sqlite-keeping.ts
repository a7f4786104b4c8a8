import type { StatementSync } from "node:sqlite";
import type { ConversationKeeping, ConversationOutline } from "@sallyport/engine";
import { type Row, readRecord, textCell } from "./cells.ts";
import type { Connection } from "./connection.ts";

/** Turns are numbered from 1 without gaps, so that the last number is how many there are. */
const OUTLINES = `SELECT conversation_id, model, cwd, title, created_at, updated_at,
    (SELECT coalesce(max(t.position), 0) FROM turns AS t WHERE t.conversation = c.position) AS turns,
    EXISTS (SELECT 1 FROM batches AS b WHERE b.conversation = c.position) AS is_open
  FROM conversations AS c WHERE updated_at < ? ORDER BY updated_at DESC, position DESC LIMIT ?`;
const FIND = `SELECT position, EXISTS (SELECT 1 FROM batches AS b WHERE b.conversation = c.position) AS is_open
  FROM conversations AS c WHERE conversation_id = ?`;
/** What is kept by a conversation's position; the conversation itself goes with what is kept by its id. */
const BY_POSITION = [
  "DELETE FROM turns WHERE conversation = ?",
  "DELETE FROM batch_parts WHERE conversation = ?",
  "DELETE FROM batches WHERE conversation = ?",
];
const BY_ID = [
  "DELETE FROM file_reads WHERE conversation_id = ?",
  "DELETE FROM conversations WHERE conversation_id = ?",
];

/** Looks over the conversations of a connection, and forgets them. */
export class SqliteKeeping implements ConversationKeeping {
  readonly #connection: Connection;
  readonly #outlines: StatementSync;
  readonly #find: StatementSync;
  readonly #byPosition: StatementSync[];
  readonly #byId: StatementSync[];

  constructor(connection: Connection) {
    this.#connection = connection;
    this.#outlines = connection.prepare(OUTLINES);
    this.#find = connection.prepare(FIND);
    this.#byPosition = BY_POSITION.map((sql) => connection.prepare(sql));
    this.#byId = BY_ID.map((sql) => connection.prepare(sql));
  }

  async outlines({ limit, before = Number.POSITIVE_INFINITY }: { limit: number; before?: number }) {
    return this.#connection.read(() => this.#outlines.all(before, Math.max(0, limit)).map(readOutline));
  }

  async remove(conversationIds: readonly string[], { openToo = false }: { openToo?: boolean } = {}) {
    return this.#connection.eraseAll(() => conversationIds.filter((id) => this.#removeOne(id, { openToo })));
  }

  #removeOne(conversationId: string, { openToo }: { openToo: boolean }): boolean {
    const id = textCell(conversationId);
    const found = this.#find.get(id);
    if (!found || (found.is_open === 1 && !openToo)) return false;
    for (const statement of this.#byPosition) statement.run(Number(found.position));
    for (const statement of this.#byId) statement.run(id);
    return true;
  }

  compact(): Promise<number> {
    return this.#connection.compact();
  }
}

function readOutline(row: Row): ConversationOutline {
  return { ...readRecord(row), turns: Number(row.turns), hasOpenBatch: row.is_open === 1 };
}
