import type { Anchor } from "./anchor.ts";
import type { Baseline } from "./baseline.ts";
import type { Change, ChangeSet, Wanted } from "./change.ts";
import { type DeniedTest, makesRepository } from "./denied-paths.ts";
import type { FileHandle } from "./disk.ts";
import { type Entry, isKnown, type KnownEntry, look, NO_FILE, NO_HASH, namesIn } from "./entry.ts";
import { openToRead, readWhole, sha256, sha256Of, using } from "./file-content.ts";
import { settableTime } from "./file-times.ts";
import { eachOf } from "./in-turn.ts";
import { openContent } from "./put-content.ts";
import { below, byPath, folderOf } from "./relative-path.ts";
import { SmallContents } from "./small-contents.ts";
import type { StagedEntry } from "./staged-entry.ts";
import { hasCode } from "./system-error.ts";

/**
 * Has files that the call made names of one another stay so. One of them leads: one that is as it was, else the first
 * that changes; the others become links to it. Resolves with the unchanged ones that lead.
 */
function linkLeaders(
  changes: readonly Change[],
  entries: readonly StagedEntry[],
  unchanged: ReadonlyMap<string, KnownEntry>,
): ChangeSet["leaders"] {
  const leaders: ChangeSet["leaders"] = [];
  const byPath = new Map(changes.map((change) => [change.path, change]));
  for (const paths of groups(entries)) {
    const changing = paths.filter((path) => byPath.get(path)?.after?.type === "file");
    const still = paths.find((path) => unchanged.has(path));
    const leader = still ?? changing[0];
    if (leader === undefined || changing.length === 0) continue;
    const before = unchanged.get(leader);
    if (before) leaders.push({ path: leader, before });
    for (const path of changing.filter((path) => path !== leader)) {
      const after = byPath.get(path)?.after;
      if (after) after.linkTo = leader;
    }
  }
  return leaders;
}

function groups(entries: readonly StagedEntry[]): string[][] {
  const groups = new Map<string, string[]>();
  for (const { type, inode, path } of entries) {
    if (type !== "file" || inode === undefined) continue;
    const group = groups.get(inode);
    if (group) group.push(path);
    else groups.set(inode, [path]);
  }
  return [...groups.values()].filter((group) => group.length > 1).map((group) => group.sort());
}

/** A path as it is in the workspace and as the call left it. */
interface Sides {
  /** `hidden`: in a folder that this user cannot open. */
  before: Entry | undefined | "hidden";
  /** With its hash; left out when it is nothing that can be put back. */
  known?: KnownEntry;
  after?: Wanted;
}

/** Where both sides are read, and where what is small is kept. */
interface Reading {
  anchor: Anchor;
  small: SmallContents;
}

/** Looks at both sides of an entry, with their hashes where it needs them. */
async function readSides(entry: StagedEntry, reading: Reading): Promise<Sides> {
  const before = await lookIfOpen(entry.path, reading);
  if (before === "hidden" || entry.unfit !== undefined) return { before };
  if (entry.type !== "file" && entry.type !== "symlink" && entry.type !== "folder") return { before };
  if (entry.type === "folder" && before?.type === "folder" && before.mode === entry.mode) return { before };
  const known = before && isKnown(before) ? await withHash(entry.path, before, reading) : undefined;
  return { before, ...(known && { known }), after: await wantedOf(entry, known, reading) };
}

