import { randomBytes } from "node:crypto";
import { join } from "node:path";
import type { Failure } from "@sallyport/protocol";
import { ensureSecret, folderTrouble, keyTrouble, readKeyFile } from "./key-files.ts";

/** Tells the operator key from other credentials at sight, also for those who look for leaked ones. */
export const OPERATOR_KEY_PREFIX = "spo_";

/** The file of a key folder that holds it. */
export const OPERATOR_KEY_FILE = "operator.key";

/** The key people show who run this server. */
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

/** The same, made first if there is none. */
export function ensureOperatorKey(folder: string): OperatorKey | Failure {
  return ensureSecret(folder, {
    name: OPERATOR_KEY_FILE,
    what: "The operator key",
    make: () => `${OPERATOR_KEY_PREFIX}${randomBytes(SECRET_BYTES).toString("base64url")}\n`,
    read: () => readOperatorKey(folder),
  });
}
