import { posix } from "node:path";

/** True when `path` is `folder` or below it. Both canonical; compares whole names, not letters. */
export function isWithin(path: string, folder: string): boolean {
  return folder === "/" || path === folder || path.startsWith(`${folder}/`);
}

/** Where a path below `from` is found when `from` is seen at `to`. */
export function movedPath(path: string, from: string, to: string): string {
  return posix.join(to, posix.relative(from, path));
}

/** Folders between `folder` and `path`, outermost first, neither included. */
export function foldersBetween(folder: string, path: string): string[] {
  const names = posix.relative(folder, path).split("/").slice(0, -1);
  return names.map((_, index) => posix.join(folder, ...names.slice(0, index + 1)));
}

/** True for an absolute path without `.`, `..`, doubled or trailing slashes, and without NUL. */
export function isCanonical(path: string): boolean {
  return path.startsWith("/") && !path.includes("\0") && posix.resolve(path) === path;
}
