import { type FileHandle, lstat, readlink } from "node:fs/promises";
import { dirname } from "node:path";
import { isSameFile } from "./containment.ts";

/** What an open file has to be. */
interface Expected {
  /** Canonical. */
  path: string;
  /** Where one file has several spellings, the system's name for it proves nothing. */
  byName: boolean;
}

/** Whether an open file is a regular one and stands at a path. Linux says where an open file is; else it is looked up. */
export async function isSame(handle: FileHandle, { path, byName }: Expected): Promise<boolean> {
  if (!(await handle.stat()).isFile()) return false;
  if (byName || process.platform !== "linux") return standsAt(handle, path);
  return (await readlink(`/proc/self/fd/${handle.fd}`)) === path;
}

/** By names and file numbers: every folder on the way a folder and no link, and the last name this very file. */
export async function standsAt(handle: FileHandle, path: string): Promise<boolean> {
  for (let folder = dirname(path); folder !== dirname(folder); folder = dirname(folder))
    if (!(await lstat(folder)).isDirectory()) return false;
  return isSameFile(await lstat(path, { bigint: true }), await handle.stat({ bigint: true }));
}
