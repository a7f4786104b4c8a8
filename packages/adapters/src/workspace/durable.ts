import { constants } from "node:fs";
import { dirname } from "node:path";
import { mkdir, open, readFile, rename } from "./disk.ts";
import { using } from "./file-content.ts";
import { hasCode } from "./system-error.ts";

const FOLDER = constants.O_RDONLY | constants.O_DIRECTORY;

/** Called before each change of the disk, with what comes next; lets a test end the process there. */
export type StepHook = (next: string) => void;

/** Makes sure that what was done to the names in a folder is on disk. */
export async function syncFolder(path: string): Promise<void> {
  await using(await open(path, FOLDER), (handle) => handle.sync());
}

/** Makes a folder for this user alone, and its parents. */
export async function privateFolder(path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o700 });
}

/** Makes one folder for this user alone; false when it is there. */
export async function makeFolder(path: string): Promise<boolean> {
  try {
    await mkdir(path, { mode: 0o700 });
    return true;
  } catch (error) {
    if (hasCode(error, "EEXIST")) return false;
    throw error;
  }
}

/** Replaces a JSON file in one step; once resolved it is on disk, if that was asked for. */
export async function writeJson(path: string, value: object, { sync }: { sync: boolean }): Promise<void> {
  const fresh = `${path}.new`;
  await using(await open(fresh, "w", 0o600), async (handle) => {
    await handle.writeFile(JSON.stringify(value));
    if (sync) await handle.sync();
  });
  await rename(fresh, path);
  if (sync) await syncFolder(dirname(path));
}

/** Reads one back; undefined when there is none, or a torn one that was never complete. */
export async function readJson<T>(path: string): Promise<T | undefined> {
  try {
    return JSON.parse(await readFile(path, "utf8")) as T;
  } catch (error) {
    if (hasCode(error, "ENOENT") || error instanceof SyntaxError) return undefined;
    throw error;
  }
}
