import type { FileEffect, FileEffects } from "@sallyport/protocol";
import type { Anchor } from "./anchor.ts";
import { type Change, type ChangeSet, isModeOnly } from "./change.ts";
import { compileDenied, HIGH_RISK } from "./denied-paths.ts";
import type { FileHandle } from "./disk.ts";
import { NO_FILE, stateOf } from "./entry.ts";
import { openToRead, using } from "./file-content.ts";
import { dayOf } from "./file-times.ts";
import { digestOf, stateAfter } from "./proof.ts";
import { openContent } from "./put-content.ts";
import { byPath, nameOf } from "./relative-path.ts";
import type { SmallContents } from "./small-contents.ts";
import { unless } from "./system-error.ts";
import { textDiff } from "./text-diff.ts";

/**
 * Files that are gone from one path and new at another with the same content. Of several candidates the one with the
 * same name wins, then the first. Empty files are all alike and never count as moved.
 */
export function findRenames(changes: readonly Change[]): Map<Change, Change> {
  const gone = Map.groupBy(changes.filter(isGoneFile), ({ before }) => before?.sha256 ?? "");
  const renames = new Map<Change, Change>();
  for (const change of changes.filter(isNewFile)) {
    const candidates = gone.get(change.after?.sha256 ?? "") ?? [];
    const index = Math.max(
      0,
      candidates.findIndex(({ path }) => nameOf(path) === nameOf(change.path)),
    );
    const [from] = candidates.splice(index, 1);
    if (from) renames.set(change, from);
  }
  return renames;
}

function isGoneFile({ before, after }: Change): boolean {
  return after === undefined && before?.type === "file" && before.bytes !== 0 && Boolean(before.sha256);
}

function isNewFile({ before, after }: Change): boolean {
  return before === undefined && after?.type === "file" && after.bytes !== 0;
}

/** How much of the effects is kept with a call. */
export interface EffectBounds {
  files: number;
  /** Of one diff, and of all together. */
  diffBytes: number;
  allDiffBytes: number;
  /** Larger files are not compared line by line. */
  comparedBytes: number;
}

export const DEFAULT_BOUNDS: EffectBounds = {
  files: 200,
  diffBytes: 64 * 1024,
  allDiffBytes: 256 * 1024,
  comparedBytes: 1024 * 1024,
};

/** How much is read for diffs, in multiples of the largest file that is compared. */
const MOST_READING = 16;
/** How many diffs may turn out to be more work than they are worth. */
const MOST_COSTLY = 10;

const isHighRisk = compileDenied(HIGH_RISK);

/** What a call changes, as it is shown and recorded. The digest covers everything, also what is left out. */
export async function effectsOf(
  set: ChangeSet,
  anchor: Anchor,
  bounds: EffectBounds = DEFAULT_BOUNDS,
): Promise<FileEffects> {
  const renames = findRenames(set.changes);
  const moved = new Set(renames.values());
  const shown = set.changes.filter((change) => !moved.has(change));
  const refusals = new Map(set.denied.map(({ path, why }) => [path, why]));
  // What deserves a look first: many harmless changes must not push it out of the list.
  const deservesLook = ({ path }: Change) => refusals.has(path) || isHighRisk(path);
  const listed = [...shown.filter(deservesLook), ...shown.filter((change) => !deservesLook(change))].slice(
    0,
    bounds.files,
  );
  const diffs = new Diffs(anchor, bounds, set.small);
  const files: FileEffect[] = [];
  for (const change of listed) {
    const effect = await effectOf(change, renames.get(change), diffs);
    const why = refusals.get(change.path);
    files.push(why === undefined ? effect : noted(effect, `a commit is refused: it ${why}`));
  }
  return {
    root: anchor.root,
    files: files.sort(byPath),
    omitted: shown.length - listed.length,
    diffsCut: diffs.isCut || shown.length > listed.length,
    digest: digestOf(set.changes),
  };
}

function noted(effect: FileEffect, note: string): FileEffect {
  return { ...effect, note: effect.note === undefined ? note : `${note}; ${effect.note}` };
}

async function effectOf(change: Change, from: Change | undefined, diffs: Diffs): Promise<FileEffect> {
  const before = from?.before ?? change.before;
  const { path, after } = change;
  const diff = from ? {} : await diffs.of(change);
  const notes = [...notesOf(change), ...(diff.note === undefined ? [] : [diff.note])];
  return {
    path,
    change: from ? "renamed" : changeOf(change),
    ...(from && { from: from.path }),
    ...(before && { before: stateOf(before) }),
    ...(after && { after: stateAfter(after) }),
    ...(diff.diff !== undefined && { diff: diff.diff }),
    ...(notes.length > 0 && { note: notes.join("; ") }),
  };
}

