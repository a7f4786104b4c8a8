import { Box, Text } from "ink";
import { type Drawn, h, useLook } from "./element.ts";

const KEYS = [
  ["a", "approve all"],
  ["d, Esc", "deny all; d asks for a reason"],
  ["space", "select; Enter runs the selected, denies the rest"],
  ["j k, arrows", "to the next or previous call"],
  ["p / v", "what would change / the arguments"],
  ["PgUp PgDn", "scroll them"],
  ["e", "edit the arguments first"],
  ["A", "also allow calls like it from now on"],
] as const;

/** What the keys of the prompt do. */
export function ApprovalHelp({ rows }: { rows: number }): Drawn {
  const { paint } = useLook();
  return h(
    Box,
    { flexDirection: "column", flexShrink: 0 },
    ...KEYS.slice(0, rows).map(([key, what]) =>
      h(Text, { key, wrap: "truncate-end" }, h(Text, paint("accent"), key.padEnd(12)), what),
    ),
  );
}
