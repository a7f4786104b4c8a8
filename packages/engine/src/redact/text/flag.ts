import type { FieldJudge } from "../field-name.ts";
import type { Hiding } from "../hiding.ts";
import { secretAt } from "./named-secret.ts";
import { type Cut, cutOut, type TextRule } from "./rule.ts";

const FLAG = /(?<![\w-])--([A-Za-z][\w-]{1,40})[ \t]{1,4}(?![-\s])/g;

/** `--password hunter2`. */
export function flagValues(judge: FieldJudge, hiding: Hiding): TextRule {
  return (text) => (text.includes("--") ? cutOut(text, flags(text, judge, hiding)) : text);
}

function* flags(text: string, judge: FieldJudge, hiding: Hiding): Generator<Cut> {
  for (const { 0: flag, 1: name = "", index } of text.matchAll(FLAG)) {
    const cut = secretAt(text, { name, kind: judge(name), at: index + flag.length, isLoose: false });
    if (cut && hiding.flag(text, { start: index, value: cut })) yield cut;
  }
}
