import { existsSync } from "node:fs";
import { chmod, mkdir, open, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { lost } from "../sqlite/failures.ts";

/** The name of the database in its folder. */
export const CONVERSATIONS_FILE = "conversations.db";

/**
 * Makes the folder (0700) and an empty file (0600) in it, whatever the umask, and gives the file's path; what is there
 * already is left as it is. Rejects with E3914 and advice when that cannot be.
 */
export async function preparePrivateFile(folder: string): Promise<string> {
  try {
    await createFolder(resolve(folder));
    const path = join(folder, CONVERSATIONS_FILE);
    await createFile(path);
    return path;
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

async function createFile(path: string): Promise<void> {
  try {
    const file = await open(path, "wx", 0o600);
    await file.chmod(0o600).finally(() => file.close());
  } catch (error) {
    if (!hasCode(error, "EEXIST")) throw error;
  }
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}
