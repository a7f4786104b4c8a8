import { createHash } from "node:crypto";
import { lstat, readdir, readFile, readlink } from "node:fs/promises";
import { join } from "node:path";

/** Everything about a tree that an effect transaction promises to keep, path by path. */
export type Snapshot = Record<string, string>;

/** Takes one. Files with several names in the tree are marked with the first of them. `times`: also those of files. */
export async function snapshot(root: string, { times = false } = {}): Promise<Snapshot> {
  const found: Snapshot = {};
  const names = new Map<bigint, string>();
  const visit = async (folder: string): Promise<void> => {
    for (const name of (await readdir(join(root, folder))).sort()) {
      const path = join(folder, name);
      const stats = await lstat(join(root, path), { bigint: true });
      const mode = (stats.mode & 0o7777n).toString(8);
      if (stats.isSymbolicLink()) found[path] = `link ${await readlink(join(root, path))}`;
      else if (stats.isDirectory()) {
        found[path] = `folder ${mode}`;
        await visit(path);
      } else if (!stats.isFile()) found[path] = "other";
      else {
        const first = names.get(stats.ino) ?? path;
        names.set(stats.ino, first);
        const hash = createHash("sha256").update(await readFile(join(root, path)));
        found[path] = `file ${mode} ${stats.size} ${hash.digest("hex").slice(0, 16)}${
          stats.nlink > 1n ? ` = ${first}` : ""
        }${times ? ` ${stats.mtimeNs}` : ""}`;
      }
    }
  };
  await visit("");
  return found;
}
