import { isUtf8 } from "node:buffer";
import type { BigIntStats } from "node:fs";
import type { FileState } from "@sallyport/protocol";
import type { Anchor } from "./anchor.ts";
import { lstat, readdir, readlink } from "./disk.ts";
import { openToRead, sha256Of, using } from "./file-content.ts";
import { hasCode, NOTHING_THERE, unless } from "./system-error.ts";

/** What is at a path of the workspace, and marks by which a change of it shows without reading it. */
export interface Entry extends Omit<FileState, "type"> {
  type: "file" | "folder" | "symlink" | "other";
  uid: number;
  gid: number;
  nlink: number;
  blocks: number;
  mtimeNs: string;
  ctimeNs: string;
  /** Device and inode. */
  inode: string;
}

/** As `Entry`, of something that can be put back: never `other`. */
export type KnownEntry = Entry & { type: FileState["type"] };

/** Looks at a path without following a link at its end; undefined when there is nothing. Content is not read. */
export async function look(anchor: Anchor, path: string): Promise<Entry | undefined> {
  return unless(
    NOTHING_THERE,
    anchor.at(path, async (safe) => {
      const stats = await lstat(safe, { bigint: true });
      const entry = entryOf(stats);
      if (entry.type !== "symlink") return entry;
      const target = await readlink(safe, { encoding: "buffer" });
      return { ...entry, type: isUtf8(target) ? "symlink" : "other", target: target.toString() };
    }),
  );
}

/** How often a file is looked at that others replace again and again. */
const MOST_LOOKS = 5;

/** As `look`, with the content's hash; without one when the file cannot be read. */
export async function lookInto(anchor: Anchor, path: string): Promise<Entry | undefined> {
  for (let looks = 1; ; looks += 1) {
    const entry = await look(anchor, path);
    if (entry?.type !== "file") return entry;
    const hash = await hashAt(anchor, path, entry);
    if (hash === undefined) return entry;
    if (hash !== NO_HASH || looks === MOST_LOOKS) return { ...entry, sha256: hash };
  }
}

/** Instead of a hash: the file is gone, or something else has taken its place. Equal to no hash. */
export const NO_HASH = "";

/** The hash of a file's content; undefined when this user may not read it, `NO_HASH` when it is no file any more. */
export async function hashAt(anchor: Anchor, path: string, { bytes }: Entry): Promise<string | undefined> {
  try {
    const handle = await anchor.at(path, openToRead);
    return await using(handle, (open) => sha256Of(open, bytes ?? 0));
  } catch (error) {
    if (hasCode(error, "EACCES")) return undefined;
    if (hasCode(error, ...NO_FILE)) return NO_HASH;
    throw error;
  }
}

/** What opening or reading a file comes to when it has been deleted or replaced. */
export const NO_FILE = [...NOTHING_THERE, "ELOOP", "EISDIR", "ENXIO"] as const;

/** Reads a system's answer. */
export function entryOf(stats: BigIntStats): Entry {
  const type = typeOf(stats);
  return {
    type,
    mode: Number(stats.mode & 0o7777n),
    ...(type === "file" && { bytes: Number(stats.size) }),
    uid: Number(stats.uid),
    gid: Number(stats.gid),
    nlink: Number(stats.nlink),
    blocks: Number(stats.blocks),
    mtimeNs: `${stats.mtimeNs}`,
    ctimeNs: `${stats.ctimeNs}`,
    inode: `${stats.dev}:${stats.ino}`,
  };
}

function typeOf(stats: BigIntStats): Entry["type"] {
  if (stats.isFile()) return "file";
  if (stats.isDirectory()) return "folder";
  return stats.isSymbolicLink() ? "symlink" : "other";
}

/** Names in a folder, sorted; those that are not UTF-8 apart, as well as they can be written. */
export async function namesIn(
  anchor: Anchor,
  folder: string,
): Promise<{ names: string[]; unreadable: string[] }> {
  const all = await anchor.within(folder, (safe) => readdir(`${safe}/.`, { encoding: "buffer" }));
  const names = all.filter((name) => isUtf8(name)).map((name) => name.toString());
  const unreadable = all.filter((name) => !isUtf8(name)).map((name) => name.toString());
  return { names: names.sort(), unreadable };
}

/** What a record says of an entry. */
export function stateOf(entry: KnownEntry): FileState {
  const { type, mode, bytes, sha256, target } = entry;
  return {
    type,
    // A link's own bits mean nothing and differ between systems.
    mode: type === "symlink" ? 0o777 : mode,
    ...(bytes !== undefined && { bytes }),
    ...(sha256 !== undefined && { sha256 }),
    ...(target !== undefined && { target }),
  };
}

/** Whether an entry can be put back after a change. */
export function isKnown(entry: Entry): entry is KnownEntry {
  return entry.type !== "other";
}
