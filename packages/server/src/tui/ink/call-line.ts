import { Box, Text } from "ink";
import type { Tone } from "../look.ts";
import type { CallStanding, ShownCall } from "../state/screen-state.ts";
import { ChangedFiles } from "./changed-files.ts";
import { type Drawn, h, useLook } from "./element.ts";
import { Spinner } from "./spinner.ts";

/** One call: its state, its name, one line about it, and what it came to (FR-TUI-02). */
export function CallLine({ call }: { call: ShownCall }): Drawn {
  const { paint, glyphs } = useLook();
  const { standing, name, summary, tail, lineCount } = call;
  const why = reasonOf(standing);
  const more = lineCount - tail.length;
  return h(
    Box,
    { flexDirection: "column", paddingLeft: 2 },
    h(
      Box,
      null,
      h(Box, { width: 2, flexShrink: 0 }, h(StateMark, { standing })),
      h(
        Text,
        { wrap: "wrap" },
        h(Text, paint("strong"), name),
        summary === "" ? "" : `  ${summary}`,
        why === "" ? null : h(Text, paint(toneOf(standing)), ` ${glyphs.dot} ${why}`),
      ),
    ),
    more > 0 ? h(Text, paint("faint"), `    ${glyphs.ellipsis} ${more} lines before`) : null,
    ...tail.map((line, index) =>
      h(Text, { ...paint("faint"), wrap: "truncate-end", key: index }, `    ${glyphs.bar} ${line}`),
    ),
    h(ChangedFiles, { files: call.files, more: call.moreFiles }),
  );
}

function StateMark({ standing }: { standing: CallStanding }) {
  const { glyphs, paint } = useLook();
  if (standing.state === "executing") return h(Spinner);
  const mark = {
    incoming: glyphs.ellipsis.slice(0, 1),
    pending: glyphs.pending,
    asking: glyphs.asking,
    resolved: glyphs.refused,
    completed: standing.state === "completed" && standing.isError ? glyphs.failed : glyphs.done,
  }[standing.state];
  return h(Text, paint(toneOf(standing)), mark);
}

function toneOf(standing: CallStanding): Tone {
  if (standing.state === "completed") return standing.isError ? "bad" : "good";
  if (standing.state === "asking") return "careful";
  return standing.state === "resolved" ? "careful" : "faint";
}

/** Why it did not run or what went wrong; empty when there is nothing to say. */
export function reasonOf(standing: CallStanding): string {
  if (standing.state === "resolved") return standing.reason;
  return standing.state === "completed" && standing.isError ? standing.said || "failed" : "";
}
