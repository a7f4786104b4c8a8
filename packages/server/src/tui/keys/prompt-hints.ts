import { textCells } from "../state/cell-width.ts";
import type { ApprovalPrompt, PromptTask } from "./approval-prompt.ts";

/** A key and what it does. */
export type KeyHint = readonly [key: string, what: string];

const BETWEEN = 2;

const HINTS: Record<PromptTask["task"], readonly KeyHint[]> = {
  choose: [
    ["a", "all"],
    ["d", "deny"],
    ["space", "select"],
    ["e", "edit"],
    ["A", "always"],
    ["p", "changes"],
    ["v", "arguments"],
    ["?", "help"],
  ],
  help: [["any key", "back"]],
  reason: [
    ["Enter", "deny all, with a reason or without"],
    ["Esc", "back"],
  ],
  scope: [
    ["1-9 or Enter", "choose"],
    ["Esc", "back"],
  ],
  edit: [
    ["Ctrl-S", "use these"],
    ["Esc", "back"],
  ],
};

/** The keys that mean something now. */
export function promptHints({ doing, words, asked }: ApprovalPrompt): readonly KeyHint[] {
  if (doing.task !== "choose" || words.size === 0) return HINTS[doing.task];
  const rest = asked.length - words.size;
  return [["Enter", rest === 0 ? "run" : `run ${words.size}, deny ${rest}`], ...HINTS.choose];
}

/** Hints in lines of a width, broken only between two of them. */
export function hintLines(hints: readonly KeyHint[], width: number): KeyHint[][] {
  const lines: KeyHint[][] = [];
  let left = 0;
  for (const hint of hints) {
    const cells = textCells(`${hint[0]} ${hint[1]}`);
    const line = lines.at(-1);
    if (line === undefined || left < cells + BETWEEN) {
      lines.push([hint]);
      left = width - cells;
    } else {
      line.push(hint);
      left -= cells + BETWEEN;
    }
  }
  return lines;
}
