import { Box, Text } from "ink";
import { Fragment } from "react";
import { fittingHints, type KeyHint, NOT_YET } from "../keys/prompt-hints.ts";
import { type Drawn, h, useLook } from "./element.ts";

interface HintsProps {
  hints: readonly KeyHint[];
  width: number;
  /** Rows there are for them. */
  most: number;
  /** False while no key counts: they are dim, and it is said. */
  armed: boolean;
}

/** Keys and what they do. */
export function KeyHints({ hints, width, most, armed }: HintsProps): Drawn {
  const lines = fittingHints(armed ? hints : [NOT_YET, ...hints], { width, most });
  return h(
    Box,
    { flexDirection: "column", flexShrink: 0 },
    ...lines.map((line) => h(HintLine, { key: line[0]?.[0] ?? "", line, armed })),
  );
}

function HintLine({ line, armed }: { line: readonly KeyHint[]; armed: boolean }) {
  const { paint } = useLook();
  return h(
    Text,
    { wrap: "truncate-end" },
    ...line.map(([key, what], index) =>
      h(
        Fragment,
        { key },
        index === 0 ? "" : "  ",
        h(Text, paint(armed ? "accent" : "faint"), key),
        h(Text, paint("faint"), ` ${what}`),
      ),
    ),
  );
}
