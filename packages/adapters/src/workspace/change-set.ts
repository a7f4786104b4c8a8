import type { Anchor } from "./anchor.ts";
import type { Baseline } from "./baseline.ts";
import type { Change, ChangeSet, Wanted } from "./change.ts";
import type { DeniedTest } from "./denied-paths.ts";
import { type Entry, hashAt, isKnown, type KnownEntry, look, namesIn } from "./entry.ts";
import { openOwn, openToRead, sha256Of, using } from "./file-content.ts";
import { linkLeaders } from "./hard-links.ts";
import { below, byPath, folderOf } from "./relative-path.ts";
import type { StagedEntry } from "./staged-entry.ts";
import { hasCode } from "./system-error.ts";

/** Everything needed to tell what a call changed. */
export interface Comparison {
  entries: readonly StagedEntry[];
  anchor: Anchor;
  baseline: Baseline;
  isDenied: DeniedTest;
}

/** Compares what a call left with the workspace. What it only touched, and left as it was, is no change. */
export async function changeSetOf(comparison: Comparison): Promise<ChangeSet> {
  const work = new ComparisonWork(comparison);
  for (const entry of comparison.entries) await work.take(entry);
  return work.result();
}

class ComparisonWork {
  readonly #comparison: Comparison;
  readonly #listed: Set<string>;
  readonly #opaque = new Set<string>();
  readonly #set: ChangeSet = { changes: [], denied: [], conflicts: [], bytes: 0, leaders: [] };
  /** Entries that turned out to be as they were, by path. */
  readonly #unchanged = new Map<string, KnownEntry>();

  constructor(comparison: Comparison) {
    this.#comparison = comparison;
    this.#listed = new Set(comparison.entries.map(({ path }) => path));
  }

  async take(entry: StagedEntry): Promise<void> {
    const { path, type } = entry;
    if (entry.unfit !== undefined) return this.#deny(path, entry.unfit);
    if (type === "fifo" || type === "socket" || type === "device") return this.#deny(path, `is a ${type}`);
    const before = await this.#look(path);
    if (before === "hidden") return this.#deny(path, "is in a folder that cannot be opened");
    if (type === "whiteout") return before ? this.#delete(path, before) : this.#object(path, undefined);
    await this.#compare(entry, before);
  }

  async #look(path: string): Promise<Entry | undefined | "hidden"> {
    try {
      return await look(this.#comparison.anchor, path);
    } catch (error) {
      if (hasCode(error, "EACCES")) return "hidden";
      throw error;
    }
  }

  result(): ChangeSet {
    const set = this.#set;
    set.changes.sort(byPath);
    set.leaders = linkLeaders(set.changes, this.#comparison.entries, this.#unchanged);
    set.denied.sort(byPath);
    set.conflicts.sort(byPath);
    return set;
  }

  async #compare(entry: StagedEntry, before: Entry | undefined): Promise<void> {
    const opaque = entry.opaque === true || this.#opaque.has(folderOf(entry.path));
    if (entry.type === "folder" && opaque) this.#opaque.add(entry.path);
    if (before?.type === "folder" && (entry.type !== "folder" || opaque)) await this.#empty(entry.path);
    if (entry.type === "folder" && before?.type === "folder" && before.mode === entry.mode) return;
    const [known, after] = await this.#readBoth(entry, before);
    if (known && isSame(known, after)) {
      this.#unchanged.set(entry.path, known);
      return;
    }
    if (after.type === "file") this.#set.bytes += Math.min(entry.bytes, entry.blocks * 512);
    if (before && !known) this.#deny(entry.path, "was something that cannot be put back");
    await this.#add({ path: entry.path, ...(known && { before: known }), after });
  }

  async #readBoth(entry: StagedEntry, before: Entry | undefined): Promise<[KnownEntry | undefined, Wanted]> {
    const known = before && isKnown(before) ? await this.#withHash(entry.path, before) : undefined;
    const after = wantedOf(entry);
    if (entry.type !== "file") return [known, after];
    const twin = known?.type === "file" && known.sha256 === undefined && seemsSame(known, entry);
    return [known, twin ? after : { ...after, sha256: await this.#hashOf(entry) }];
  }

  async #withHash(path: string, entry: KnownEntry): Promise<KnownEntry> {
    if (entry.type !== "file") return entry;
    const sha256 = await hashAt(this.#comparison.anchor, path, entry);
    return sha256 === undefined ? entry : { ...entry, sha256 };
  }

  async #hashOf({ content, bytes, path }: StagedEntry): Promise<string> {
    if (!content) throw new Error(`no content is known for ${path}`);
    const handle = await (content.kind === "workspace"
      ? this.#comparison.anchor.at(content.path, openToRead)
      : openOwn(content.path));
    return using(handle, (open) => sha256Of(open, bytes));
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
    await this.#add({ path, before: await this.#withHash(path, entry) });
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

function wantedOf(entry: StagedEntry): Wanted {
  const { type, mtimeNs, content, blocks } = entry;
  if (type === "symlink") return { type, mode: 0o777, target: entry.target ?? "", mtimeNs };
  if (type === "folder") return { type, mode: entry.mode, mtimeNs };
  return { type: "file", mode: entry.mode, bytes: entry.bytes, mtimeNs, blocks, ...(content && { content }) };
}

function isSame(before: KnownEntry, after: Wanted): boolean {
  if (before.type !== after.type) return false;
  if (before.type === "symlink") return before.target === after.target;
  if (before.mode !== after.mode) return false;
  return before.type === "folder" || (before.bytes === after.bytes && before.sha256 === after.sha256);
}

/** A file we may not read: what copying it up leaves alone has to do. */
function seemsSame(before: Entry, entry: StagedEntry): boolean {
  return before.bytes === entry.bytes && before.mtimeNs === entry.mtimeNs;
}
