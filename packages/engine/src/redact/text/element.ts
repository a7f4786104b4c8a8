import type { FieldJudge } from "../field-name.ts";
import type { Hiding } from "../hiding.ts";
import { isMarker, REDACTED } from "../marker.ts";
import { isPlaceholder } from "./placeholder.ts";
import type { TextRule } from "./rule.ts";

const ELEMENT = /<([\w:.-]{2,48})(?:\s[^<>]{0,200})?>([^<]+)(?=<\/)/g;

/** `<password>hunter2</password>`. */
export function elementValues(judge: FieldJudge, hiding: Hiding): TextRule {
  return (text) => {
    if (!text.includes("</")) return text;
    return text.replace(ELEMENT, (all: string, name: string, value: string, at: number) => {
      if (judge(name) === "ordinary" || isNone(value.trim())) return all;
      const end = at + all.length;
      return hiding.element(text, { name, value: { start: end - value.length, end } })
        ? all.slice(0, -value.length) + REDACTED
        : all;
    });
  };
}

function isNone(value: string): boolean {
  return value === "" || isMarker(value) || isPlaceholder(value);
}
