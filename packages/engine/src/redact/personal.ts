import type { TextRule } from "./hide-rules.ts";
import {
  AFTER_ESCAPE,
  type Cut,
  charSet,
  hasRun,
  isAfterEscape,
  markerOf,
  matches,
  type RunShape,
  runsIn,
} from "./text.ts";

/** From the sign outwards: looking back first would cost at every letter of every word. */
const EMAIL =
  /(?:@|%40)(?<=(?<local>[\p{L}\p{N}_.+'-]{1,64})(?:@|%40))(?:[\p{L}\p{N}][\p{L}\p{N}-]{0,62}\.){1,8}(?<top>\p{L}{2,24})(?![\p{L}\p{N}])/gu;
/** `icon@2x.png` */
const SCALED_IMAGE = /^@\d(?:\.\d)?x\./;

/** Addresses of people; not `git@host:path` and `ssh://user@host`, which are addresses of machines. */
export const emails: TextRule = {
  sign: /@|%40/,
  *cuts(text, { hide }) {
    for (const { 0: found, index, groups } of text.matchAll(EMAIL)) {
      const local = (groups?.local ?? "").replace(/^[^\p{L}\p{N}_]+/u, "");
      const end = index + found.length;
      const start = index - local.length;
      const isHost = text.startsWith("://", start - 3) || (local === "git" && text.charAt(end) === ":");
      if (local === "" || isHost || SCALED_IMAGE.test(found)) continue;
      if (hide.part(text, { start, end })) yield { start, end, marker: markerOf("EMAIL") };
    }
  },
};

const SSN = new RegExp(
  `(?:(?<![\\w-])|${AFTER_ESCAPE})(?!000|666|9)\\d{3}([- ])(?!00)\\d{2}\\1(?!0000)\\d{4}(?![\\w-])`,
  "g",
);

/** United States social security numbers, written with their separators. */
export const socialSecurityNumbers: TextRule = {
  sign: /\d{3}[- ]\d{2}[- ]\d{4}/,
  cuts: (text) => matches(text, SSN, markerOf("SSN")),
};

const PHONE =
  /(?<![\w.+-])(?:\+\d{1,3}[ .-]?(?:\(\d{1,4}\)[ .-]?)?\d{1,4}(?:[ .-]?\d{2,4}){1,4}|(?:1[ .-])?(?:\(\d{3}\) ?|\d{3}[ .-])\d{3}[ .-]\d{4})(?![\w-]|\.\d)/g;

/** Telephone numbers: international ones with a plus, and North American ones. */
export const phones: TextRule = { sign: /\d/, cuts: (text) => matches(text, PHONE, markerOf("PHONE")) };

const OCTET = "(?:25[0-5]|2[0-4]\\d|1?\\d?\\d)";
const IPV4 = new RegExp(`(?<![\\w.])(?:${OCTET}\\.){3}${OCTET}(?![\\w]|\\.\\d)`, "g");

export const ipAddresses: TextRule = { sign: /\d/, cuts: (text) => matches(text, IPV4, markerOf("IPV4")) };

const CARD = markerOf("CARD");
const SHORTEST_CARD = 13;
const LONGEST_CARD = 19;
/** Numbers as they are written, with spaces and dashes. */
const NUMBERS: RunShape = { set: charSet("0123456789 -"), shortest: SHORTEST_CARD };
/** First digits that card networks use. Times in milli-, micro- and nanoseconds begin with 1. */
const ISSUER = /^(?:4|5[0-8]|2(?:22[1-9]|2[3-9]|[3-6]|7[01]|720)|3[04-9]|6)/;

/** Payment cards that pass the Luhn check. */
export const cards: TextRule = {
  sign: hasRun(NUMBERS),
  *cuts(text) {
    for (const { start, end } of runsIn(text, NUMBERS))
      for (const cut of cardsIn(text.slice(start, end), start)) if (standsAlone(text, cut)) yield cut;
  },
};

/** Whether a number as it stands in JSON is a payment card. */
export function isCardNumber(value: number): boolean {
  return Number.isSafeInteger(value) && cardEnd(String(value), 0) !== -1;
}

/** Part of a word, an id or a fraction is no card. */
function standsAlone(text: string, { start, end }: Cut): boolean {
  if (/^(?:\w|\.\d)/.test(text.slice(end, end + 2))) return false;
  return !/[\w.]/.test(text.charAt(start - 1)) || isAfterEscape(text, start);
}

/** A run may hold several numbers: every group of digits may begin one that ends with a later group. */
function* cardsIn(run: string, offset: number): Generator<Cut> {
  for (let start = 0; start < run.length; start += 1) {
    if (!isDigit(run, start) || (start > 0 && isDigit(run, start - 1))) continue;
    const end = cardEnd(run, start);
    if (end === -1) continue;
    yield { start: offset + start, end: offset + end, marker: CARD };
    start = end;
  }
}

/** Where a card number that begins at `start` ends, or -1. Luhn doubles other digits when their number is odd. */
function cardEnd(run: string, start: number): number {
  let forEven = 0;
  let forOdd = 0;
  let count = 0;
  for (let at = start; at < run.length && count < LONGEST_CARD; at += 1) {
    if (!isDigit(run, at)) {
      if (!isDigit(run, at + 1)) return -1;
      continue;
    }
    const digit = run.charCodeAt(at) - ZERO;
    const doubled = digit < 5 ? digit * 2 : digit * 2 - 9;
    forEven += count % 2 === 0 ? doubled : digit;
    forOdd += count % 2 === 0 ? digit : doubled;
    count += 1;
    const passes = count >= SHORTEST_CARD && (count % 2 === 0 ? forEven : forOdd) % 10 === 0;
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
