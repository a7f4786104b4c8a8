import { execFileSync } from "node:child_process";
import { constants, type Stats } from "node:fs";
import {
  appendFile,
  chmod,
  link,
  lstat,
  mkdir,
  open,
  readdir,
  rename,
  rm,
  rmdir,
  symlink,
  truncate,
  unlink,
  utimes,
  writeFile,
} from "node:fs/promises";
import { join } from "node:path";

/** One thing a tool does to files. Paths are relative to the workspace. */
export type FileOp =
  | { do: "write"; path: string; content: string; mode?: number }
  | { do: "append"; path: string; content: string }
  | { do: "truncate"; path: string; bytes: number }
  | { do: "delete"; path: string }
  | { do: "delete tree"; path: string }
  | { do: "move"; path: string; to: string }
  | { do: "make folder"; path: string }
  | { do: "remove folder"; path: string }
  | { do: "chmod"; path: string; mode: number }
  | { do: "symlink"; path: string; target: string }
  | { do: "hard link"; path: string; to: string }
  | { do: "sparse"; path: string; bytes: number }
  | { do: "fifo"; path: string }
  /** Sets its time, in seconds. */
  | { do: "touch"; path: string; at: number };

/** Does it with the system's own calls. Rejects as they do. */
export async function perform(root: string, op: FileOp): Promise<void> {
  const path = join(root, op.path);
  switch (op.do) {
    case "write":
      await writeFile(path, op.content, {
        flag: constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_NOFOLLOW,
      });
      if (op.mode !== undefined) await chmod(path, op.mode);
      return;
    case "append":
      return appendFile(path, op.content, {
        flag: constants.O_WRONLY | constants.O_APPEND | constants.O_NOFOLLOW,
      });
    case "truncate":
      return onlyFiles(path, () => truncate(path, op.bytes));
    case "delete":
      return unlink(path);
    case "delete tree":
      return rm(path, { recursive: true });
    case "move":
      return move(path, join(root, op.to));
    case "make folder":
      return mkdir(path);
    case "remove folder":
      return rmdir(path);
    case "chmod":
      return onlyReal(path, () => chmod(path, op.mode));
    case "symlink":
      return symlink(op.target, path);
    case "hard link":
      return onlyFiles(path, () => link(path, join(root, op.to)));
    case "sparse":
      return makeSparse(path, op.bytes);
    case "fifo":
      return void execFileSync("mkfifo", [path]);
    case "touch":
      // A number below 0 would mean now.
      return utimes(path, new Date(op.at * 1000), new Date(op.at * 1000));
  }
}

/** Does them all; what the system refuses is not done. */
export async function performAll(root: string, ops: readonly FileOp[]): Promise<void> {
  for (const op of ops) await perform(root, op).catch(onlySystemErrors);
}

function onlySystemErrors(error: unknown): void {
  if (!(error instanceof Error && "code" in error)) throw error;
}

/** As `mv`: an overlay does not rename folders of the lower layer, so their content moves one by one. */
async function move(from: string, to: string): Promise<void> {
  try {
    await rename(from, to);
  } catch (error) {
    const isFolder = error instanceof Error && "code" in error && error.code === "EXDEV";
    if (!isFolder) throw error;
    const { mode } = await lstat(from);
    await rmdir(to).catch(onlySystemErrors);
    await mkdir(to, { mode: 0o700 });
    for (const name of await readdir(from)) await move(join(from, name), join(to, name));
    await chmod(to, mode & 0o7777);
    await rmdir(from);
  }
}

async function onlyFiles(path: string, work: () => Promise<void>): Promise<void> {
  await only(path, (stats) => stats.isFile(), work);
}

async function onlyReal(path: string, work: () => Promise<void>): Promise<void> {
  await only(path, (stats) => !stats.isSymbolicLink(), work);
}

async function only(path: string, test: (stats: Stats) => boolean, work: () => Promise<void>): Promise<void> {
  if (!test(await lstat(path))) throw Object.assign(new Error(`EINVAL: ${path}`), { code: "EINVAL" });
  await work();
}

async function makeSparse(path: string, bytes: number): Promise<void> {
  const file = await open(path, "wx");
  await file.write("end", bytes - 3);
  await file.close();
}
