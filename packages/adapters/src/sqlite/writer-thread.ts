import type { DatabaseSync } from "node:sqlite";
import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import { BatchWriter } from "./apply-batch.ts";
import { failureOf } from "./failures.ts";
import { filesIn } from "./folder.ts";
import { type FolderLock, takeFolderLock } from "./folder-lock.ts";
import { loadSqlite } from "./load-sqlite.ts";
import type { FromWriter, ToWriter } from "./messages.ts";
import { migrate } from "./migrations.ts";
import type { WriterOptions } from "./options.ts";
import { requireWhole } from "./whole-file.ts";

/**
 * The thread that does all writing. It starts by taking the folder's lock and bringing the database up to date, and
 * says `ready` or `refused`. Then it applies one batch at a time until `close`: it lets go of database and lock, in
 * this order, and ends. If it dies in any other way, the kernel frees the lock.
 */
async function run(port: MessagePort, options: WriterOptions): Promise<void> {
  const say = (message: FromWriter) => port.postMessage(message);
  let lock: FolderLock | undefined;
  try {
    lock = await takeFolderLock(options.folder, options.waitForLockMs);
    const database = openDatabase(options);
    serve(port, { database, lock });
    say({ kind: "ready" });
  } catch (error) {
    await lock?.release();
    say({ kind: "refused", failure: failureOf(error, `Cannot open the store in ${options.folder}`) });
  }
}

function serve(port: MessagePort, { database, lock }: { database: DatabaseSync; lock: FolderLock }): void {
  const writer = new BatchWriter(database);
  port.on("message", (message: ToWriter) => {
    if (message.kind === "batch") {
      port.postMessage({ kind: "done", outcomes: writer.apply(message.jobs) } satisfies FromWriter);
      return;
    }
    database.close();
    lock.release().finally(() => port.close());
  });
}

/**
 * Fewer, larger pages nearly halve the cost of a 3 KB call; their size must be set before the first table. A checkpoint
 * every 32 MB holds writers up for about 20 ms: rarer ones cost less in all and hold up longer.
 */
function openDatabase({ folder, durability }: WriterOptions): DatabaseSync {
  const { DatabaseSync } = loadSqlite();
  const path = filesIn(folder).database;
  const database = new DatabaseSync(path, { timeout: 5_000 });
  try {
    database.exec(`
      PRAGMA page_size = 16384;
      PRAGMA journal_mode = WAL;
      PRAGMA synchronous = ${durability === "power" ? "FULL" : "NORMAL"};
      PRAGMA wal_autocheckpoint = 2000;
      PRAGMA journal_size_limit = 67108864;
      PRAGMA cache_size = -16384;
      PRAGMA secure_delete = ON;
    `);
    requireWhole(database, path);
    migrate(database);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

if (parentPort) void run(parentPort, workerData);
