import type { FileEffects } from "@sallyport/protocol";
import type { Tone } from "../look.ts";
import { wrapCells } from "./cell-width.ts";
import { changedFiles, diffBody } from "./changed-files.ts";

/** A row of a window that can be scrolled. */
export interface DetailRow {
  tone?: Tone;
  text: string;
}

/** Lines that are shown of one preview or of one call's arguments; the rest is said to be missing. */
const MOST_LINES = 5_000;

/** What a call would change, file by file. Long lines are broken and not cut: nothing may hide behind the edge. */
export function changeRows(effects: FileEffects, width: number): DetailRow[] {
  const { files } = changedFiles({ ...effects, omitted: 0 });
  const rows = effects.files.flatMap((file, index): DetailRow[] => {
    const known = files[index];
    const counts = known === undefined ? "" : countsText(known);
    const from = file.from === undefined ? "" : `${file.from} -> `;
    const head: DetailRow = { tone: "strong", text: `${file.change} ${from}${file.path}${counts}` };
    const note = file.note === undefined ? [] : [{ tone: "careful", text: file.note } as const];
    return [head, ...note, ...diffBody(file.diff ?? "").map(diffRow)];
  });
  if (effects.omitted > 0) rows.push({ tone: "careful", text: `and ${effects.omitted} more files` });
  if (effects.diffsCut)
    rows.push({ tone: "careful", text: "Some of the differences are too long to be shown." });
  return wrapped(rows, width);
}

function countsText({ added, removed }: { added: number; removed: number }): string {
  return added + removed === 0 ? "" : `  (+${added} -${removed})`;
}

function diffRow(line: string): DetailRow {
  if (line.startsWith("+")) return { tone: "good", text: line };
  if (line.startsWith("-")) return { tone: "bad", text: line };
  return line.startsWith("@@") ? { tone: "accent", text: line } : { text: line };
}

/** Arguments as JSON. */
export function argumentRows(json: string, width: number): DetailRow[] {
  return wrapped(
    json.split("\n").map((text) => ({ text })),
    width,
  );
}

function wrapped(rows: readonly DetailRow[], width: number): DetailRow[] {
  const broken = rows
    .slice(0, MOST_LINES)
    .flatMap((row) => wrapCells(row.text, width).map((text) => ({ ...row, text })));
  if (rows.length <= MOST_LINES) return broken;
  return [...broken, { tone: "careful", text: `${rows.length - MOST_LINES} more lines are not shown.` }];
}
