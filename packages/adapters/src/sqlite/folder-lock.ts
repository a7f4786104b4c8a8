import { rm } from "node:fs/promises";
import type { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { failure, SallyportError } from "@sallyport/protocol";
import { sqliteCode } from "./failures.ts";
import { filesIn, readOwner, writeOwner } from "./folder.ts";
import { loadSqlite } from "./load-sqlite.ts";

const SQLITE_BUSY = 5;
const POLL_MS = 25;

/** Held from `takeFolderLock` until `release`, or until the process ends in any way. */
export interface FolderLock {
  release(): Promise<void>;
}

/**
 * Takes the folder for writing: an exclusive SQLite transaction on lock.db, that is, a lock of the kernel which a
 * killed process cannot leave behind. Rejects with E3915, naming the owner, when another keeps it for `waitMs`.
 */
export async function takeFolderLock(folder: string, waitMs: number): Promise<FolderLock> {
  const { DatabaseSync } = loadSqlite();
  const held = new DatabaseSync(filesIn(folder).lock, { timeout: 0 });
  try {
    await waitForLock(held, { folder, giveUpAt: Date.now() + waitMs });
    await writeOwner(folder, { pid: process.pid, startedAt: new Date().toISOString() });
  } catch (error) {
    held.close();
    throw error;
  }
  return {
    async release() {
      await rm(filesIn(folder).owner, { force: true });
      held.close();
    },
  };
}

async function waitForLock(
  database: DatabaseSync,
  wait: { folder: string; giveUpAt: number },
): Promise<void> {
  while (!tryLock(database)) {
    if (Date.now() >= wait.giveUpAt) throw await inUse(wait.folder);
    await sleep(POLL_MS);
  }
}

/**
 * Locks a file that exists and is empty; undefined when somebody else, in this process or another, has it locked. The
 * lock is the kernel's: it ends with the process, and the file stays.
 */
export function lockFile(path: string): { release(): void } | undefined {
  const { DatabaseSync } = loadSqlite();
  const held = new DatabaseSync(path, { timeout: 0 });
  try {
    if (tryLock(held)) return { release: () => held.close() };
  } catch (error) {
    held.close();
    throw error;
  }
  held.close();
  return undefined;
}

function tryLock(database: DatabaseSync): boolean {
  try {
    database.exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE");
    return true;
  } catch (error) {
    if (sqliteCode(error) === SQLITE_BUSY) return false;
    throw error;
  }
}

async function inUse(folder: string): Promise<SallyportError> {
  const owner = await readOwner(folder);
  const who = owner ? `process ${owner.pid} (since ${owner.startedAt})` : "another process";
  const details = owner ? { folder, pid: owner.pid } : { folder };
  return new SallyportError(
    failure("E3915", { message: `The state folder ${folder} is in use by ${who}.`, details }),
  );
}
