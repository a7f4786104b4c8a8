import { Box, Text } from "ink";
import type { Draft } from "../keys/draft.ts";
import { DraftView } from "./draft-view.ts";
import { type Drawn, h, useLook } from "./element.ts";

/** In a lower window nothing is spent on a rule: what was said last has to be seen too. */
const ROOMY_ROWS = 10;

/** The line, or lines, the person writes in. */
export function InputView({ draft, columns, rows }: { draft: Draft; columns: number; rows: number }): Drawn {
  const { glyphs, paint } = useLook();
  const roomy = rows >= ROOMY_ROWS;
  const height = Math.max(1, Math.floor(rows / 3));
  const hint = h(Text, { ...paint("faint"), wrap: "truncate-end" }, "Say something, or /help");
  return h(
    Box,
    { flexDirection: "column", flexShrink: 0, marginTop: roomy ? 1 : 0 },
    roomy ? h(Text, { ...paint("faint"), wrap: "truncate-end" }, glyphs.rule.repeat(columns)) : null,
    h(
      Box,
      null,
      h(Box, { width: 2, flexShrink: 0 }, h(Text, paint("accent"), glyphs.user)),
      h(DraftView, { draft, width: columns - 2, height }),
      draft.text === "" ? hint : null,
    ),
  );
}
