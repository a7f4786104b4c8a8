import { lstat, mkdir, readdir, readlink, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isWithin } from "../plan/paths.ts";

interface SplitOrder {
  folder: string;
  /** Where something is mounted in it. */
  mounted: readonly string[];
  /** An empty folder of ours, in which the ways to the mounts are made again. */
  skeleton: string;
  /** How many entries may lie beside these ways. */
  most: number;
}

/**
 * A normal user gets no overlay over a folder in which something is mounted: it would show what the mount covers. So
 * the folders on the way to each mount are made again in `skeleton`, and all that lies in them is shown by itself, the
 * mounts too. Sockets, fifos and devices are left out, and so is what a folder holds that we may not read.
 * Gives the paths to show, below `folder`; or the mount beside which there were more than `most`.
 */
export async function splitFolder({
  folder,
  mounted,
  skeleton,
  most,
}: SplitOrder): Promise<{ paths: string[] } | { crowded: string }> {
  const mountsIn = (path: string) => mounted.filter((one) => one !== path && isWithin(one, path));
  const paths: string[] = [];
  const ways = [{ from: folder, to: skeleton }];
  let count = 0;
  for (const { from, to } of ways) {
    const names = await readdir(from).catch(unreadable);
    count += names.length;
    if (count > most) return { crowded: mountsIn(from)[0] ?? folder };
    for (const name of names) {
      const [path, copy] = [join(from, name), join(to, name)];
      const kind = await copyEmpty(path, copy);
      if (kind === "folder" && mountsIn(path).length > 0) ways.push({ from: path, to: copy });
      else if (kind !== "nothing") paths.push(path);
    }
  }
  return { paths };
}

/** Links are whole by that; a folder or file is a place to mount it. */
async function copyEmpty(path: string, copy: string): Promise<"folder" | "file" | "nothing"> {
  const stats = await lstat(path).catch(gone);
  if (stats?.isSymbolicLink()) await symlink(await readlink(path), copy);
  if (stats?.isDirectory()) {
    await mkdir(copy);
    return "folder";
  }
  if (!stats?.isFile()) return "nothing";
  await writeFile(copy, "");
  return "file";
}

function unreadable(error: NodeJS.ErrnoException): string[] {
  if (error.code === "EACCES") return [];
  throw error;
}

/** Removed since the folder was read. */
function gone(error: NodeJS.ErrnoException): undefined {
  if (error.code !== "ENOENT" && error.code !== "EACCES") throw error;
}
