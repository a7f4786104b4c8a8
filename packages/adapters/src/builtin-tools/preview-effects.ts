import type { Failure, FileEffect, FileEffects } from "@sallyport/protocol";
import { type Anchor, anchored } from "../workspace/anchor.ts";
import type { Change } from "../workspace/change.ts";
import { DEFAULT_BOUNDS } from "../workspace/effects.ts";
import { isKnown, look, stateOf } from "../workspace/entry.ts";
import { openToRead, using } from "../workspace/file-content.ts";
import { digestOf, stateAfter } from "../workspace/proof.ts";
import { byPath, nameOf } from "../workspace/relative-path.ts";
import { textDiff } from "../workspace/text-diff.ts";
import { asFailure, codeOf, isSystemTrouble } from "./problems.ts";
import { foldersTo, hashOf, type ReadableFiles } from "./workspace-file.ts";

/** A file as a call would leave it. */
export interface PlannedFile {
  relative: string;
  /** Undefined when it is not there yet. */
  before: Buffer | undefined;
  after: Buffer;
}

/** Works out what a call would do to files. */
export type Plan = (files: ReadableFiles) => Promise<PlannedFile[]>;

/**
 * What a call would change now, in the same form and with the same digest as it will be recorded. Only reads. What the
 * tool itself would refuse it with is the answer when it would; undefined when the system keeps it from telling.
 */
export async function previewOf(root: string, plan: Plan): Promise<FileEffects | Failure | undefined> {
  try {
    return await anchored(root, async (anchor) => effectsOf(anchor, await plan(realFiles(anchor))));
  } catch (error) {
    if (isSystemTrouble(error) || codeOf(error) !== undefined) return undefined;
    return asFailure(error);
  }
}

interface Shown {
  change: Change;
  planned?: PlannedFile;
}

async function effectsOf(anchor: Anchor, planned: readonly PlannedFile[]): Promise<FileEffects> {
  const files = await Promise.all(planned.map((one) => changeOf(anchor, one)));
  const shown = [...(await newFolders(anchor, planned)), ...files].sort((left, right) =>
    byPath(left.change, right.change),
  );
  const diffs = new BoundedDiffs();
  const listed = shown.slice(0, DEFAULT_BOUNDS.files).map((one) => effectOf(one, diffs));
  const omitted = shown.length - listed.length;
  const digest = digestOf(shown.map(({ change }) => change));
  return { root: anchor.root, files: listed, omitted, diffsCut: diffs.isCut || omitted > 0, digest };
}

async function changeOf(anchor: Anchor, planned: PlannedFile): Promise<Shown> {
  const { relative: path, before, after } = planned;
  const entry = before && (await look(anchor, path));
  const known = entry && isKnown(entry) && before ? { ...entry, sha256: hashOf(before) } : undefined;
  const wanted = {
    type: "file",
    mode: known?.mode ?? 0o644,
    bytes: after.length,
    sha256: hashOf(after),
  } as const;
  return { planned, change: { path, ...(known && { before: known }), after: { ...wanted, mtimeNs: "0" } } };
}

/** Folders that are made on the way to new files. */
async function newFolders(anchor: Anchor, planned: readonly PlannedFile[]): Promise<Shown[]> {
  const wanted = planned.flatMap(({ relative, before }) => (before ? [] : foldersTo(relative)));
  const missing: Shown[] = [];
  for (const path of new Set(wanted))
    if (!(await look(anchor, path)))
      missing.push({ change: { path, after: { type: "folder", mode: 0o755, mtimeNs: "0" } } });
  return missing;
}

function effectOf({ change, planned }: Shown, diffs: BoundedDiffs): FileEffect {
  const { path, before, after } = change;
  const diff = planned && diffs.of(planned);
  return {
    path,
    change: before ? "edited" : "added",
    ...(before && { before: stateOf(before) }),
    ...(after && { after: stateAfter(after) }),
    ...diff,
  };
}

/** Diffs, as long as there is room for them. */
class BoundedDiffs {
  isCut = false;
  #room = DEFAULT_BOUNDS.allDiffBytes;

  of({ relative, before, after }: PlannedFile): { diff?: string; note?: string } {
    const largest = Math.max(before?.length ?? 0, after.length);
    if (largest === 0) return {};
    if (largest > DEFAULT_BOUNDS.comparedBytes) return { note: "too large to compare" };
    const old = { content: before ?? Buffer.alloc(0), ...(before && { path: relative }) };
    const found = textDiff(old, { content: after, path: relative });
    return found.kind === "binary" ? {} : this.#fit(found.diff);
  }

  #fit(diff: string): { diff: string; note?: string } {
    const most = Math.min(DEFAULT_BOUNDS.diffBytes, this.#room);
    const bytes = Buffer.byteLength(diff);
    this.#room -= Math.min(bytes, most);
    if (bytes <= most) return { diff };
    this.isCut = true;
    const lines = Buffer.from(diff).subarray(0, most).toString().split("\n").slice(0, -1);
    return { diff: `${lines.join("\n")}\n`, note: "the diff is cut" };
  }
}

/** The workspace as it is now, for looking only; links are not followed. */
function realFiles(anchor: Anchor): ReadableFiles {
  return {
    async stat(relative) {
      const entry = await look(anchor, relative);
      if (!entry) return undefined;
      const { type, bytes = 0, mode, mtimeNs } = entry;
      const modifiedAt = Number(BigInt(mtimeNs) / 1_000_000n);
      return { name: nameOf(relative), type, bytes, mode, modifiedAt };
    },
    async read(relative) {
      return using(await anchor.at(relative, openToRead), (handle) => handle.readFile());
    },
  };
}
