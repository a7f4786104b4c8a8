import { Box, Text } from "ink";
import type { Tone } from "../look.ts";
import type { Entry } from "../state/screen-state.ts";
import { CallLine } from "./call-line.ts";
import { type Drawn, h, useLook } from "./element.ts";

/** Something finished. */
export function EntryView({ entry }: { entry: Entry }): Drawn {
  switch (entry.kind) {
    case "user":
      return h(UserText, { text: entry.text });
    case "assistant":
    case "reasoning":
      return h(SpeechText, entry);
    case "call":
      return h(CallLine, { call: entry.call });
    case "notice":
      return h(NoticeText, entry);
    case "block":
      return h(BlockText, entry);
  }
}

function UserText({ text }: { text: string }) {
  const { glyphs, paint } = useLook();
  return h(
    Box,
    { marginTop: 1 },
    h(Box, { width: 2, flexShrink: 0 }, h(Text, paint("accent"), glyphs.user)),
    h(Text, paint("strong"), text),
  );
}

/** What the model says; a mark stands where an answer begins. */
export function SpeechText({
  kind,
  text,
  first,
}: {
  kind: "assistant" | "reasoning";
  text: string;
  first: boolean;
}): Drawn {
  const { glyphs, paint } = useLook();
  const thinking = kind === "reasoning";
  const mark = first ? h(Text, paint(thinking ? "faint" : "accent"), glyphs.assistant) : null;
  return h(
    Box,
    { marginTop: first ? 1 : 0 },
    h(Box, { width: 2, flexShrink: 0 }, mark),
    h(Text, paint(thinking ? "faint" : undefined), text === "" ? " " : text),
  );
}

const NOTICE_TONES = { info: "faint", warning: "careful", error: "bad" } as const satisfies Record<
  string,
  Tone
>;

function NoticeText({ level, text }: { level: keyof typeof NOTICE_TONES; text: string }) {
  const { glyphs, paint } = useLook();
  const mark = { info: glyphs.dot, warning: glyphs.warning, error: glyphs.failed }[level];
  return h(
    Box,
    null,
    h(Box, { width: 2, flexShrink: 0 }, h(Text, paint(NOTICE_TONES[level]), mark)),
    h(Text, paint(NOTICE_TONES[level]), text),
  );
}

function BlockText({ title, lines }: { title: string; lines: readonly string[] }) {
  const { paint } = useLook();
  return h(
    Box,
    { flexDirection: "column", marginTop: 1, paddingLeft: 2 },
    h(Text, paint("accent"), title),
    ...lines.map((line, index) => h(Text, { key: index }, line === "" ? " " : line)),
  );
}
