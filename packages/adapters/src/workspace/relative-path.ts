import { forbidden } from "./failures.ts";

const MAX_PATH = 4_096;

/** The parts of a path inside a workspace, none for the workspace itself. Rejects with E3105 what is not plainly inside. */
export function partsOf(path: string): string[] {
  if (path.includes("\0") || !path.isWellFormed()) throw forbidden(path, "is not a path");
  if (path.length > MAX_PATH) throw forbidden(path.slice(0, 100), "is longer than any path");
  if (path.startsWith("/")) throw forbidden(path, "is not relative to the workspace");
  const parts = path.split("/").filter((part) => part !== "" && part !== ".");
  if (parts.includes("..")) throw forbidden(path, "leads upwards");
  return parts;
}

/** The folder something is in; "" for the workspace itself. */
export function folderOf(path: string): string {
  const cut = path.lastIndexOf("/");
  return cut === -1 ? "" : path.slice(0, cut);
}

/** The last part of a path. */
export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** Below a folder, which is "" for the workspace itself. */
export function below(folder: string, name: string): string {
  return folder === "" ? name : `${folder}/${name}`;
}

/** Whether a path is a folder or something in it. */
export function isWithin(path: string, folder: string): boolean {
  return folder === "" || path === folder || path.startsWith(`${folder}/`);
}

/** By code units: the same everywhere, and a folder always comes before what is in it. */
export function byPath(left: { path: string }, right: { path: string }): number {
  return left.path < right.path ? -1 : left.path > right.path ? 1 : 0;
}
