import { Box, Text } from "ink";
import type { Draft } from "../keys/draft.ts";
import { DraftView } from "./draft-view.ts";
import { type Drawn, h, useLook } from "./element.ts";

/** A small editor of several lines. */
export function EditorView({ draft, width, height }: { draft: Draft; width: number; height: number }): Drawn {
  const { glyphs, paint } = useLook();
  const line = `${glyphs.rule.repeat(2)} Edit the arguments `;
  const rule = glyphs.rule.repeat(Math.max(0, width - line.length));
  return h(
    Box,
    { flexDirection: "column" },
    h(Text, { ...paint("accent"), wrap: "truncate-end" }, line + rule),
    h(DraftView, { draft, width, height }),
  );
}
