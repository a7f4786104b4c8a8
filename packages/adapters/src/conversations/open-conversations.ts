import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { ConversationKeeping, ConversationOutline, Conversations } from "@sallyport/loop";
import { SallyportError } from "@sallyport/protocol";
import { failureOf, lost, sqliteCode } from "../sqlite/failures.ts";
import { loadSqlite } from "../sqlite/load-sqlite.ts";
import type { Durability } from "../sqlite/options.ts";
import { type Row, readRecord, textCell } from "./cells.ts";
import { Connection } from "./connection.ts";
import { History } from "./history.ts";
import { migrate, refuseNewer } from "./migrations.ts";
import { preparePrivateFile } from "./private-file.ts";
import { SqliteJournal } from "./sqlite-journal.ts";
import { SqliteReads } from "./sqlite-reads.ts";
import { syncedLogOf } from "./synced-log.ts";

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
class SqliteKeeping implements ConversationKeeping {
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

/** How long a write waits for one of another process. */
const BUSY_MS = 5_000;
const NOT_A_DATABASE = 26;

/** Where conversations are kept, and what an acknowledged step of them survives. */
export interface SqliteConversationsOptions {
  /** Created with mode 0700 when it is not there. */
  folder: string;
  durability: Durability;
}

/**
 * Opens, and when need be creates, the conversations in a folder. Several processes may have them open. Rejects with
 * E3914 and advice when the folder or the file cannot be used, or newer code wrote it; nothing is changed or left open
 * then.
 */
export async function openSqliteConversations(options: SqliteConversationsOptions): Promise<Conversations> {
  const path = await preparePrivateFile(options.folder);
  try {
    lookFirst(path);
    return openAt(path, options.durability);
  } catch (cause) {
    throw refusal(cause, options.folder);
  }
}

/** A connection that may write would tidy up a file it has no business with. */
function lookFirst(path: string): void {
  const { DatabaseSync } = loadSqlite();
  const database = new DatabaseSync(path, { readOnly: true, timeout: BUSY_MS });
  try {
    refuseNewer(database);
  } finally {
    database.close();
  }
}

function openAt(path: string, durability: Durability): Conversations {
  const { DatabaseSync } = loadSqlite();
  const database = new DatabaseSync(path, { timeout: BUSY_MS });
  try {
    configure(database);
    migrate(database);
    return conversationsOver(
      new Connection(database, durability === "power" ? syncedLogOf(path) : undefined),
    );
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Small pages: a step of a batch changes a few of them by a few bytes, and each changed one is written whole. */
function configure(database: DatabaseSync): void {
  database.exec(`
    PRAGMA page_size = 4096;
    PRAGMA journal_mode = WAL;
    PRAGMA journal_size_limit = 16777216;
  `);
}

function refusal(cause: unknown, folder: string): SallyportError {
  const doing = `Cannot open the conversations in ${folder}`;
  if (sqliteCode(cause) !== NOT_A_DATABASE) return new SallyportError(failureOf(cause, doing), { cause });
  return lost(`${doing}: conversations.db is not a database.`, {
    advice: "Restore conversations.db from a backup, or move it away to begin with none.",
    cause,
  });
}

/** Conversations over a connection of which they are the only users. */
function conversationsOver(connection: Connection): Conversations {
  const history = new History(connection);
  return {
    create: (record) => connection.keep(() => history.create(record)),
    get: (conversationId) => connection.read(() => history.get(conversationId)),
    list: (page) => connection.read(() => history.list(page)),
    update: (conversationId, change) => connection.keep(() => history.update(conversationId, change)),
    turns: (conversationId) => connection.read(() => history.turns(conversationId)),
    append: (conversationId, turns) =>
      connection.keepAll(() => history.append(history.require(conversationId), turns)),
    journal: new SqliteJournal(connection, history),
    reads: new SqliteReads(connection),
    keeping: new SqliteKeeping(connection),
    close: () => connection.close(),
  };
}
