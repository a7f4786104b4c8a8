import { isUtf8 } from "node:buffer";
import { forDecision } from "@sallyport/engine/host";
import { createTwoFilesPatch, FILE_HEADERS_ONLY, formatPatch } from "diff";

/** How many lines may differ before working the smallest difference out costs more than it shows. */
const MOST_EDITS = 1_000;
const NO_NEWLINE = "\\ No newline at end of file";

/** A file's name and content on one side; no name where it is not there. */
export interface DiffSide {
  path?: string;
  content: Buffer;
}

/** `whole`: the texts have so little in common that one is shown as taken away and the other as put in its place. */
export type TextDiff = { kind: "text" | "whole"; diff: string } | { kind: "binary" };

/**
 * The difference of two texts in the usual form, secrets taken out. They are taken out of the texts before they are
 * compared, as marks in front of the lines could hide one; and once more of what is shown. A person decides by it: what
 * could run is never hidden.
 */
export function textDiff(before: DiffSide, after: DiffSide): TextDiff {
  if (!isText(before.content) || !isText(after.content)) return { kind: "binary" };
  const old = { name: sideName("a", before), text: forDecision.redactText(before.content.toString()) };
  const fresh = { name: sideName("b", after), text: forDecision.redactText(after.content.toString()) };
  const diff = createTwoFilesPatch(old.name, fresh.name, old.text, fresh.text, undefined, undefined, {
    context: 3,
    maxEditLength: MOST_EDITS,
    headerOptions: FILE_HEADERS_ONLY,
  });
  if (diff !== undefined) return { kind: "text", diff: forDecision.redactText(diff) };
  return { kind: "whole", diff: forDecision.redactText(wholeDiff(old, fresh)) };
}

/** Text that is not UTF-8 counts as binary. */
function isText(content: Buffer): boolean {
  return isUtf8(content) && !content.includes(0);
}

function sideName(prefix: string, { path }: DiffSide): string {
  return path === undefined ? "/dev/null" : `${prefix}/${path}`;
}

interface Named {
  name: string;
  text: string;
}

function wholeDiff(old: Named, fresh: Named): string {
  const [gone, come] = [marked("-", old.text), marked("+", fresh.text)];
  const [oldLines, newLines] = [countLines(gone), countLines(come)];
  const hunk = { oldStart: oldLines > 0 ? 1 : 0, oldLines, newStart: newLines > 0 ? 1 : 0, newLines };
  return formatPatch(
    {
      oldFileName: old.name,
      newFileName: fresh.name,
      oldHeader: undefined,
      newHeader: undefined,
      hunks: [{ ...hunk, lines: [...gone, ...come] }],
    },
    FILE_HEADERS_ONLY,
  );
}

function marked(mark: string, text: string): string[] {
  if (text === "") return [];
  const lines = text.split("\n");
  const isEnded = lines.at(-1) === "";
  const shown = (isEnded ? lines.slice(0, -1) : lines).map((line) => `${mark}${line}`);
  return isEnded ? shown : [...shown, NO_NEWLINE];
}

function countLines(lines: readonly string[]): number {
  return lines.at(-1) === NO_NEWLINE ? lines.length - 1 : lines.length;
}
