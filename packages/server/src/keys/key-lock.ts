import { chmodSync, closeSync, openSync } from "node:fs";
import { join } from "node:path";
import { lockFile } from "@sallyport/adapters/sqlite";
import type { Failure } from "@sallyport/protocol";
import { hasCode, KEY_FILES, keyTrouble } from "./key-files.ts";

/** Lets one process at a time change the folder; E3227 while another does. A killed process leaves no lock behind. */
export async function withKeyLock<Result>(
  folder: string,
  change: () => Promise<Result | Failure>,
): Promise<Result | Failure> {
  const file = join(folder, KEY_FILES.lock);
  createLockFile(file);
  const lock = lockFile(file);
  if (!lock)
    return keyTrouble(`Another process is changing the keys in ${folder}.`, "Wait for it, then try again.");
  try {
    return await change();
  } finally {
    lock.release();
  }
}

/** Never opens a file that is there: closing it would end the lock that this process may have on it. */
function createLockFile(file: string): void {
  try {
    closeSync(openSync(file, "wx", 0o600));
    chmodSync(file, 0o600);
  } catch (error) {
    if (!hasCode(error, "EEXIST")) throw error;
  }
}
