import { textCells } from "../state/cell-width.ts";
import { type ApprovalPrompt, currentOf, type PromptTask } from "./approval-prompt.ts";

/** A key and what it does. */
export type KeyHint = readonly [key: string, what: string];

const BETWEEN = 2;

const HINTS: Record<PromptTask["task"], readonly KeyHint[]> = {
  choose: [
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
    ["Enter", "choose"],
    ["j k", "the others"],
    ["Esc", "back"],
  ],
  edit: [
    ["Ctrl-S", "use these"],
    ["Esc", "back"],
  ],
};

/** The keys that mean something now. */
export function promptHints(prompt: ApprovalPrompt): readonly KeyHint[] {
  const { doing, words, asked } = prompt;
  if (doing.task !== "choose") return HINTS[doing.task];
  const hints = chooseHints(prompt);
  if (words.size === 0) return hints;
  const rest = asked.length - words.size;
  return [["Enter", rest === 0 ? "run" : `run ${words.size}, deny ${rest}`], ...hints];
}

/** One call is approved, several are all approved; what cannot be allowed beforehand is not offered to be. */
function chooseHints(prompt: ApprovalPrompt): KeyHint[] {
  const all: KeyHint = ["a", prompt.asked.length === 1 ? "approve" : "all"];
  const rest = HINTS.choose.filter(([key]) => key !== "A" || (currentOf(prompt)?.scopes.length ?? 0) > 0);
  return [all, ...rest];
}

/** What comes first while keys do not count yet. */
export const NOT_YET: KeyHint = ["one moment,", "then"];

/** The lines there is room for. Where not all fit, help comes third: it tells of the others. */
export function fittingHints(
  hints: readonly KeyHint[],
  { width, most }: { width: number; most: number },
): KeyHint[][] {
  const whole = hintLines(hints, width);
  const help = hints.find(([key]) => key === "?");
  if (whole.length <= most || help === undefined) return whole.slice(0, most);
  const others = hints.filter((hint) => hint !== help);
  const before = others[0] === NOT_YET ? 3 : 2;
  return hintLines([...others.slice(0, before), help, ...others.slice(before)], width).slice(0, most);
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
