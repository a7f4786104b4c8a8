import type { FileChange, FileEffects } from "@sallyport/protocol";

/** A file that a call changed, in one line. */
export interface ChangedFile {
  mark: string;
  path: string;
  added: number;
  removed: number;
}

/** Files that are named; more are counted. */
const NAMED = 8;

const MARKS: Record<FileChange, string> = {
  added: "A",
  edited: "M",
  deleted: "D",
  renamed: "R",
  mode: "m",
  replaced: "T",
};

/** The files of a call's effects, and how many more there are. */
export function changedFiles(effects: FileEffects | undefined): { files: ChangedFile[]; more: number } {
  if (effects === undefined) return { files: [], more: 0 };
  const files = effects.files.slice(0, NAMED).map(({ change, path, from, diff }) => ({
    mark: MARKS[change],
    path: from === undefined ? path : `${from} -> ${path}`,
    ...diffCounts(diff ?? ""),
  }));
  return { files, more: effects.files.length - files.length + effects.omitted };
}

/** How many lines a unified diff adds and removes. */
export function diffCounts(diff: string): { added: number; removed: number } {
  const lines = diffBody(diff);
  return {
    added: lines.filter((line) => line.startsWith("+")).length,
    removed: lines.filter((line) => line.startsWith("-")).length,
  };
}

/** The lines of a unified diff from its first hunk on. */
export function diffBody(diff: string): string[] {
  if (diff === "") return [];
  const lines = diff.replace(/\n$/, "").split("\n");
  const first = lines.findIndex((line) => line.startsWith("@@"));
  return first === -1 ? lines.filter((line) => !/^(?:---|\+\+\+)/.test(line)) : lines.slice(first);
}
