import { randomBytes } from "node:crypto";
import { linkSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Failure } from "@sallyport/protocol";
import {
  folderTrouble,
  hasCode,
  KEY_FILES,
  keyTrouble,
  makeFolder,
  readKeyFile,
  reasonOf,
  syncFolder,
  UNFINISHED,
  writeWhole,
} from "./key-files.ts";

const KEY_BYTES = 32;

/** The key grants are signed with; E3227 when it is missing, of the wrong size, or open to others. */
export function readGrantsKey(folder: string): Buffer | Failure {
  const trouble = folderTrouble(folder);
  if (trouble) return trouble;
  const key = readKeyFile(folder, KEY_FILES.grants, "secret");
  if (!Buffer.isBuffer(key) || key.length === KEY_BYTES) return key;
  return keyTrouble(
    `${folder}/${KEY_FILES.grants} does not have ${KEY_BYTES} bytes.`,
    "Restore it from a copy. A new key makes every grant signed with the old one void.",
  );
}

/** The same, made first if there is none. Of several processes that make it at once all get the same one. */
export function ensureGrantsKey(folder: string): Buffer | Failure {
  try {
    makeFolder(folder);
    const trouble = folderTrouble(folder);
    if (trouble) return trouble;
    if (!statSync(join(folder, KEY_FILES.grants), { throwIfNoEntry: false })) createGrantsKey(folder);
    return readGrantsKey(folder);
  } catch (error) {
    return keyTrouble(`The key for grants cannot be made in ${folder}: ${reasonOf(error)}`);
  }
}

function createGrantsKey(folder: string): void {
  const draft = join(folder, `${KEY_FILES.grants}.${process.pid}${UNFINISHED}`);
  try {
    writeWhole(draft, randomBytes(KEY_BYTES));
    // Unlike a rename, a link never replaces the key another process has just put there.
    linkSync(draft, join(folder, KEY_FILES.grants));
    syncFolder(folder);
  } catch (error) {
    if (!hasCode(error, "EEXIST")) throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}
