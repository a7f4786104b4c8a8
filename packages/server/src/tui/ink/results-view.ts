import { Box, Text } from "ink";
import { cleanLine } from "../state/clean.ts";
import { type Drawn, h, useLook } from "./element.ts";

interface ResultsProps {
  calls: readonly { id: string; name: string; arguments: string }[];
  rows: number;
}

/** Mode parse_only: calls that wait for a result from the person, and how to give it (FR-TUI-04). */
export function ResultsView({ calls, rows }: ResultsProps): Drawn {
  const { border, paint, glyphs } = useLook();
  const shown = calls.slice(0, Math.max(2, Math.floor((rows - 13) / 2)));
  const more = calls.length - shown.length;
  return h(
    Box,
    { flexDirection: "column", borderStyle: border, paddingX: 1, marginTop: 1 },
    h(
      Text,
      paint("strong"),
      calls.length === 1 ? "1 call waits for your result" : `${calls.length} calls wait for your results`,
    ),
    ...shown.map(({ id, name, arguments: given }) =>
      h(
        Box,
        { key: id, flexDirection: "column" },
        h(
          Text,
          { wrap: "truncate-end" },
          `${glyphs.pending} `,
          h(Text, paint("strong"), cleanLine(name)),
          h(Text, paint("accent"), `  ${cleanLine(id)}`),
        ),
        h(Text, { ...paint("faint"), wrap: "truncate-end" }, `    ${cleanLine(given)}`),
      ),
    ),
    more > 0 ? h(Text, paint("faint"), `${glyphs.ellipsis} and ${more} more`) : null,
    h(Text, paint("faint"), "Nothing runs by itself here. Do what the call asks for, then enter"),
    h(Text, null, "  /tool <id> <result>"),
    h(Text, null, "  /tool error <id> <message>"),
  );
}
