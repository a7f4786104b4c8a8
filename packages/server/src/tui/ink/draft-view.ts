import { Box, Text } from "ink";
import type { Draft } from "../keys/draft.ts";
import { draftRows } from "../keys/draft-rows.ts";
import { graphemesOf } from "../state/cell-width.ts";
import { type Drawn, h, useLook } from "./element.ts";

/** Text that is being written, in rows; the window follows the cursor. */
export function DraftView({ draft, width, height }: { draft: Draft; width: number; height: number }): Drawn {
  // One column stays free for the cursor behind the last character.
  const { rows, row, above } = draftRows(draft, { width: width - 1, height });
  return h(
    Box,
    { flexDirection: "column" },
    ...rows.map((part, index) => h(DraftRow, { key: above + index, draft: part, here: index === row })),
  );
}

function DraftRow({ draft, here }: { draft: Draft; here: boolean }) {
  const { colour, glyphs } = useLook();
  const before = draft.text.slice(0, draft.cursor);
  const rest = draft.text.slice(draft.cursor);
  if (!here) return h(Text, { wrap: "truncate-end" }, draft.text === "" ? " " : draft.text);
  if (!colour) return h(Text, { wrap: "truncate-end" }, before, glyphs.cursor, rest);
  const under = graphemesOf(rest)[0] ?? "";
  return h(
    Text,
    { wrap: "truncate-end" },
    before,
    h(Text, { inverse: true }, under === "" ? " " : under),
    rest.slice(under.length),
  );
}
