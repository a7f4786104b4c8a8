import type { FileConflict } from "@sallyport/engine/ports";
import type { FileState } from "@sallyport/protocol";
import type { KnownEntry } from "./entry.ts";
import type { SmallContents } from "./small-contents.ts";

/** Where the content of a new or changed file is. */
export type Content =
  /** In the state folder: our own, and nobody else's by now. */
  | { kind: "own"; path: string }
  /** In the workspace, at a path that is part of the same changes or unchanged. */
  | { kind: "workspace"; path: string }
  /** In the state folder, to be put in place itself and not a copy of it. */
  | { kind: "original"; path: string };

/** What a path is to become. */
export interface Wanted extends FileState {
  mtimeNs: string;
  /** The time that the call gave it, where no such time can be set. */
  lostTimeNs?: string;
  /** Left out: whom the workspace belongs to. */
  owner?: { uid: number; gid: number };
  content?: Content;
  blocks?: number;
  /** Another path that it is a hard link to: one that changes before it, or one that stays as it is. */
  linkTo?: string;
}

/** One path that a call changes. At least one of the two is there. */
export interface Change {
  path: string;
  before?: KnownEntry;
  after?: Wanted;
}

/** Everything a call would change, and everything that speaks against it. */
export interface ChangeSet {
  /** Sorted by path. */
  changes: Change[];
  denied: { path: string; why: string }[];
  conflicts: FileConflict[];
  /** How much new content there is. */
  bytes: number;
  /** Unchanged paths that others become hard links to; they have to stay as they are. */
  leaders: { path: string; before: KnownEntry }[];
  /** Contents that were read on the way. */
  small?: SmallContents;
}

/** Whether a change only concerns permission bits. */
export function isModeOnly({ before, after }: Change): boolean {
  return before !== undefined && after !== undefined && sameContent(before, after);
}

/** Whether two states hold the same, permission bits aside. */
export function sameContent(left: FileState, right: FileState): boolean {
  if (left.type !== right.type) return false;
  if (left.type === "symlink") return left.target === right.target;
  return left.type === "folder" || (left.bytes === right.bytes && left.sha256 === right.sha256);
}