function changeOf(change: Change): FileEffect["change"] {
  const { before, after } = change;
  if (!before) return "added";
  if (!after) return "deleted";
  if (before.type !== after.type) return "replaced";
  return isModeOnly(change) ? "mode" : "edited";
}

function notesOf({ path, before, after }: Change): string[] {
  const notes = isHighRisk(path) ? ["high risk: common tools run this by themselves"] : [];
  if (before?.type === "file" && before.nlink > 1 && after)
    notes.push("it had other names (hard links), which keep the old content");
  if (after?.lostTimeNs !== undefined)
    notes.push(`its time, ${dayOf(after.lostTimeNs)}, cannot be kept and becomes ${dayOf(after.mtimeNs)}`);
  if (after?.linkTo !== undefined) notes.push(`another name (hard link) of ${after.linkTo}`);
  if (before?.type === "file" && before.sha256 === undefined) notes.push("its old content could not be read");
  return notes;
}

/** Works out diffs until there is no room for more. */
class Diffs {
  isCut = false;
  readonly #anchor: Anchor;
  readonly #bounds: EffectBounds;
  readonly #small: SmallContents | undefined;
  #room: number;
  #reading: number;
  #costly = 0;

  constructor(anchor: Anchor, bounds: EffectBounds, small: SmallContents | undefined) {
    this.#small = small;
    this.#anchor = anchor;
    this.#bounds = bounds;
    this.#room = bounds.allDiffBytes;
    this.#reading = bounds.comparedBytes * MOST_READING;
  }

  async of(change: Change): Promise<{ diff?: string; note?: string }> {
    const { before, after, path } = change;
    const bytes = (before?.bytes ?? 0) + (after?.bytes ?? 0);
    if (!isAboutContent(change) || bytes === 0) return {};
    if (Math.max(before?.bytes ?? 0, after?.bytes ?? 0) > this.#bounds.comparedBytes)
      return { note: "too large to compare" };
    if (this.#room <= 0 || bytes > this.#reading || this.#costly >= MOST_COSTLY) return this.#cut();
    this.#reading -= bytes;
    const [old, fresh] = [await this.#old(change), await this.#fresh(change)];
    if (!old || !fresh) return {};
    const result = textDiff(
      { content: old, ...(before?.type === "file" && { path }) },
      { content: fresh, ...(after?.type === "file" && { path }) },
    );
    if (result.kind === "binary") return {};
    if (result.kind === "text") return this.#fit(result.diff);
    this.#costly += 1;
    return { note: "replaced as a whole", ...this.#fit(result.diff) };
  }

  #fit(diff: string): { diff?: string; note?: string } {
    const most = Math.min(this.#bounds.diffBytes, this.#room);
    const bytes = Buffer.byteLength(diff);
    this.#room -= Math.min(bytes, most);
    if (bytes <= most) return { diff };
    this.isCut = true;
    const lines = Buffer.from(diff).subarray(0, most).toString().split("\n").slice(0, -1);
    return { diff: `${lines.join("\n")}\n`, note: "the diff is cut" };
  }

  #cut(): { note: string } {
    this.isCut = true;
    return { note: "no room for a diff" };
  }

  async #old({ before, path }: Change): Promise<Buffer | undefined> {
    if (before?.type !== "file") return Buffer.alloc(0);
    const known = this.#small?.get("before", path);
    if (known) return known;
    return contentIfThere(this.#anchor.at(path, openToRead));
  }

  async #fresh({ after, path }: Change): Promise<Buffer | undefined> {
    if (after?.type !== "file" || !after.content) return Buffer.alloc(0);
    const known = this.#small?.get("after", path);
    return known ?? contentIfThere(openContent(after.content, this.#anchor));
  }
}

/** Undefined when it was changed by someone else, or cannot be read: the states say so, and apply will. */
async function contentIfThere(opening: Promise<FileHandle>): Promise<Buffer | undefined> {
  const read = async () => using(await opening, (handle) => handle.readFile());
  return unless(["EACCES", ...NO_FILE], read());
}

function isAboutContent(change: Change): boolean {
  const { before, after } = change;
  return (before?.type === "file" || after?.type === "file") && !isModeOnly(change);
}
