import { Box, Text } from "ink";
import { Fragment } from "react";
import { hintLines, type KeyHint } from "../keys/prompt-hints.ts";
import { type Drawn, h, useLook } from "./element.ts";

/** Keys and what they do. */
export function KeyHints({ hints, width }: { hints: readonly KeyHint[]; width: number }): Drawn {
  const lines = hintLines(hints, width);
  return h(
    Box,
    { flexDirection: "column" },
    ...lines.map((line) => h(HintLine, { key: line[0]?.[0] ?? "", line })),
  );
}

function HintLine({ line }: { line: readonly KeyHint[] }) {
  const { paint } = useLook();
  return h(
    Text,
    { wrap: "truncate-end" },
    ...line.map(([key, what], index) =>
      h(
        Fragment,
        { key },
        index === 0 ? "" : "  ",
        h(Text, paint("accent"), key),
        h(Text, paint("faint"), ` ${what}`),
      ),
    ),
  );
}
