import type { Anchor } from "./anchor.ts";
import type { Baseline } from "./baseline.ts";
import type { Change, ChangeSet, Wanted } from "./change.ts";
import { type Reading, readSides, type Sides, withHash } from "./compare-sides.ts";
import type { DeniedTest } from "./denied-paths.ts";
import { type Entry, isKnown, type KnownEntry, look, namesIn } from "./entry.ts";
import { linkLeaders } from "./hard-links.ts";
import { eachOf } from "./in-turn.ts";
import { below, byPath, folderOf } from "./relative-path.ts";
import { SmallContents } from "./small-contents.ts";
import type { StagedEntry } from "./staged-entry.ts";
import { hasCode } from "./system-error.ts";

const AT_ONCE = 16;

/** Everything needed to tell what a call changed. */
export interface Comparison {
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
