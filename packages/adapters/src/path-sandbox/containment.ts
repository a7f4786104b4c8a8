import { type BigIntStats, constants } from "node:fs";
import { stat } from "node:fs/promises";
import { join, parse, sep } from "node:path";
import { foldName } from "./fold-name.ts";

/** A root, with what is needed to tell whether a path is in it. */
export interface Root {
  path: string;
  /** Whether it takes `a` and `A` for one name. */
  foldsCase: boolean;
}

/** A canonical path as seen from the root it is in. */
export interface Place {
  path: string;
  root: Root;
  /** With `/`; "." for the root itself. */
  relative: string;
}

/** The first root that a canonical path is in, name by name. Undefined when it is in none. */
export async function placeOf(path: string, roots: readonly Root[]): Promise<Place | undefined> {
  for (const root of roots) {
    const below = namesBelow(path, root.path);
    if (below) return place(root, below);
  }
  for (const root of roots) {
    const below = root.foldsCase ? await belowFolded(path, root) : undefined;
    if (below) return place(root, below);
  }
  return undefined;
}

/** The names that lead from a folder to a path in it; none for the folder itself, undefined for any other path. */
export function namesBelow(path: string, folder: string): string[] | undefined {
  const names = namesOf(path);
  const above = namesOf(folder);
  return above.every((name, index) => names[index] === name) ? names.slice(above.length) : undefined;
}

/** A root spelled otherwise counts only when it is the very same folder: folded names alone would let others in. */
async function belowFolded(path: string, root: Root): Promise<string[] | undefined> {
  const names = namesOf(path);
  const above = namesOf(root.path);
  if (!above.every((name, index) => foldName(names[index] ?? "") === foldName(name))) return undefined;
  const [volume = "", ...way] = names.slice(0, above.length);
  const same = await isSameFolder(join(volume, ...way), root.path);
  return same ? names.slice(above.length) : undefined;
}

async function isSameFolder(left: string, right: string): Promise<boolean> {
  try {
    const [one, other] = await Promise.all([stat(left, { bigint: true }), stat(right, { bigint: true })]);
    return isSameFile(one, other);
  } catch {
    // What cannot be looked at is not proven to be the root.
    return false;
  }
}

/** Whether two looks were at one file. */
export function isSameFile(one: BigIntStats, other: BigIntStats): boolean {
  return one.dev === other.dev && one.ino === other.ino && (one.mode & KIND) === (other.mode & KIND);
}

const KIND = BigInt(constants.S_IFMT);

function namesOf(path: string): string[] {
  const { root } = parse(path);
  return [
    root,
    ...path
      .slice(root.length)
      .split(sep)
      .filter((name) => name !== ""),
  ];
}

function place(root: Root, below: readonly string[]): Place {
  return { path: join(root.path, ...below), root, relative: below.join("/") || "." };
}
