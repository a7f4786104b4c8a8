import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  statSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { keepOutOfGit, lockFile } from "@sallyport/adapters/sqlite";
import { type Failure, failure, SallyportError } from "@sallyport/protocol";

/** A folder that no other process uses until it is released, or until this process ends in any way. */
export interface OwnFolder {
  readonly path: string;
  release(): void;
}

const LOCK_FILE = "folder.lock";
/** More processes than this do not work in one state folder at a time. */
const MOST_BESIDE = 100;

/**
 * Takes the state folder for this process. On a shared store nothing else keeps processes of one machine apart, and files
 * that one of them stages would look to another like those of a process that died. While a process has the folder, the
 * next one gets a folder in it, or, when it needs the state folder itself, is refused with E3915.
 */
export function takeFolder(
  stateFolder: string,
  { itself = false }: { itself?: boolean | undefined } = {},
): OwnFolder {
  const first = lockIn(stateFolder);
  if (first) return first;
  for (let number = 1; !itself && number <= MOST_BESIDE; number += 1) {
    const found = lockIn(join(stateFolder, "beside", String(number)));
    if (found) return found;
  }
  const message = `The state folder ${stateFolder} is in use by another process.`;
  throw new SallyportError(failure("E3915", { message }));
}

/** Throws what the system says of a state folder that is there and cannot be looked into, which is not an empty one. */
export function requireReadable(stateFolder: string): void {
  if (existsSync(stateFolder)) accessSync(`${stateFolder}/`, constants.R_OK | constants.X_OK);
}

const REFUSED = new Set(["EACCES", "EPERM", "EROFS", "ENOTDIR", "ENOSPC", "EDQUOT", "ELOOP", "ENAMETOOLONG"]);

/** E3914 for what the system does not let this user do with a file; undefined for any other error. */
export function refusedFile(error: unknown): Failure | undefined {
  if (!(error instanceof Error && "code" in error && "syscall" in error)) return undefined;
  if (typeof error.code !== "string" || !REFUSED.has(error.code)) return undefined;
  const path = "path" in error && typeof error.path === "string" ? error.path : undefined;
  const message = `A file cannot be used: ${error.message}.${path === undefined ? "" : ownerText(path)}`;
  const advice =
    "Start it as the user whom the folder belongs to, or give this one a folder of its own: --state-dir FOLDER.";
  return failure("E3914", { message, advice });
}

/** Whose the nearest thing on the way is that this user may look at. */
function ownerText(path: string): string {
  try {
    const { uid } = statSync(path);
    return uid === process.getuid?.()
      ? ""
      : ` ${path} belongs to user ${uid}; this is user ${process.getuid?.()}.`;
  } catch {
    return path === dirname(path) ? "" : ownerText(dirname(path));
  }
}

function lockIn(path: string): OwnFolder | undefined {
  const isNew = mkdirSync(path, { recursive: true, mode: 0o700 }) !== undefined;
  keepOutOfGit(path, { isNew });
  const file = join(path, LOCK_FILE);
  createEmpty(file);
  const lock = lockFile(file);
  return lock && { path, release: () => lock.release() };
}

/** Never opens a file that is there: closing it would end the lock that this process may have on it. */
function createEmpty(file: string): void {
  try {
    closeSync(openSync(file, "wx", 0o600));
    chmodSync(file, 0o600);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
  }
}
