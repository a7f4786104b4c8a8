import { Box, Text } from "ink";
import type { Draft } from "../keys/draft.ts";
import { wrapCells } from "../state/cell-width.ts";
import { DraftText } from "./draft-text.ts";
import { h, useLook } from "./element.ts";

/** A small editor of several lines; the window follows the cursor. */
export function EditorView({ draft, width, height }: { draft: Draft; width: number; height: number }) {
  const { glyphs, paint } = useLook();
  const line = `${glyphs.rule.repeat(2)} Edit the arguments `;
  const { lines, row } = rowsAround(draft, width - 1);
  const start = Math.max(0, Math.min(row - Math.floor(height / 2), lines.length - height));
  return h(
    Box,
    { flexDirection: "column" },
    h(
      Text,
      { ...paint("accent"), wrap: "truncate-end" },
      line + glyphs.rule.repeat(Math.max(0, width - line.length)),
    ),
    ...lines
      .slice(start, start + height)
      .map((part, index) => h(DraftText, { key: start + index, draft: part, shown: start + index === row })),
  );
}

/** The text in rows of the width, and which of them the cursor is in. */
function rowsAround({ text, cursor }: Draft, width: number): { lines: Draft[]; row: number } {
  const lines: Draft[] = [];
  let row = 0;
  let at = 0;
  for (const line of text.split("\n")) {
    for (const part of wrapCells(line, width)) {
      if (cursor >= at && cursor <= at + part.length) row = lines.length;
      lines.push({ text: part, cursor: Math.min(Math.max(0, cursor - at), part.length) });
      at += part.length;
    }
    at += 1;
  }
  return { lines, row };
}
