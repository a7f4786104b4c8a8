import { Text } from "ink";
import type { Draft } from "../keys/draft.ts";
import { graphemesOf } from "../state/cell-width.ts";
import { h, useLook } from "./element.ts";

/** Text that is being written, with the cursor in it. */
export function DraftText({ draft, shown = true }: { draft: Draft; shown?: boolean }) {
  const { colour, glyphs } = useLook();
  const before = draft.text.slice(0, draft.cursor);
  const rest = draft.text.slice(draft.cursor);
  if (!shown) return h(Text, null, draft.text === "" ? " " : draft.text);
  if (!colour) return h(Text, null, before, glyphs.cursor, rest);
  const under = graphemesOf(rest)[0] ?? "";
  const cell = under === "" || under === "\n" ? " " : under;
  const after = under === "\n" ? rest : rest.slice(under.length);
  return h(Text, null, before, h(Text, { inverse: true }, cell), after);
}
