import { Box, Text, useAnimation } from "ink";
import type { Tone } from "../look.ts";
import type { ChangedFile } from "../state/changed-files.ts";
import type { CallStanding, ShownCall } from "../state/screen-state.ts";
import { type Drawn, h, useLook } from "./element.ts";

const FRAME_MS = 100;

/** Turns as long as something is under way. */
function Spinner(): Drawn {
  const { glyphs, paint } = useLook();
  const { frame } = useAnimation({ interval: FRAME_MS });
  return h(Text, paint("accent"), glyphs.spinner[frame % glyphs.spinner.length]);
}

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

/** The files a call changed, with how many lines came and went. */
function ChangedFiles({ files, more }: { files: readonly ChangedFile[]; more: number }): Drawn {
  const { glyphs, paint } = useLook();
  if (files.length === 0) return null;
  const rows = files.map(({ mark, path, added, removed }) =>
    h(
      Box,
      { key: path },
      h(Text, { ...paint("accent") }, `    ${mark} `),
      h(Text, { wrap: "truncate-middle" }, path),
      h(Box, { flexShrink: 0 }, h(LineCounts, { added, removed })),
    ),
  );
  const rest = more > 0 ? h(Text, paint("faint"), `    ${glyphs.ellipsis} and ${more} more`) : null;
  return h(Box, { flexDirection: "column" }, ...rows, rest);
}

/** `+3 −1`, nothing where nothing is known. */
function LineCounts({ added, removed }: { added: number; removed: number }): Drawn {
  const { glyphs, paint } = useLook();
  if (added === 0 && removed === 0) return null;
  return h(
    Text,
    null,
    h(Text, paint("good"), `  +${added}`),
    h(Text, paint("bad"), ` ${glyphs.minus}${removed}`),
  );
}