/** An entry of the workspace with its hash; without one when this user may not read it. */
async function withHash(path: string, entry: KnownEntry, reading: Reading): Promise<KnownEntry> {
  if (entry.type !== "file") return entry;
  try {
    const handle = await reading.anchor.at(path, openToRead);
    return {
      ...entry,
      sha256: await hash(handle, { path, side: "before", bytes: entry.bytes ?? 0 }, reading),
    };
  } catch (error) {
    if (hasCode(error, "EACCES")) return entry;
    // Gone or replaced since the look: the commit finds that it is another one now.
    if (hasCode(error, ...NO_FILE)) return { ...entry, sha256: NO_HASH };
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
  const { path, mode, content, blocks, bytes } = entry;
  const mtimeNs = settableTime(entry.mtimeNs);
  const time = { mtimeNs, ...(mtimeNs !== entry.mtimeNs && { lostTimeNs: entry.mtimeNs }) };
  if (entry.type === "symlink") return { type: "symlink", mode: 0o777, target: entry.target ?? "", ...time };
  if (entry.type === "folder") return { type: "folder", mode, ...time };
  if (!content) throw new Error(`no content is known for ${path}`);
  const wanted: Wanted = { type: "file", mode, bytes, ...time, blocks, content };
  // The very file that is there, which this user may not read.
  const isItself = content.kind === "workspace" && content.path === path;
  if (isItself && known?.type === "file" && known.sha256 === undefined) return wanted;
  const handle = await openContent(content, reading.anchor);
  return { ...wanted, sha256: await hash(handle, { path, side: "after", bytes }, reading) };
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

const AT_ONCE = 16;

/** Everything needed to tell what a call changed. */
interface Comparison {
  entries: readonly StagedEntry[];
  anchor: Anchor;
  baseline: Baseline;
  isDenied: DeniedTest;
}

/** Compares what a call left with the workspace. What it only touched, and left as it was, is no change. */
export async function changeSetOf(comparison: Comparison): Promise<ChangeSet> {
  const reading = { anchor: comparison.anchor, small: new SmallContents() };
  const work = new ComparisonWork(comparison, reading);
  const sides = new Map<StagedEntry, Sides>();
  await eachOf(comparison.entries, AT_ONCE, async (entry) => {
    sides.set(entry, await readSides(entry, reading));
  });
  for (const entry of comparison.entries) await work.take(entry, sides.get(entry) ?? { before: undefined });
  return work.result();
}

class ComparisonWork {
  readonly #comparison: Comparison;
  readonly #reading: Reading;
  readonly #listed: Set<string>;
  readonly #opaque = new Set<string>();
  readonly #set: ChangeSet;
  /** Entries that turned out to be as they were, by path. */
  readonly #unchanged = new Map<string, KnownEntry>();

  constructor(comparison: Comparison, reading: Reading) {
    this.#comparison = comparison;
    this.#reading = reading;
    this.#listed = new Set(comparison.entries.map(({ path }) => path));
    this.#set = { changes: [], denied: [], conflicts: [], bytes: 0, leaders: [], small: reading.small };
  }

  async take(entry: StagedEntry, sides: Sides): Promise<void> {
    const { path, type } = entry;
    const { before } = sides;
    if (entry.unfit !== undefined) return this.#deny(path, entry.unfit);
    if (type === "fifo" || type === "socket" || type === "device") return this.#deny(path, `is a ${type}`);
    if (before === "hidden") return this.#deny(path, "is in a folder that cannot be opened");
    if (type === "whiteout") return before ? this.#delete(path, before) : this.#object(path, undefined);
    await this.#emptyIfOpaque(entry, before);
    await this.#compare(entry, sides);
  }

  result(): ChangeSet {
    const set = this.#set;
    set.changes.sort(byPath);
    set.leaders = linkLeaders(set.changes, this.#comparison.entries, this.#unchanged);
    set.denied.sort(byPath);
    set.conflicts.sort(byPath);
    return set;
  }

  async #emptyIfOpaque(entry: StagedEntry, before: Entry | undefined): Promise<void> {
    const opaque = entry.opaque === true || this.#opaque.has(folderOf(entry.path));
    if (entry.type === "folder" && opaque) this.#opaque.add(entry.path);
    if (before?.type === "folder" && (entry.type !== "folder" || opaque)) await this.#empty(entry.path);
  }

  async #compare(entry: StagedEntry, { before, known, after }: Sides): Promise<void> {
    // A folder as it was: neither side has been read.
    if (!after) return;
    if (known && isSame(known, after)) {
      this.#unchanged.set(entry.path, known);
      return;
    }
    if (after.type === "file") this.#set.bytes += Math.min(entry.bytes, entry.blocks * 512);
    if (before && !known) this.#deny(entry.path, "was something that cannot be put back");
    await this.#add({ path: entry.path, ...(known && { before: known }), after });
  }

  /** What the workspace has in a folder and the call has not. */
  async #empty(folder: string): Promise<void> {
    const { anchor } = this.#comparison;
    try {
      const { names, unreadable } = await namesIn(anchor, folder);
      for (const name of unreadable) this.#deny(below(folder, name), "has a name that is not text");
      for (const path of names.map((name) => below(folder, name))) {
        const entry = this.#listed.has(path) ? undefined : await look(anchor, path);
        if (entry) await this.#delete(path, entry);
      }
    } catch (error) {
      // Gone since the look: the commit finds that.
      if (hasCode(error, ...NO_FILE)) return;
      if (!hasCode(error, "EACCES")) throw error;
      this.#deny(folder, "cannot be read, so it could not be put back");
    }
  }

  async #delete(path: string, entry: Entry): Promise<void> {
    if (!isKnown(entry)) return this.#deny(path, "is something that cannot be put back");
    if (entry.type === "folder") await this.#empty(path);
    await this.#add({ path, before: await withHash(path, entry, this.#reading) });
  }

  async #add(change: Change): Promise<void> {
    const { path, before, after } = change;
    this.#set.changes.push(change);
    if (this.#comparison.isDenied(path)) this.#deny(path, "must not be changed");
    if (makesRepository(change)) this.#deny(path, "would be a repository that git obeys");
    if (after?.type === "file" && (after.mode & 0o6000) !== 0)
      this.#deny(path, "would run as its owner or group (set-id bit)");
    await this.#object(path, before);
  }

  async #object(path: string, now: Entry | undefined): Promise<void> {
    const what = await this.#comparison.baseline.objection(path, now);
    if (what !== undefined) this.#set.conflicts.push({ path, what });
  }

  #deny(path: string, why: string): void {
    this.#set.denied.push({ path, why });
  }
}

function isSame(before: KnownEntry, after: Wanted): boolean {
  if (before.type !== after.type) return false;
  if (before.type === "symlink") return before.target === after.target;
  if (before.mode !== after.mode) return false;
  return before.type === "folder" || (before.bytes === after.bytes && before.sha256 === after.sha256);
}
