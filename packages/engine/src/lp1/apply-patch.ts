import { comparedWith } from "./apply-section.ts";
import { OpenFile, openFile } from "./open-file.ts";
import type { Lp1Operation, Lp1Patch, Lp1Section } from "./patch.ts";
import { type Lp1Problem, problemAt } from "./problem.ts";
import { Work } from "./work.ts";

/** How the caller's files are known here. */
export interface PatchFiles {
  /** The one name of a file, however its path is written. Sections with the same key go on where the last one ended. */
  keyOf(path: string): string;
  /** Its bytes before the patch, or undefined when it does not exist. Asked once for each key. */
  read(key: string): Buffer | undefined;
}

/** What the patch makes of one file. `path` is as its first section wrote it. */
export type PatchedFile =
  | { kind: "created" | "modified"; key: string; path: string; content: Buffer }
  | { kind: "unchanged"; key: string; path: string };

/** All files that the patch names, in the order in which it first names them. */
export interface AppliedPatch {
  kind: "applied";
  files: PatchedFile[];
}

interface Staged {
  key: string;
  path: string;
  before: Buffer | undefined;
  operations: Lp1Operation[];
  file: OpenFile | undefined;
}

/** Runs a whole patch without writing anything. The first problem in any section ends it, and then nothing has changed. */
export function applyPatch(patch: Lp1Patch, files: PatchFiles): AppliedPatch | Lp1Problem {
  const work = new Work();
  const keyed = patch.sections.map((section) => ({ section, key: files.keyOf(section.path) }));
  const staged = stage(keyed);
  for (const { section, key } of keyed) {
    const problem = runSection(section, staged.get(key), { files, work });
    if (problem !== undefined) return { ...problem, path: section.path };
  }
  return { kind: "applied", files: Array.from(staged.values(), patchedFile) };
}

/** A file is opened for all its operations at once, so that many sections on it do not read it many times. */
function stage(keyed: readonly { section: Lp1Section; key: string }[]): Map<string, Staged> {
  const staged = new Map<string, Staged>();
  for (const { section, key } of keyed) {
    const entry = staged.get(key) ?? {
      key,
      path: section.path,
      before: undefined,
      operations: [],
      file: undefined,
    };
    for (const operation of section.operations) entry.operations.push(operation);
    staged.set(key, entry);
  }
  return staged;
}

function runSection(
  section: Lp1Section,
  entry: Staged | undefined,
  { files, work }: { files: PatchFiles; work: Work },
): Lp1Problem | undefined {
  if (entry === undefined) return undefined;
  if (entry.file === undefined) {
    entry.before = files.read(entry.key);
    const file = openFile(entry.before, entry.operations);
    if (!(file instanceof OpenFile)) return problemAt(section.line, file);
    entry.file = file;
  }
  return entry.file.run(section.operations, work);
}

function patchedFile({ key, path, before, file }: Staged): PatchedFile {
  const outcome = comparedWith(before, file?.content() ?? Buffer.alloc(0));
  if (outcome.kind === "unchanged") return { kind: "unchanged", key, path };
  return { kind: before === undefined ? "created" : "modified", key, path, content: outcome.content };
}
