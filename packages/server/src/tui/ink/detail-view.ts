import { Box, Text } from "ink";
import type { DetailRow } from "../state/detail-rows.ts";
import { h, useLook } from "./element.ts";

/** A window of rows over something longer. */
export function DetailView({
  rows,
  height,
  scroll,
}: {
  rows: readonly DetailRow[];
  height: number;
  scroll: number;
}) {
  const { glyphs, paint } = useLook();
  const start = Math.min(scroll, Math.max(0, rows.length - height));
  const shown = rows.slice(start, start + height);
  const below = rows.length - start - shown.length;
  const hint = below > 0 ? `${glyphs.down} ${below} more (PgDn)` : start > 0 ? "end (PgUp)" : "";
  return h(
    Box,
    { flexDirection: "column" },
    ...shown.map(({ tone, text }, index) =>
      h(Text, { key: index, ...paint(tone), wrap: "truncate-end" }, text === "" ? " " : text),
    ),
    hint === "" ? null : h(Text, paint("faint"), hint),
  );
}
