import { Box, Text } from "ink";
import type { Draft } from "../keys/draft.ts";
import { DraftView } from "./draft-view.ts";
import { type Drawn, h, useLook } from "./element.ts";

/** The line, or lines, the person writes in. */
export function InputView({ draft, columns, rows }: { draft: Draft; columns: number; rows: number }): Drawn {
  const { glyphs, paint } = useLook();
  const hint = h(Text, { ...paint("faint"), wrap: "truncate-end" }, "Say something, or /help");
  return h(
    Box,
    { flexDirection: "column", marginTop: 1 },
    h(Text, { ...paint("faint"), wrap: "truncate-end" }, glyphs.rule.repeat(columns)),
    h(
      Box,
      null,
      h(Box, { width: 2, flexShrink: 0 }, h(Text, paint("accent"), glyphs.user)),
      h(DraftView, { draft, width: columns - 2, height: rows }),
      draft.text === "" ? hint : null,
    ),
  );
}
