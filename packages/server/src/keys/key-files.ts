import {
  chmodSync,
  closeSync,
  constants,
  existsSync,
  fstatSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { keepOutOfGit } from "@sallyport/adapters/sqlite";
import { type Failure, failure } from "@sallyport/protocol";
import { requireReadable } from "../runtime/own-folder.ts";

/** Names of the files in a key folder. */
export const KEY_FILES = {
  jwks: "jwks.json",
  current: "current",
  grants: "grants.key",
  lock: "lock.db",
} as const;

/** A file being written; a crash can leave one behind, and nothing ever reads it. */
export const UNFINISHED = ".new";

const MAX_BYTES = 256 * 1024;
const [READ_BY_OTHERS, WRITTEN_BY_OTHERS] = [0o077, 0o022] as const;

/** Where the keys of a state folder are. */
export function keyFolder(stateFolder: string): string {
  return join(stateFolder, "keys");
}

/** The files whose change means that other keys are in force. */
export function keyFilesIn(folder: string): string[] {
  return [KEY_FILES.current, KEY_FILES.jwks].map((name) => join(folder, name));
}

export function signingFile(kid: string): string {
  return `signing-${kid}.pem`;
}

/** E3227 about a key folder; never quotes what is in a file. */
export function keyTrouble(message: string, advice?: string): Failure {
  return failure("E3227", { message, ...(advice !== undefined && { advice }) });
}

/** Why the folder cannot be used for keys; undefined when it can. */
export function folderTrouble(folder: string): Failure | undefined {
  requireReadable(dirname(folder));
  const found = statSync(folder, { throwIfNoEntry: false });
  if (!found?.isDirectory()) return keyTrouble(`There are no keys in ${folder}.`);
  if ((found.mode & READ_BY_OTHERS) === 0) return undefined;
  return keyTrouble(`The key folder ${folder} is open to others.`, `Run: chmod 700 ${folder}`);
}

/** Makes the key folder of a state folder, and that one too; Git ignores both. */
export function makeKeyFolder(folder: string): void {
  const stateFolder = dirname(folder);
  const isNew = !existsSync(stateFolder);
  makeFolder(folder);
  keepOutOfGit(stateFolder, { isNew });
}

/** Makes the folder and those above it, each for its owner alone; what is there already stays as it is. */
function makeFolder(folder: string): void {
  try {
    mkdirSync(folder, { mode: 0o700 });
    chmodSync(folder, 0o700);
  } catch (error) {
    if (hasCode(error, "EEXIST")) return;
    // Not left to `recursive`, which never ends under /proc (Node 24).
    if (!hasCode(error, "ENOENT") || existsSync(dirname(folder))) throw error;
    makeFolder(dirname(folder));
    makeFolder(folder);
  }
}

/**
 * A file of the folder, looked at and read through one handle so that nobody can swap it in between. E3227 when it is
 * missing, too large, a link, or open to others: a secret must not be readable by them, nothing writable.
 */
export function readKeyFile(folder: string, name: string, kind: "secret" | "public"): Buffer | Failure {
  const file = join(folder, name);
  try {
    const handle = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW);
    try {
      return fileTrouble(file, fstatSync(handle), kind) ?? readFileSync(handle);
    } finally {
      closeSync(handle);
    }
  } catch (error) {
    if (hasCode(error, "ENOENT")) return keyTrouble(`The key folder lacks ${file}.`);
    return keyTrouble(`${file} cannot be read: ${reasonOf(error)}`);
  }
}

function fileTrouble(file: string, { mode, size }: Stats, kind: "secret" | "public"): Failure | undefined {
  if (size > MAX_BYTES) return keyTrouble(`${file} is larger than any key file.`);
  const tooOpen = kind === "secret" ? READ_BY_OTHERS : WRITTEN_BY_OTHERS;
  if ((mode & tooOpen) === 0) return undefined;
  const how = kind === "secret" ? "can be read by others" : "can be changed by others";
  return keyTrouble(`${file} ${how}.`, `Run: chmod 600 ${file}`);
}

interface MadeSecret<T> {
  name: string;
  /** Begins the sentence "… cannot be made in". */
  what: string;
  make(): string | Uint8Array;
  read(): T | Failure;
}

/** Reads a secret of the folder, made first if there is none. Of several processes that make it at once all get the same one. */
export function ensureSecret<T>(folder: string, { name, what, make, read }: MadeSecret<T>): T | Failure {
  try {
    makeKeyFolder(folder);
    const trouble = folderTrouble(folder);
    if (trouble) return trouble;
    if (!statSync(join(folder, name), { throwIfNoEntry: false })) createSecret(folder, name, make());
    return read();
  } catch (error) {
    return keyTrouble(`${what} cannot be made in ${folder}: ${reasonOf(error)}`);
  }
}

function createSecret(folder: string, name: string, content: string | Uint8Array): void {
  const draft = join(folder, `${name}.${process.pid}${UNFINISHED}`);
  try {
    writeWhole(draft, content);
    // Unlike a rename, a link never replaces the secret another process has just put there.
    linkSync(draft, join(folder, name));
    syncFolder(folder);
  } catch (error) {
    // A process that changes keys sweeps drafts away; the secret is there by then.
    if (!hasCode(error, "EEXIST") && !hasCode(error, "ENOENT")) throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}

/** Whether this is the error of the operating system of that name. */
export function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}

/** What went wrong, in the words of whoever noticed. */
export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Replaces a file in one step: after a crash the old one is there or the new one, whole and on disk. */
export function writeKeyFile(folder: string, name: string, content: string | Uint8Array): void {
  const file = join(folder, name);
  writeWhole(`${file}${UNFINISHED}`, content);
  renameSync(`${file}${UNFINISHED}`, file);
  syncFolder(folder);
}

/** Writes a file for its owner alone and waits until the disk has it. */
export function writeWhole(file: string, content: string | Uint8Array): void {
  const handle = openSync(file, "w", 0o600);
  try {
    writeFileSync(handle, content);
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

/** Makes the names in a folder as durable as the files. */
export function syncFolder(folder: string): void {
  const handle = openSync(folder, "r");
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
