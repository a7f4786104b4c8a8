import type { FieldJudge, FieldKind } from "./field-name.ts";
import type { TextRule } from "./text/rule.ts";

/** What a field's name says, and how the name itself is shown. */
export interface JudgedName {
  kind: FieldKind;
  shown: string;
}

const MOST_NAMES = 2_000;
const LONGEST_NAME = 64;

/**
 * Judges names, remembering the judgement: calls use the same few names over and over, and this is done for each field
 * of each input. The memory is bounded, and keeps no name that was a secret itself.
 */
export function rememberedNames(judge: FieldJudge, text: TextRule): (name: string) => JudgedName {
  const known = new Map<string, JudgedName>();
  return (name) => {
    const before = known.get(name);
    if (before) return before;
    const judged = { kind: judge(name), shown: text(name) };
    if (judged.shown !== name || name.length > LONGEST_NAME) return judged;
    if (known.size >= MOST_NAMES) known.clear();
    known.set(name, judged);
    return judged;
  };
}
