import type { FieldJudge } from "../field-name.ts";
import { isMarker, REDACTED } from "../marker.ts";
import { isPlaceholder } from "./placeholder.ts";
import type { TextRule } from "./rule.ts";

const ELEMENT = /<([\w:.-]{2,48})(?:\s[^<>]{0,200})?>([^<]+)(?=<\/)/g;

/** `<password>hunter2</password>`. */
export function elementValues(judge: FieldJudge): TextRule {
  return (text) => {
    if (!text.includes("</")) return text;
    return text.replace(ELEMENT, (all, name: string, value: string) =>
      judge(name) === "ordinary" || isNone(value.trim()) ? all : all.slice(0, -value.length) + REDACTED,
    );
  };
}

function isNone(value: string): boolean {
  return value === "" || isMarker(value) || isPlaceholder(value);
}
