import type { JsonValue } from "@sallyport/protocol";
import {
  isBoundByShape,
  isFlagOfItsOwn,
  lastWord,
  type NamedPart,
  referencesIn,
} from "./text/bound-value.ts";
import { holdsCode, isMachineMade, isPlainPart, type Span } from "./text/shell-signs.ts";

/**
 * For whom secrets are taken out. `record`: for what is kept and read later, where too much hidden does no harm.
 * `decision`: for a person who allows what is shown, so that nothing may be hidden that could run (FR-APR-01).
 */
export type Purpose = "record" | "decision";

/** What may be hidden of what the rules find. */
export interface Hiding {
  purpose: Purpose;
  /** A part of a text that is taken for a secret by its look. */
  part(text: string, span: Span): boolean;
  /** As `part`, for credentials that a space parts from what announces them. */
  apart(text: string, span: Span): boolean;
  /** Asks about the values of names in one text. */
  pairs(text: string): (pair: NamedPart) => boolean;
  /** A value after a flag that begins at `start`. */
  flag(text: string, flag: { start: number; value: Span }): boolean;
  /** What an element of this name holds. */
  element(text: string, element: { name: string; value: Span }): boolean;
  /** The value of a secret field. */
  field(value: JsonValue): boolean;
  /** An item of a list after a secret flag. */
  item(items: readonly JsonValue[], at: number): boolean;
}

const anything = () => true;

const FOR_RECORD: Hiding = {
  purpose: "record",
  part: anything,
  apart: anything,
  pairs: () => anything,
  flag: anything,
  element: anything,
  field: anything,
  item: anything,
};

const FOR_DECISION: Hiding = {
  purpose: "decision",
  part: isPlainPart,
  apart: isMade,
  pairs: (text) => {
    const isReferredTo = referencesIn(text);
    return (pair) => isPlainPart(text, pair.value) && (isMade(text, pair.value) || isOwn(pair));
    function isOwn(pair: NamedPart): boolean {
      const { start, end } = lastWord(text, pair.name);
      return isBoundByShape(text, pair) && !isReferredTo(text.slice(start, end));
    }
  },
  flag: (text, { start, value }) =>
    isPlainPart(text, value) && (isMade(text, value) || isFlagOfItsOwn(text, start)),
  // To a shell `<name>value` writes to a file; an element closes under the name it opened with.
  element: (text, { name, value }) => isPlainPart(text, value) && text.startsWith(`</${name}>`, value.end),
  field: (value) => !mayRun(value),
  item: (items, at) => {
    const value = items[at] ?? null;
    const option = items[at - 2];
    // An option before the flag may have taken the flag for its value.
    if (typeof option === "string" && option.startsWith("-"))
      return typeof value === "string" && isMachineMade(value);
    return !mayRun(value);
  },
};

function isMade(text: string, { start, end }: Span): boolean {
  return isMachineMade(text.slice(start, end)) && isPlainPart(text, { start, end });
}

/** Larger values are taken for ones that could run; then what is secret in them is hidden one by one. */
const MOST_VALUES = 1_000;

/** Whether any text in a value could run. */
function mayRun(value: JsonValue): boolean {
  const waiting: JsonValue[] = [value];
  for (let looked = 0; waiting.length > 0; looked += 1) {
    const next = waiting.pop();
    if (looked >= MOST_VALUES) return true;
    if (typeof next === "string" && holdsCode(next)) return true;
    if (typeof next !== "object" || next === null) continue;
    const entries = Object.entries(next);
    if (entries.length > MOST_VALUES) return true;
    for (const [name, inner] of entries) waiting.push(name, inner);
  }
  return false;
}

/** The rules of a purpose. */
export function hidingFor(purpose: Purpose): Hiding {
  return purpose === "decision" ? FOR_DECISION : FOR_RECORD;
}
