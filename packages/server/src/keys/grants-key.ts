import { randomBytes } from "node:crypto";
import type { Failure } from "@sallyport/protocol";
import { ensureSecret, folderTrouble, KEY_FILES, keyTrouble, readKeyFile } from "./key-files.ts";

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

/** The same, made first if there is none. */
export function ensureGrantsKey(folder: string): Buffer | Failure {
  return ensureSecret(folder, {
    name: KEY_FILES.grants,
    what: "The key for grants",
    make: () => randomBytes(KEY_BYTES),
    read: () => readGrantsKey(folder),
  });
}
