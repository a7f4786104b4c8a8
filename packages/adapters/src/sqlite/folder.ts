import { existsSync } from "node:fs";
import { chmod, mkdir, open, readFile, rename, stat, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { lost } from "./failures.ts";

/** The database's name in its folder; there is none until the first writer has been. */
export const DATABASE_FILE = "sallyport.db";

/** Names the files of a state folder. */
export function filesIn(folder: string) {
  return {
    database: join(folder, DATABASE_FILE),
    lock: join(folder, "lock.db"),
    owner: join(folder, "owner.json"),
  };
}

/**
 * Makes the folder (0700) and its files (0600), whatever the umask; what is there already is left as it is.
 * Files are only ever created, never opened: closing a descriptor of lock.db would drop the kernel's lock on it.
 */
export async function prepareFolder(folder: string): Promise<void> {
  try {
    await createFolder(resolve(folder));
    const { database, lock } = filesIn(folder);
    await Promise.all([createPrivate(database), createPrivate(lock)]);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw lost(`Cannot use the state folder ${folder}: ${reason}`, {
      advice: "Give a folder this user may create or write in.",
      cause,
    });
  }
}

/** As `mkdir` with `recursive`, which never ends under /proc (Node 24). Every folder it makes is private. */
async function createFolder(path: string): Promise<void> {
  try {
    await mkdir(path, { mode: 0o700 });
    await chmod(path, 0o700);
  } catch (error) {
    if (hasCode(error, "EEXIST") && (await stat(path)).isDirectory()) return;
    if (!hasCode(error, "ENOENT") || path === dirname(path) || existsSync(dirname(path))) throw error;
    await createFolder(dirname(path));
    await createFolder(path);
  }
}

async function createPrivate(path: string): Promise<void> {
  try {
    await (await open(path, "wx", 0o600)).close();
    await chmod(path, 0o600);
  } catch (error) {
    if (!hasCode(error, "EEXIST")) throw error;
  }
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}

/** Who holds the folder, for the message another process gives; the lock itself is the kernel's. */
export interface Owner {
  pid: number;
  startedAt: string;
}

/** Replaces the owner's note in one step. */
export async function writeOwner(folder: string, owner: Owner): Promise<void> {
  const path = filesIn(folder).owner;
  await writeFile(`${path}.new`, `${JSON.stringify(owner)}\n`, { mode: 0o600 });
  await rename(`${path}.new`, path);
}

/** The owner's note, or undefined when there is none that can be read. */
export async function readOwner(folder: string): Promise<Owner | undefined> {
  try {
    const { pid, startedAt }: Partial<Owner> = JSON.parse(await readFile(filesIn(folder).owner, "utf8"));
    return typeof pid === "number" && typeof startedAt === "string" ? { pid, startedAt } : undefined;
  } catch {
    return undefined;
  }
}
