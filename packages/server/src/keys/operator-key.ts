import { randomBytes } from "node:crypto";
import { linkSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { type Failure, isFailure } from "@sallyport/protocol";
import {
  folderTrouble,
  hasCode,
  keyTrouble,
  makeFolder,
  readKeyFile,
  reasonOf,
  syncFolder,
  UNFINISHED,
  writeKeyFile,
  writeWhole,
} from "./key-files.ts";

/** Tells the operator key from other credentials at sight, also for those who look for leaked ones. */
export const OPERATOR_KEY_PREFIX = "spo_";

/** The file of a key folder that holds it. */
export const OPERATOR_KEY_FILE = "operator.key";

/** The key people show who run this house. */
export interface OperatorKey {
  key: string;
  /** Where it is, for those who have to look it up. */
  file: string;
}

const SECRET_BYTES = 32;
const FORM = /^spo_[\w-]{43}$/;

/** The operator key; E3227 when it is missing, damaged, or others can read it. Never quotes what is in the file. */
export function readOperatorKey(folder: string): OperatorKey | Failure {
  const trouble = folderTrouble(folder);
  if (trouble) return trouble;
  const content = readKeyFile(folder, OPERATOR_KEY_FILE, "secret");
  if (!Buffer.isBuffer(content)) return content;
  const file = join(folder, OPERATOR_KEY_FILE);
  const key = content.toString("latin1").trim();
  if (FORM.test(key)) return { key, file };
  return keyTrouble(
    `${file} does not hold an operator key.`,
    "Remove it: a new one is made at the next start.",
  );
}

/** The same, made first if there is none. Of several processes that make it at once all get the same one. */
export function ensureOperatorKey(folder: string): OperatorKey | Failure {
  try {
    makeFolder(folder);
    const trouble = folderTrouble(folder);
    if (trouble) return trouble;
    if (!statSync(join(folder, OPERATOR_KEY_FILE), { throwIfNoEntry: false })) createOperatorKey(folder);
    return readOperatorKey(folder);
  } catch (error) {
    return keyTrouble(`The operator key cannot be made in ${folder}: ${reasonOf(error)}`);
  }
}

/** Replaces the key: from the next start on the old one opens nothing. */
export function replaceOperatorKey(folder: string): OperatorKey | Failure {
  const present = ensureOperatorKey(folder);
  if (isFailure(present)) return present;
  try {
    writeKeyFile(folder, OPERATOR_KEY_FILE, newKey());
  } catch (error) {
    return keyTrouble(`The operator key cannot be replaced in ${folder}: ${reasonOf(error)}`);
  }
  return readOperatorKey(folder);
}

function newKey(): string {
  return `${OPERATOR_KEY_PREFIX}${randomBytes(SECRET_BYTES).toString("base64url")}\n`;
}

function createOperatorKey(folder: string): void {
  const draft = join(folder, `${OPERATOR_KEY_FILE}.${process.pid}${UNFINISHED}`);
  try {
    writeWhole(draft, newKey());
    // Unlike a rename, a link never replaces the key another process has just put there.
    linkSync(draft, join(folder, OPERATOR_KEY_FILE));
    syncFolder(folder);
  } catch (error) {
    if (!hasCode(error, "EEXIST")) throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}
