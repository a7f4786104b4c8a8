import { markerOf } from "../marker.ts";
import { escapeTail, isAfterEscape } from "./escapes.ts";
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
  return Number.isSafeInteger(value) && cardEnd(String(value), 0) !== -1;
}

function* found(text: string): Generator<Cut> {
  for (const { 0: run, index } of text.matchAll(DIGITS)) {
    const start = index + escapeTail(text, index);
    if (standsAlone(text, start, index + run.length))
      yield* inRun(text.slice(start, index + run.length), start);
  }
}

/** Part of a word, an id or a fraction is no card. */
function standsAlone(text: string, start: number, end: number): boolean {
  if (/^(?:\w|\.\d)/.test(text.slice(end, end + 2))) return false;
  return !/[\w.]/.test(text.charAt(start - 1)) || isAfterEscape(text, start);
}

/** A run may hold several numbers: every group of digits may begin one that ends with a later group. */
function* inRun(run: string, at: number): Generator<Cut> {
  for (let start = 0; start < run.length; start += 1) {
    if (start > 0 && isDigit(run, start - 1)) continue;
    const end = cardEnd(run, start);
    if (end === -1) continue;
    yield { start: at + start, end: at + end, marker };
    start = end;
  }
}

/** Where a card number that begins at `start` ends, or -1. Luhn doubles other digits when their number is odd. */
function cardEnd(run: string, start: number): number {
  let forEven = 0;
  let forOdd = 0;
  let count = 0;
  for (let at = start; at < run.length && count < LONGEST; at += 1) {
    if (!isDigit(run, at)) continue;
    const digit = run.charCodeAt(at) - ZERO;
    const doubled = digit < 5 ? digit * 2 : digit * 2 - 9;
    forEven += count % 2 === 0 ? doubled : digit;
    forOdd += count % 2 === 0 ? digit : doubled;
    count += 1;
    const passes = count >= SHORTEST && (count % 2 === 0 ? forEven : forOdd) % 10 === 0;
    if (passes && !isDigit(run, at + 1) && isIssued(run, start)) return at + 1;
  }
  return -1;
}

function isIssued(run: string, start: number): boolean {
  return ISSUER.test(run.slice(start, start + 8).replaceAll(/\D/g, ""));
}

const ZERO = 0x30;

function isDigit(text: string, at: number): boolean {
  const digit = text.charCodeAt(at) - ZERO;
  return digit >= 0 && digit <= 9;
}
