import { wrapCells } from "../state/cell-width.ts";
import type { Draft } from "./draft.ts";

/** A draft in rows of a width: a window of them around the cursor, and which of these the cursor is in. */
export function draftRows(
  { text, cursor }: Draft,
  { width, height }: { width: number; height: number },
): { rows: Draft[]; row: number; above: number } {
  const rows: Draft[] = [];
  let row = 0;
  let at = 0;
  for (const line of text.split("\n")) {
    for (const part of wrapCells(line, width)) {
      if (cursor >= at && cursor <= at + part.length) row = rows.length;
      rows.push({ text: part, cursor: Math.min(Math.max(0, cursor - at), part.length) });
      at += part.length;
    }
    at += 1;
  }
  const above = Math.max(0, Math.min(row - Math.floor(height / 2), rows.length - height));
  return { rows: rows.slice(above, above + height), row: row - above, above };
}
