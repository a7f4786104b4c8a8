import type { FileHandle } from "node:fs/promises";
import type { Anchor } from "./anchor.ts";
import type { Wanted } from "./change.ts";
import { type Entry, isKnown, type KnownEntry, look } from "./entry.ts";
import { openToRead, readWhole, sha256, sha256Of, using } from "./file-content.ts";
import { openContent } from "./put-content.ts";
import type { SmallContents } from "./small-contents.ts";
import type { StagedEntry } from "./staged-entry.ts";
import { hasCode } from "./system-error.ts";

/** A path as it is in the workspace and as the call left it. */
export interface Sides {
  /** `hidden`: in a folder that this user cannot open. */
  before: Entry | undefined | "hidden";
  /** With its hash; left out when it is nothing that can be put back. */
  known?: KnownEntry;
  after?: Wanted;
}

/** Where both sides are read, and where what is small is kept. */
export interface Reading {
  anchor: Anchor;
  small: SmallContents;
}

/** Looks at both sides of an entry, with their hashes where it needs them. */
export async function readSides(entry: StagedEntry, reading: Reading): Promise<Sides> {
  const before = await lookIfOpen(entry.path, reading);
  if (before === "hidden" || entry.unfit !== undefined) return { before };
  if (entry.type !== "file" && entry.type !== "symlink" && entry.type !== "folder") return { before };
  if (entry.type === "folder" && before?.type === "folder" && before.mode === entry.mode) return { before };
  const known = before && isKnown(before) ? await withHash(entry.path, before, reading) : undefined;
  return { before, ...(known && { known }), after: await wantedOf(entry, known, reading) };
}

/** An entry of the workspace with its hash; without one when this user may not read it. */
export async function withHash(path: string, entry: KnownEntry, reading: Reading): Promise<KnownEntry> {
  if (entry.type !== "file") return entry;
  try {
    const handle = await reading.anchor.at(path, openToRead);
    return {
      ...entry,
      sha256: await hash(handle, { path, side: "before", bytes: entry.bytes ?? 0 }, reading),
    };
  } catch (error) {
    if (hasCode(error, "EACCES")) return entry;
    throw error;
  }
}

async function lookIfOpen(path: string, { anchor }: Reading): Promise<Entry | undefined | "hidden"> {
  try {
    return await look(anchor, path);
  } catch (error) {
    if (hasCode(error, "EACCES")) return "hidden";
    throw error;
  }
}

async function wantedOf(
  entry: StagedEntry,
  known: KnownEntry | undefined,
  reading: Reading,
): Promise<Wanted> {
  const { path, mode, mtimeNs, content, blocks, bytes } = entry;
  if (entry.type === "symlink") return { type: "symlink", mode: 0o777, target: entry.target ?? "", mtimeNs };
  if (entry.type === "folder") return { type: "folder", mode, mtimeNs };
  if (!content) throw new Error(`no content is known for ${path}`);
  const wanted: Wanted = { type: "file", mode, bytes, mtimeNs, blocks, content };
  if (known?.type === "file" && known.sha256 === undefined && seemsSame(known, entry)) return wanted;
  const handle = await openContent(content, reading.anchor);
  return { ...wanted, sha256: await hash(handle, { path, side: "after", bytes }, reading) };
}

/** A file we may not read: what copying it up leaves alone has to do. */
function seemsSame(before: Entry, entry: StagedEntry): boolean {
  return before.bytes === entry.bytes && before.mtimeNs === entry.mtimeNs;
}

/** Reads to the end and closes. */
async function hash(
  handle: FileHandle,
  { path, side, bytes }: { path: string; side: "before" | "after"; bytes: number },
  { small }: Reading,
): Promise<string> {
  return using(handle, async (open) => {
    if (!small.fits(bytes)) return sha256Of(open, bytes);
    const content = await readWhole(open, bytes);
    small.keep(side, path, content);
    return sha256(content);
  });
}
