import type { DatabaseSync } from "node:sqlite";
import type { Conversations } from "@sallyport/engine";
import { SallyportError } from "@sallyport/protocol";
import { failureOf, lost, sqliteCode } from "../sqlite/failures.ts";
import { loadSqlite } from "../sqlite/load-sqlite.ts";
import type { Durability } from "../sqlite/options.ts";
import { Connection } from "./connection.ts";
import { migrate, refuseNewer } from "./migrations.ts";
import { preparePrivateFile } from "./private-file.ts";
import { conversationsOver } from "./sqlite-conversations.ts";

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
    return conversationsOver(new Connection(database, durability));
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
