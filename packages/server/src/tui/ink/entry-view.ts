import { Box, Text } from "ink";
import type { Tone } from "../look.ts";
import { wrapText } from "../state/cell-width.ts";
import type { Entry } from "../state/screen-state.ts";
import { CallLine } from "./call-line.ts";
import { type Drawn, h, useLook } from "./element.ts";

/** Before each text stands a mark, or as much room. */
export const MARK_CELLS = 2;

/** Something finished. */
export function EntryView({ entry, columns }: { entry: Entry; columns: number }): Drawn {
  const width = columns - MARK_CELLS;
  switch (entry.kind) {
    case "user":
      return h(UserText, { text: entry.text, width });
    case "assistant":
    case "reasoning":
      return h(SpeechText, { ...entry, width });
    case "call":
      return h(CallLine, { call: entry.call });
    case "notice":
      return h(NoticeText, { ...entry, width });
    case "block":
      return h(BlockText, { ...entry, width });
  }
}

function UserText({ text, width }: { text: string; width: number }) {
  const { glyphs, paint } = useLook();
  return h(
    Box,
    { marginTop: 1 },
    h(Box, { width: MARK_CELLS, flexShrink: 0 }, h(Text, paint("accent"), glyphs.user)),
    h(Text, paint("strong"), wrapText(text, width)),
  );
}

interface SpeechProps {
  kind: "assistant" | "reasoning";
  text: string;
  first: boolean;
  /** Columns for the text. Ink would begin a broken line with the blank at which it was broken. */
  width: number;
}

/** What the model says; a mark stands where an answer begins. */
export function SpeechText({ kind, text, first, width }: SpeechProps): Drawn {
  const { glyphs, paint } = useLook();
  const thinking = kind === "reasoning";
  const mark = first ? h(Text, paint(thinking ? "faint" : "accent"), glyphs.assistant) : null;
  return h(
    Box,
    { marginTop: first ? 1 : 0 },
    h(Box, { width: MARK_CELLS, flexShrink: 0 }, mark),
    h(Text, paint(thinking ? "faint" : undefined), text === "" ? " " : wrapText(text, width)),
  );
}

const NOTICE_TONES = { info: "faint", warning: "careful", error: "bad" } as const satisfies Record<
  string,
  Tone
>;

interface NoticeProps {
  level: keyof typeof NOTICE_TONES;
  text: string;
  width: number;
}

function NoticeText({ level, text, width }: NoticeProps) {
  const { glyphs, paint } = useLook();
  const mark = { info: glyphs.dot, warning: glyphs.warning, error: glyphs.failed }[level];
  return h(
    Box,
    null,
    h(Box, { width: MARK_CELLS, flexShrink: 0 }, h(Text, paint(NOTICE_TONES[level]), mark)),
    h(Text, paint(NOTICE_TONES[level]), wrapText(text, width)),
  );
}

interface BlockProps {
  title: string;
  lines: readonly string[];
  width: number;
}

function BlockText({ title, lines, width }: BlockProps) {
  const { paint } = useLook();
  return h(
    Box,
    { flexDirection: "column", marginTop: 1, paddingLeft: 2 },
    h(Text, paint("accent"), title),
    ...lines.map((line, index) => h(Text, { key: index }, line === "" ? " " : wrapText(line, width))),
  );
}
