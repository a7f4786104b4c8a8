import { Box, Text } from "ink";
import type { ScreenInfo } from "../chat-commands.ts";
import { cutCells, textCells } from "../state/cell-width.ts";
import { cleanLine } from "../state/clean.ts";
import type { ScreenState } from "../state/screen-state.ts";
import { type Drawn, h, useLook } from "./element.ts";

const BETWEEN = 3;

interface StatusProps {
  info: ScreenInfo;
  loop: ScreenState["loop"];
  busy: boolean;
  columns: number;
}

/** Model, mode, folder, state and tokens; where it is narrow the less important parts go. */
export function StatusLine({ info, loop, busy, columns }: StatusProps): Drawn {
  const { glyphs, paint } = useLook();
  const parts = [stateWord(loop, busy), info.model, info.mode, info.folder, tokensText(info.tokens)];
  const kept = fitting(parts.filter((part) => part !== "").map(cleanLine), columns - 2, glyphs.ellipsis);
  return h(
    Box,
    null,
    h(Text, paint(busy ? "careful" : "good"), ` ${kept[0]}`),
    h(
      Text,
      { ...paint("faint"), wrap: "truncate-end" },
      kept
        .slice(1)
        .map((part) => ` ${glyphs.dot} ${part}`)
        .join(""),
    ),
  );
}

/** The parts that fit, from the first on; the model's name is cut rather than left out. */
function fitting(parts: readonly string[], room: number, mark: string): string[] {
  const kept: string[] = [];
  let left = room;
  for (const [index, part] of parts.entries()) {
    const text = index < 2 ? cutCells(part, left, mark) : part;
    if (textCells(text) > left) continue;
    kept.push(text);
    left -= textCells(text) + BETWEEN;
  }
  return kept;
}

/** What goes on, in a word. */
export function stateWord(loop: ScreenState["loop"], busy: boolean): string {
  switch (loop.state) {
    case "streaming":
      return "answering";
    case "awaiting_approval":
      return "asks you";
    case "awaiting_results":
      return "needs results";
    case "executing":
      return "running tools";
    case "recovery":
      return "recovery";
    case "idle":
      return busy ? "working" : "ready";
  }
}

function tokensText(tokens: number | undefined): string {
  if (tokens === undefined) return "";
  return tokens < 1_000 ? `${tokens} tokens` : `${(tokens / 1_000).toFixed(1)}k tokens`;
}
