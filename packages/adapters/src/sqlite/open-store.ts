import type { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import type { Store } from "@sallyport/engine/ports";
import { SallyportError } from "@sallyport/protocol";
import { failureOf } from "./failures.ts";
import { filesIn, prepareFolder, readOwner } from "./folder.ts";
import { loadSqlite } from "./load-sqlite.ts";
import { requireSchema, SCHEMA_VERSION, schemaVersion } from "./migrations.ts";
import type { SqliteStoreOptions } from "./options.ts";
import { SqliteStore } from "./sqlite-store.ts";
import { requireWhole } from "./whole-file.ts";
import { Writer } from "./writer.ts";

const POLL_MS = 25;

/**
 * Opens, and when need be creates, the embedded store in a folder. One process at a time may write in it: a second
 * one gets E3915 naming the first. Rejects with E3914 and advice when the folder or the database cannot be used;
 * nothing is left open then.
 */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<Store> {
  const { folder, durability = "power", waitForLockMs = 5_000, readOnly = false } = options;
  if (readOnly) {
    await tablesMade(folder, { giveUpAt: Date.now() + waitForLockMs });
    return new SqliteStore(openForReading(folder), undefined, options);
  }
  await prepareFolder(folder);
  const writer = await Writer.start({ folder, durability, waitForLockMs });
  try {
    return new SqliteStore(openForReading(folder), writer, options);
  } catch (error) {
    await writer.close();
    throw error;
  }
}

/** A reader that comes while a writer is still making or changing the tables waits for it. Never rejects. */
async function tablesMade(folder: string, { giveUpAt }: { giveUpAt: number }): Promise<void> {
  while (Date.now() < giveUpAt && (await readOwner(folder)) && isOutdated(folder)) await sleep(POLL_MS);
}

function isOutdated(folder: string): boolean {
  const { DatabaseSync } = loadSqlite();
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(filesIn(folder).database, { readOnly: true, timeout: 5_000 });
    return schemaVersion(database) < SCHEMA_VERSION;
  } catch {
    // Whoever opens it next says why it cannot be read.
    return false;
  } finally {
    database?.close();
  }
}

function openForReading(folder: string): DatabaseSync {
  const { DatabaseSync } = loadSqlite();
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(filesIn(folder).database, { readOnly: true, timeout: 5_000 });
    requireSchema(database);
    // Within one transaction: no checkpoint moves pages from the log to the file between the two looks.
    database.exec("BEGIN");
    requireWhole(database, filesIn(folder).database);
    database.exec("COMMIT");
    return database;
  } catch (cause) {
    database?.close();
    throw new SallyportError(failureOf(cause, `Cannot read the store in ${folder}`), { cause });
  }
}
