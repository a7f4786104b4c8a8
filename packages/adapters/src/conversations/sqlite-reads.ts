import type { StatementSync } from "node:sqlite";
import type { FileRead, ReadLedger } from "@sallyport/loop";
import { readText, textCell } from "./cells.ts";
import type { Connection } from "./connection.ts";

const NOTE = `INSERT INTO file_reads (conversation_id, path, sha256, read_at) VALUES (?, ?, ?, ?)
  ON CONFLICT (conversation_id, path) DO UPDATE SET sha256 = excluded.sha256, read_at = excluded.read_at`;
const FIND = "SELECT sha256, read_at FROM file_reads WHERE conversation_id = ? AND path = ?";

/**
 * What was read, also in a conversation that is not kept here. Not synced: what a power cut takes has to be read again,
 * which is the safe side.
 */
export class SqliteReads implements ReadLedger {
  readonly #connection: Connection;
  readonly #note: StatementSync;
  readonly #find: StatementSync;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.#note = connection.prepare(NOTE);
    this.#find = connection.prepare(FIND);
  }

  async note(conversationId: string, { path, sha256, at }: FileRead): Promise<void> {
    const texts = [conversationId, path, sha256].map(textCell);
    await this.#connection.note(() => this.#note.run(...texts, at));
  }

  async find(conversationId: string, path: string): Promise<FileRead | undefined> {
    const find = () => this.#find.get(textCell(conversationId), textCell(path));
    const row = await this.#connection.read(find);
    return row && { path, sha256: readText(row.sha256), at: Number(row.read_at) };
  }
}
