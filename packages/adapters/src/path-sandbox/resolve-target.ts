import type { Stats } from "node:fs";
import { lstat, realpath } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { FileType } from "./contract.ts";

/** With the byte that ends it. A system may say of a longer path only that there is nothing. */
const PATH_MAX = 4_096;

/** Where an absolute path leads. `path` is canonical as far as anything exists, and rebuilt from there on. */
export type Target =
  | { kind: "there"; path: string; type: FileType }
  | { kind: "missing"; path: string }
  | { kind: "blocked"; path: string; by: Obstacle };

/** A link to nothing, links in a circle, a file where a folder must be, too long a path, or no way to look. */
export type Obstacle = "link" | "loop" | "file" | "length" | "unknown";

/** Resolves every link on the way. Creates nothing. What cannot be told is blocked. */
export async function resolveTarget(asked: string): Promise<Target> {
  const whole = await attempt(realpath(asked));
  if ("value" in whole) return lookAt(whole.value);
  const rest: string[] = [];
  for (let folder = asked; folder !== dirname(folder); ) {
    rest.unshift(basename(folder));
    folder = dirname(folder);
    const found = await attempt(realpath(folder));
    if ("value" in found) return rebuild(found.value, rest, whole.code);
  }
  return { kind: "blocked", path: asked, by: "unknown" };
}

async function lookAt(path: string): Promise<Target> {
  const look = await attempt(lstat(path));
  if ("code" in look)
    return look.code === "ENOENT" ? { kind: "missing", path } : { kind: "blocked", path, by: "unknown" };
  if (look.value.isSymbolicLink()) return { kind: "blocked", path, by: "link" };
  return { kind: "there", path, type: typeOf(look.value) };
}

/** The ancestor exists and is canonical; what stops the way below it decides. */
async function rebuild(ancestor: string, rest: readonly string[], code: string): Promise<Target> {
  const path = join(ancestor, ...rest);
  const next = await attempt(lstat(join(ancestor, rest[0] ?? "")));
  if ("code" in next) {
    if (next.code !== "ENOENT") return { kind: "blocked", path, by: obstacleOf(next.code) };
    return Buffer.byteLength(path) < PATH_MAX
      ? { kind: "missing", path }
      : { kind: "blocked", path, by: "length" };
  }
  if (!next.value.isSymbolicLink()) return { kind: "blocked", path, by: obstacleOf(code) };
  return { kind: "blocked", path, by: code === "ELOOP" ? "loop" : "link" };
}

function obstacleOf(code: string): Obstacle {
  if (code === "ENOTDIR") return "file";
  return code === "ENAMETOOLONG" ? "length" : "unknown";
}

function typeOf(stats: Stats): FileType {
  if (stats.isFile()) return "file";
  return stats.isDirectory() ? "folder" : "other";
}

type Attempt<T> = { value: T } | { code: string };

async function attempt<T>(work: Promise<T>): Promise<Attempt<T>> {
  try {
    return { value: await work };
  } catch (error) {
    if (error instanceof Error && "code" in error) return { code: String(error.code) };
    throw error;
  }
}
