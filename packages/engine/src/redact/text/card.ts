import { markerOf } from "../marker.ts";
import { isAfterEscape } from "./escapes.ts";
import { changeRuns, charSet, type RunShape } from "./long-run.ts";
import { type Cut, cutOut, type TextRule } from "./rule.ts";

const marker = markerOf("CARD");
/** Numbers as they are written, with spaces and dashes. */
const NUMBERS: RunShape = { set: charSet("0123456789 -"), shortest: 13 };
const SHORTEST = 13;
const LONGEST = 19;
/** First digits that card networks use. Times in milli-, micro- and nanoseconds begin with 1. */
const ISSUER = /^(?:4|5[0-8]|2(?:22[1-9]|2[3-9]|[3-6]|7[01]|720)|3[04-9]|6)/;

/** Payment cards that pass the Luhn check. */
export const cards: TextRule = (text) =>
  changeRuns(text, NUMBERS, (run, at) => {
    const cuts = [...inRun(run)].filter(({ start, end }) => standsAlone(text, at + start, at + end));
    return cutOut(run, cuts);
  });

/** Whether a number as it stands in JSON is a payment card. */
export function isCardNumber(value: number): boolean {
  return Number.isSafeInteger(value) && cardEnd(String(value), 0) !== -1;
}

/** Part of a word, an id or a fraction is no card. */
function standsAlone(text: string, start: number, end: number): boolean {
  if (/^(?:\w|\.\d)/.test(text.slice(end, end + 2))) return false;
  return !/[\w.]/.test(text.charAt(start - 1)) || isAfterEscape(text, start);
}

/** A run may hold several numbers: every group of digits may begin one that ends with a later group. */
function* inRun(run: string): Generator<Cut> {
  for (let start = 0; start < run.length; start += 1) {
    if (!isDigit(run, start) || (start > 0 && isDigit(run, start - 1))) continue;
    const end = cardEnd(run, start);
    if (end === -1) continue;
    yield { start, end, marker };
    start = end;
  }
}

/** Where a card number that begins at `start` ends, or -1. Luhn doubles other digits when their number is odd. */
function cardEnd(run: string, start: number): number {
  let forEven = 0;
  let forOdd = 0;
  let count = 0;
  for (let at = start; at < run.length && count < LONGEST; at += 1) {
    if (!isDigit(run, at)) {
      if (!isDigit(run, at + 1)) return -1;
      continue;
    }
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
