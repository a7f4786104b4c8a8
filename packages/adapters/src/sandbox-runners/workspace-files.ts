import type { Stats } from "node:fs";
import {
  chmod,
  lstat,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  rmdir,
  symlink,
  unlink,
  writeFile,
} from "node:fs/promises";
import { basename, resolve } from "node:path";
import type { FileAccess, FileEntry } from "@sallyport/engine";
import { failure, SallyportError } from "@sallyport/protocol";

// Loaded inside a sandboxed process that sees its call's workspace itself. What holds a tool there is the sandbox: it
// shows a copy-on-write view, and nothing that the tool changes in it counts before the call is committed. The check of
// paths here tells an honest tool the same as it would be told elsewhere.

/** A tool's files in the view of its workspace at `root`. */
export function openFiles(root: string): FileAccess {
  const at = (path: string) => within(root, path);
  return {
    read: (path) => readFile(at(path)),
    write: async (path, content, options = {}) => {
      const file = at(path);
      await writeFile(file, content);
      if (options.mode !== undefined) await chmod(file, options.mode);
    },
    remove: (path, options = {}) => remove(below(root, path), options.recursive === true),
    rename: (from, to) => rename(below(root, from), below(root, to)),
    makeFolder: async (path) => void (await mkdir(at(path))),
    link: (path, target) => symlink(target, at(path)),
    setMode: (path, mode) => chmod(below(root, path), mode),
    list: async (path) => {
      const names = (await readdir(at(path))).sort();
      const entries = await Promise.all(names.map((name) => look(resolve(at(path), name))));
      return entries.filter((entry) => entry !== undefined);
    },
    stat: (path) => look(at(path)),
  };
}

function within(root: string, path: string): string {
  const full = resolve(root, path);
  if (!path.startsWith("/") && (full === root || full.startsWith(`${root}/`))) return full;
  throw new SallyportError(failure("E3105", { message: `${path} is outside the workspace.` }));
}

function below(root: string, path: string): string {
  const full = within(root, path);
  if (full !== root) return full;
  throw new SallyportError(failure("E3105", { message: `${path} is the workspace itself.` }));
}

async function remove(path: string, recursive: boolean): Promise<void> {
  const isFolder = (await lstat(path)).isDirectory();
  if (recursive) await rm(path, { recursive: true });
  else await (isFolder ? rmdir(path) : unlink(path));
}

async function look(path: string): Promise<FileEntry | undefined> {
  try {
    const stats = await lstat(path);
    const { size, mode, mtimeMs } = stats;
    return {
      name: basename(path),
      type: typeOf(stats),
      bytes: size,
      mode: mode & 0o7777,
      modifiedAt: mtimeMs,
    };
  } catch (error) {
    if (error instanceof Error && "code" in error && MISSING.has(String(error.code))) return undefined;
    throw error;
  }
}

const MISSING = new Set(["ENOENT", "ENOTDIR"]);

function typeOf(stats: Stats): FileEntry["type"] {
  if (stats.isFile()) return "file";
  if (stats.isDirectory()) return "folder";
  return stats.isSymbolicLink() ? "symlink" : "other";
}
