import { Box, Text } from "ink";
import type { DetailRow } from "../state/detail-rows.ts";
import { type Drawn, h, useLook } from "./element.ts";

interface DetailProps {
  rows: readonly DetailRow[];
  height: number;
  scroll: number;
}

/** A window over something longer; its last row says how much more there is. */
export function DetailView({ rows, height, scroll }: DetailProps): Drawn {
  const { glyphs, paint } = useLook();
  const room = rows.length <= height ? height : height - 1;
  const start = Math.min(scroll, Math.max(0, rows.length - room));
  const shown = rows.slice(start, start + room);
  const below = rows.length - start - shown.length;
  const hint = below > 0 ? `${glyphs.down} ${below} more (PgDn)` : "the end (PgUp)";
  return h(
    Box,
    { flexDirection: "column" },
    ...shown.map(({ tone, text }, index) =>
      h(Text, { key: start + index, ...paint(tone), wrap: "truncate-end" }, text === "" ? " " : text),
    ),
    rows.length <= height ? null : h(Text, paint("faint"), hint),
  );
}
