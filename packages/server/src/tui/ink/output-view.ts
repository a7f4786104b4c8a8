import { Box, Text } from "ink";
import { type OutputRing, ringWindow } from "../state/output-ring.ts";
import { type Drawn, h, useLook } from "./element.ts";

/** What a running call writes: the last lines, or where the person has scrolled to (FR-TUI-03). */
export function OutputView({ ring, rows, name }: { ring: OutputRing; rows: number; name: string }): Drawn {
  const { glyphs, paint, border } = useLook();
  const { rows: shown, below } = ringWindow(ring, rows);
  if (shown.length === 0) return null;
  const hint =
    below > 0
      ? `${glyphs.down} ${below} more ${below === 1 ? "line" : "lines"} below (PgDn)`
      : `${ring.total} ${ring.total === 1 ? "line" : "lines"}${ring.total > rows ? `, PgUp scrolls` : ""}`;
  return h(
    Box,
    { flexDirection: "column", borderStyle: border, borderDimColor: true, paddingX: 1, marginLeft: 2 },
    ...shown.map((line, index) => h(Text, { key: index, wrap: "truncate-end" }, line === "" ? " " : line)),
    h(Text, { ...paint(below > 0 ? "careful" : "faint"), wrap: "truncate-end" }, `${name}: ${hint}`),
  );
}
