import type { JournaledCall, OpenBatch } from "@sallyport/engine/loop";
import { Box, Text } from "ink";
import { introOf } from "../recovery-text.ts";
import { cleanLine } from "../state/clean.ts";
import { type Drawn, h, useLook } from "./element.ts";
import { KeyHints } from "./key-hints.ts";

/** An earlier process ended in the middle of a batch: what is known of it, and what can be done (FR-RES-05). */
export function RecoveryView({
  batch,
  rows,
  columns,
}: {
  batch: OpenBatch;
  rows: number;
  columns: number;
}): Drawn {
  const { border, paint, glyphs, colour } = useLook();
  const shown = batch.calls.slice(0, Math.max(2, rows - 13));
  const more = batch.calls.length - shown.length;
  return h(
    Box,
    { flexDirection: "column", marginTop: 1 },
    h(
      Box,
      { flexDirection: "column", borderStyle: border, paddingX: 1, ...(colour && { borderColor: "yellow" }) },
      h(Text, paint("strong"), "This conversation was interrupted"),
      h(Text, null, introOf(batch)),
      ...shown.map((call) => h(RecoveredCall, { key: call.index, call })),
      more > 0 ? h(Text, paint("faint"), `  ${glyphs.ellipsis} and ${more} more`) : null,
      h(Text, paint("faint"), "Nothing runs again, whatever you choose."),
    ),
    h(
      Box,
      { paddingX: 1 },
      h(KeyHints, {
        width: columns - 2,
        hints: [
          ["r", "resume with these results"],
          ["d", "discard them: every call counts as failed"],
        ],
      }),
    ),
  );
}

function RecoveredCall({ call }: { call: JournaledCall }) {
  const { glyphs, paint } = useLook();
  const { result, name, id } = call;
  const mark = result === undefined ? glyphs.refused : result.isError ? glyphs.failed : glyphs.done;
  const tone = result === undefined ? "careful" : result.isError ? "bad" : "good";
  const what = result === undefined ? "no result: it may have run, or not" : cleanLine(result.content);
  return h(
    Text,
    { wrap: "truncate-end" },
    h(Text, paint(tone), `${mark} `),
    h(Text, paint("strong"), cleanLine(name)),
    h(Text, paint("faint"), ` ${cleanLine(id)}  `),
    what,
  );
}
