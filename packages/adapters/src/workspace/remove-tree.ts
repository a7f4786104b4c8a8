import { constants } from "node:fs";
import { chmod, lstat, open, readdir, rmdir, unlink } from "node:fs/promises";
import { using } from "./file-content.ts";
import { hasCode, NOTHING_THERE, unless } from "./system-error.ts";

const FOLDER = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/**
 * Removes something of ours with all that is in it, also folders whose mode forbids it (an overlay leaves one), names
 * that are not text, and links as such. Fine when there is nothing.
 */
export async function removeTree(path: string): Promise<void> {
  await unless(NOTHING_THERE, remove(Buffer.from(path)));
}

async function remove(path: Buffer): Promise<void> {
  const stats = await lstat(path);
  if (!stats.isDirectory()) return unlink(path);
  if ((stats.mode & 0o700) !== 0o700) await openOurs(path);
  for (const name of await readdir(path, { encoding: "buffer" }))
    await remove(Buffer.concat([path, Buffer.from("/"), name]));
  await rmdir(path);
}

async function openOurs(path: Buffer): Promise<void> {
  try {
    await using(await open(path, FOLDER), (folder) => folder.chmod(0o700));
  } catch (error) {
    if (!hasCode(error, "EACCES")) throw error;
    await chmod(path, 0o700);
  }
}
