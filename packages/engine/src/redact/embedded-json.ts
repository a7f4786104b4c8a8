import type { JsonValue } from "@sallyport/protocol";
import { type Criteria, GIVEN_UP } from "./json-walk.ts";
import { redactShallow } from "./redact-json.ts";

/** Longer texts are searched by pattern only: parsing them would cost more than it finds. */
const LONGEST = 64 * 1024;

/**
 * A text that is a JSON object or array, redacted as such, so that its field names count; itself when there was nothing
 * to take out, undefined when it is no such text. Redacted JSON is written anew, without its spaces.
 */
export function redactEmbedded(text: string, criteria: Criteria): string | undefined {
  if (text.length >= LONGEST || !looksLikeJson(text)) return undefined;
  const value = parsed(text);
  if (value === undefined || (criteria.hiding.purpose === "decision" && !isRewritable(text, value)))
    return undefined;
  const kept = redactShallow(value, criteria);
  if (kept === GIVEN_UP) return undefined;
  return kept === value ? text : JSON.stringify(kept);
}

/**
 * Whether the text written anew says all that it said: a name that stands twice would be lost, and lines too, which to a
 * shell are commands.
 */
function isRewritable(text: string, value: JsonValue): boolean {
  if (/[\n\r]/.test(text)) return false;
  return text.replaceAll(/("(?:[^"\\]|\\.)*")|\s+/g, "$1") === JSON.stringify(value);
}

function looksLikeJson(text: string): boolean {
  const trimmed = text.trim();
  const ends = trimmed.charAt(0) + trimmed.charAt(trimmed.length - 1);
  return ends === "{}" || ends === "[]";
}

/** Most texts in brackets are not JSON: that is an answer, not a fault. */
function parsed(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}
