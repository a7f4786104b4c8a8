import type { InterruptedBatch } from "@sallyport/engine/loop";
import { Box, Text } from "ink";
import { hintLines, type KeyHint } from "../keys/prompt-hints.ts";
import { interruptedCall, introOf } from "../recovery-text.ts";
import { cleanLine } from "../state/clean.ts";
import { type Drawn, h, useLook } from "./element.ts";
import { KeyHints } from "./key-hints.ts";

const HINTS: readonly KeyHint[] = [
  ["r", "resume with these results"],
  ["d", "discard them: every call counts as failed"],
];

interface RecoveryProps {
  batch: InterruptedBatch;
  rows: number;
  columns: number;
  armed: boolean;
}

/** An earlier process ended in the middle of a batch: what is known of it, and what can be done (FR-RES-05). */
export function RecoveryView({ batch, rows, columns, armed }: RecoveryProps): Drawn {
  const { border, paint, glyphs, colour } = useLook();
  const keys = hintLines(HINTS, columns - 2).length;
  // The title, what is known, the keys, the status line, and a row that stays free.
  const left = rows - 4 - keys;
  const framed = left >= batch.calls.length + 4;
  const room = left - (framed ? 4 : 0);
  const shown = batch.calls.slice(0, room >= batch.calls.length ? room : Math.max(1, room - 1));
  const more = batch.calls.length - shown.length;
  const frame = { borderStyle: border, paddingX: 1, ...(colour && { borderColor: "yellow" }) };
  return h(
    Box,
    { flexDirection: "column", flexShrink: 0, marginTop: framed ? 1 : 0 },
    h(
      Box,
      { flexDirection: "column", flexShrink: 0, ...(framed && frame) },
      h(Text, { ...paint("strong"), wrap: "truncate-end" }, "This conversation was interrupted"),
      h(Text, { wrap: "truncate-end" }, introOf(batch)),
      ...shown.map((call) => h(RecoveredCall, { key: call.index, call })),
      more > 0 && room > 1 ? h(Text, paint("faint"), `  ${glyphs.ellipsis} and ${more} more`) : null,
      framed ? h(Text, paint("faint"), "Nothing runs again, whatever you choose.") : null,
    ),
    h(Box, { paddingX: 1 }, h(KeyHints, { width: columns - 2, hints: HINTS, most: keys, armed })),
  );
}

function RecoveredCall({ call }: { call: InterruptedBatch["calls"][number] }) {
  const { glyphs, paint } = useLook();
  const { result } = call;
  const mark = result === undefined ? glyphs.refused : result.isError ? glyphs.failed : glyphs.done;
  const tone = result === undefined ? "careful" : result.isError ? "bad" : "good";
  const what = result === undefined ? "no result: it may have run, or not" : cleanLine(result.content);
  return h(
    Text,
    { wrap: "truncate-end" },
    h(Text, paint(tone), `${mark} `),
    h(Text, paint("strong"), interruptedCall(call)),
    "  ",
    what,
  );
}
