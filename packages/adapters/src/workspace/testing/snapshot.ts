import { createHash } from "node:crypto";
import type { BigIntStats } from "node:fs";
import { chmod, lstat, readdir, readFile, readlink } from "node:fs/promises";
import { join } from "node:path";

/** Everything about a tree that an effect transaction promises to keep, path by path. */
export type Snapshot = Record<string, string>;

interface Taking {
  root: string;
  times: boolean;
  folderTimes: boolean;
  found: Snapshot;
  /** The first name of each file. */
  names: Map<bigint, string>;
}

/**
 * Takes one. Files with several names in the tree are marked with the first of them. `times`: also those of files;
 * `folderTimes`: also those of folders, to the microsecond, with the top one as ".".
 */
export async function snapshot(root: string, { times = false, folderTimes = false } = {}): Promise<Snapshot> {
  const taking: Taking = { root, times, folderTimes, found: {}, names: new Map() };
  if (folderTimes) taking.found["."] = `${(await lstat(root, { bigint: true })).mtimeNs / 1_000n}`;
  await visit(taking, "");
  return taking.found;
}

async function visit(taking: Taking, folder: string): Promise<void> {
  for (const name of (await readdir(join(taking.root, folder))).sort()) {
    const path = join(folder, name);
    const full = join(taking.root, path);
    const stats = await lstat(full, { bigint: true });
    if (stats.isSymbolicLink()) taking.found[path] = `link ${await readlink(full)}`;
    else if (stats.isDirectory()) {
      taking.found[path] = `folder ${bits(stats)}${taking.folderTimes ? ` ${stats.mtimeNs / 1_000n}` : ""}`;
      await opened(full, stats, () => visit(taking, path));
    } else if (stats.isFile()) taking.found[path] = await file(taking, path, stats);
    else taking.found[path] = "other";
  }
}

async function file({ root, times, names }: Taking, path: string, stats: BigIntStats): Promise<string> {
  const first = names.get(stats.ino) ?? path;
  names.set(stats.ino, first);
  const content = await opened(join(root, path), stats, () => readFile(join(root, path)));
  const hash = createHash("sha256").update(content).digest("hex").slice(0, 16);
  const link = stats.nlink > 1n ? ` = ${first}` : "";
  return `file ${bits(stats)} ${stats.size} ${hash}${link}${times ? ` ${stats.mtimeNs}` : ""}`;
}

/** What its mode keeps from its owner is opened for the moment. */
async function opened<T>(path: string, stats: BigIntStats, work: () => Promise<T>): Promise<T> {
  const mode = Number(stats.mode & 0o7777n);
  if (process.getuid?.() === 0 || (mode & 0o500) === 0o500) return work();
  await chmod(path, mode | 0o500);
  return work().finally(() => chmod(path, mode));
}

function bits(stats: BigIntStats): string {
  return (stats.mode & 0o7777n).toString(8);
}
