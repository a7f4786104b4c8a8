import { randomUUID } from "node:crypto";
import { constants } from "node:fs";
import { chmod, lstat, open, readdir, rename, rmdir, unlink } from "./disk.ts";
import { using } from "./file-content.ts";
import { hasCode, NOTHING_THERE, unless } from "./system-error.ts";

const FOLDER = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/** Told of something of ours that could not be removed; must not throw. */
export type LeftoverHook = (path: string, error: unknown) => void;

/**
 * Removes something of ours with all that is in it, also folders whose mode forbids it (an overlay leaves one), names
 * that are not text, paths longer than the system takes, and links as such. Fine when there is nothing. Rejects with the
 * system's error when something stays.
 */
export async function removeTree(path: string): Promise<void> {
  await unless(NOTHING_THERE, remove(path));
}

async function remove(path: string): Promise<void> {
  const root = Buffer.from(path);
  const stats = await lstat(root);
  if (!stats.isDirectory()) return unlink(root);
  await openOurs(root, stats.mode);
  const own = randomUUID();
  let moved = 0;
  // Each folder is moved to the top before it is emptied: no tree is too deep for a path, the stack or open handles.
  const toTop = (folder: Buffer) => rename(folder, inside(root, Buffer.from(`${own}-${moved++}`)));
  for (let names = await namesIn(root); names.length > 0; names = await namesIn(root))
    for (const name of names) await removeEntry(inside(root, name), toTop);
  await rmdir(root);
}

/** Removes an entry of the top folder; folders in it move up and are met there later. */
async function removeEntry(path: Buffer, toTop: (folder: Buffer) => Promise<void>): Promise<void> {
  const stats = await lstat(path);
  if (!stats.isDirectory()) return unlink(path);
  await openOurs(path, stats.mode);
  for (const name of await namesIn(path)) {
    const entry = inside(path, name);
    const found = await lstat(entry);
    if (!found.isDirectory()) await unlink(entry);
    else {
      // Moving a folder changes its `..`, which needs the right to write in it.
      await openOurs(entry, found.mode);
      await toTop(entry);
    }
  }
  await rmdir(path);
}

function inside(folder: Buffer, name: Buffer): Buffer {
  return Buffer.concat([folder, Buffer.from("/"), name]);
}

function namesIn(folder: Buffer): Promise<Buffer[]> {
  return readdir(folder, { encoding: "buffer" });
}

async function openOurs(path: Buffer, mode: number): Promise<void> {
  if ((mode & 0o700) === 0o700) return;
  try {
    await using(await open(path, FOLDER), (folder) => folder.chmod(0o700));
  } catch (error) {
    if (!hasCode(error, "EACCES")) throw error;
    await chmod(path, 0o700);
  }
}
