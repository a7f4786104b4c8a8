import { markerOf } from "../marker.ts";
import { type Cut, cutOut, type TextRule } from "./rule.ts";

const marker = markerOf("CARD");
/** Digits with at most one space or dash between them; taken whole, so that no part is looked at twice. */
const DIGITS = /\d(?:[ -]?\d){12,}/g;
const SHORTEST = 13;
const LONGEST = 19;
/** First digits that card networks use. Times in milli-, micro- and nanoseconds begin with 1. */
const ISSUER = /^(?:4|5[0-8]|2(?:22[1-9]|2[3-9]|[3-6]|7[01]|720)|3[04-9]|6)/;
/** Simpler than the pattern above, so that text without numbers is passed over quickly. */
const POSSIBLE = /\d[\d -]{11}/;

/** Payment cards that pass the Luhn check. */
export const cards: TextRule = (text) => (POSSIBLE.test(text) ? cutOut(text, found(text)) : text);

/** Whether a number as it stands in JSON is a payment card. */
export function isCardNumber(value: number): boolean {
  return Number.isSafeInteger(value) && isCard(String(value));
}

function* found(text: string): Generator<Cut> {
  for (const { 0: run, index } of text.matchAll(DIGITS)) {
    const before = text.charAt(index - 1);
    const after = text.slice(index + run.length, index + run.length + 2);
    if (!/[\w.]/.test(before) && !/^(?:\w|\.\d)/.test(after)) yield* inRun(run, index);
  }
}

/** A run may hold several numbers: every group of digits may begin one that ends with a later group. */
function* inRun(run: string, at: number): Generator<Cut> {
  const groups = [...run.matchAll(/\d+/g)];
  for (let first = 0; first < groups.length; first += 1) {
    const last = cardFrom(groups, first);
    if (last === undefined) continue;
    const { index, 0: digits } = groups[last] as RegExpExecArray;
    yield { start: at + (groups[first]?.index ?? 0), end: at + index + digits.length, marker };
    first = last;
  }
}

function cardFrom(groups: readonly RegExpExecArray[], first: number): number | undefined {
  let digits = "";
  for (let last = first; last < groups.length; last += 1) {
    digits += groups[last]?.[0];
    if (digits.length > LONGEST) return undefined;
    if (isCard(digits)) return last;
  }
  return undefined;
}

function isCard(digits: string): boolean {
  return digits.length >= SHORTEST && digits.length <= LONGEST && ISSUER.test(digits) && passesLuhn(digits);
}

function passesLuhn(digits: string): boolean {
  let sum = 0;
  for (let at = digits.length - 1, doubled = false; at >= 0; at -= 1, doubled = !doubled) {
    const digit = digits.charCodeAt(at) - 48;
    const twice = digit * 2;
    sum += doubled ? (twice > 9 ? twice - 9 : twice) : digit;
  }
  return sum % 10 === 0;
}
