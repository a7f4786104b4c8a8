/** A part of a text. */
export interface Span {
  start: number;
  end: number;
}

/** A part of a text and the marker to put there. */
export interface Cut extends Span {
  marker: string;
}

/** A cut for every match of a global pattern, empty ones left out. */
export function* matches(text: string, pattern: RegExp, marker: string): Generator<Cut> {
  for (const { 0: found, index } of text.matchAll(pattern))
    if (found !== "") yield { start: index, end: index + found.length, marker };
}

/**
 * Where the first match of `stop` (a global pattern) begins at or after `from`; the end of the text when there is none.
 * To look for the end takes no memory; a pattern that swallows the value a piece at a time fails on very long ones.
 */
export function firstStop(text: string, stop: RegExp, from: number): number {
  stop.lastIndex = from;
  return stop.exec(text)?.index ?? text.length;
}

/** Stands where a value was taken out because of the name of its field. */
export const REDACTED = "[REDACTED]";

/** Stands where text was taken out because of its own look, and says what it looked like. */
export function markerOf(type: string): string {
  return `[REDACTED_${type}]`;
}

const MARKER = /^\[REDACTED(?:_[A-Z0-9_]+)?\]$/;
const LONGEST_MARKER = 64;

/** Whether a value is plainly not a secret: empty, a marker, or a placeholder. */
export function isNoSecret(value: string): boolean {
  return value === "" || (value.length <= LONGEST_MARKER && MARKER.test(value)) || isPlaceholder(value);
}

/** Words in place of a secret: a type, a missing value, the beginning of a sentence. */
const WORDS = new Set(
  (
    "null nil none undefined true false yes no empty unset missing required optional invalid expired revoked incorrect " +
    "wrong denied rejected redacted hidden masked unknown any never void string str text number int integer boolean bool " +
    "object array bytes buffer readonly new await async function typeof field must should is are was be not cannot can " +
    "may will the a an this that it they we you what which who if when where then and or but for from to in on of by " +
    "with as at all each one see use"
  ).split(" "),
);
const LONGEST_WORD = 9;

/** A variable that is replaced later, or signs such as `***`. */
const REFERENCE =
  /^(?:\$\{{1,2}[^}]{0,200}\}{1,2}|\{\{[^}]{0,200}\}\}|<[\w -]{1,60}>|%[sdv]|\$[A-Z][A-Z0-9_]{2,60}|(?:process\.env|import\.meta\.env|os\.environ|secrets)\.\w{1,60}|[A-Z_]{0,40}(?:TOKEN|KEY|SECRET|PASSWORD)[A-Z_]{0,20}|[?$]\d{0,3}|[*•.]{3,}|[xX]{3,})$/;

/** Code that gets a value from elsewhere: a call, a field of something commonly used, a type, an empty list. */
const CODE =
  /^(?:[A-Za-z_]{2,40}(?:\.[A-Za-z_]{1,40}){0,6}(?:\(|\[|<)|(?:this|self|req|request|res|config|options|opts|env|props|params|args|input|ctx|context|state|settings)\??\.[\w.?]{1,80}$|\([\w, ]{0,80}\) ?=>|\[\s*\]$|\/\*)/;

/** Whether a value stands for a secret instead of being one. */
export function isPlaceholder(value: string): boolean {
  if (value.length <= LONGEST_WORD && WORDS.has(value.toLowerCase())) return true;
  return REFERENCE.test(value) || CODE.test(value);
}

/** A set of ASCII characters. */
type CharSet = Uint8Array;

const ASCII = 128;

export function charSet(chars: string): CharSet {
  const set = new Uint8Array(ASCII);
  for (const char of chars) set[char.charCodeAt(0)] = 1;
  return set;
}

export function isIn(set: CharSet, code: number): boolean {
  return code < ASCII && set[code] === 1;
}

const LETTERS_AND_DIGITS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
/** What words, names and tokens are made of. */
export const WORD_CHARS = `${LETTERS_AND_DIGITS}_-`;
export const BASE64_CHARS = `${LETTERS_AND_DIGITS}+/`;

/** A run: at least `shortest` characters of the set. */
export interface RunShape {
  set: CharSet;
  shortest: number;
}

/**
 * Where the next run begins at or after `from`; -1 when there is none. Jumps like a string search: prose has no such
 * runs, and most of it is never looked at.
 */
export function nextRun(text: string, { set, shortest }: RunShape, from = 0): number {
  let before = from - 1;
  while (before + shortest < text.length) {
    let at = before + shortest;
    while (at > before && isIn(set, text.charCodeAt(at))) at -= 1;
    if (at === before) return before + 1;
    before = at;
  }
  return -1;
}

/** Tests whether a text has such a run. */
export function hasRun(shape: RunShape): { test(text: string): boolean } {
  return { test: (text) => nextRun(text, shape) !== -1 };
}

/** Every run; the end of an escape before it is no part of it. */
export function* runsIn(text: string, shape: RunShape): Generator<Span> {
  let end = 0;
  for (let start = nextRun(text, shape); start !== -1; start = nextRun(text, shape, end)) {
    end = start + shape.shortest;
    while (end < text.length && isIn(shape.set, text.charCodeAt(end))) end += 1;
    yield { start: start + escapeTail(text, start), end };
  }
}

/** Where the characters of the set that end before `end` begin, looking back no further than `first`. */
export function startOfRun(text: string, set: CharSet, { start: first, end }: Span): number {
  let start = end;
  while (start > first && isIn(set, text.charCodeAt(start - 1))) start -= 1;
  return start;
}

/** The end of an escape (`%20`, `\n`, `\u003d`): something new begins after it, though letters or digits stand before it. */
export const AFTER_ESCAPE = "(?<=%[0-9A-Fa-f]{2}|\\\\[nrt]|\\\\u[0-9A-Fa-f]{4})";
const AFTER = new RegExp(`${AFTER_ESCAPE}$`);
const ESCAPE = /^(?:%[0-9A-Fa-f]{2}|\\[nrt]|\\u[0-9A-Fa-f]{4})/;

/** Whether an escape ends before `at`. */
export function isAfterEscape(text: string, at: number): boolean {
  return AFTER.test(text.slice(Math.max(0, at - 6), at));
}

/** How many characters from `at` on belong to an escape whose sign stands before them. */
function escapeTail(text: string, at: number): number {
  const sign = text.charCodeAt(at - 1);
  if (sign !== 0x25 && sign !== 0x5c) return 0;
  return (ESCAPE.exec(text.slice(at - 1, at + 5))?.[0].length ?? 1) - 1;
}

const HEX = /^(?:0x)?[0-9a-fA-F]*$/;
const HEX_AND_SEPARATORS = /^[0-9a-fA-F_-]*$/;
const SEPARATORS = /[-_]+/;
/** Shorter parts are words and the groups of a UUID. */
const SHORTEST_PART = 14;
const LEAST_ENTROPY = 3.6;

/**
 * Whether a run of letters and digits was made by chance. Hexadecimal is not: it may be a digest or an id, and nothing
 * tells a key from those. Words give themselves away by their long stretches of small or of capital letters.
 */
export function looksRandom(run: string): boolean {
  if (HEX_AND_SEPARATORS.test(run)) return false;
  const parts = run.split(SEPARATORS);
  if (!parts.some((part) => part.length >= SHORTEST_PART && !HEX.test(part))) return false;
  const letters = parts.filter((part) => !HEX.test(part) || part.length < 8).join("");
  return isMixed(letters) && entropy(letters) >= LEAST_ENTROPY;
}

/** Names have one or two numbers in them. */
const FEW_NUMBERS = 3;
/** Mean lengths of stretches of one case: chance makes short ones, words in one case have no others between them. */
const SHORT_STRETCH = 2.8;
const WORD_STRETCH = 4;
const LONG_STRETCH = 9;

const SMALL = 0;
const CAPITAL = 1;
const DIGIT = 2;

function isMixed(text: string): boolean {
  const totals = [0, 0, 0];
  const stretches = [0, 0, 0];
  let before = -1;
  for (let at = 0; at < text.length; at += 1) {
    const kind = kindOf(text.charCodeAt(at));
    totals[kind] = (totals[kind] ?? 0) + 1;
    if (kind !== before) stretches[kind] = (stretches[kind] ?? 0) + 1;
    before = kind;
  }
  const mean = (kind: number) => (totals[kind] ?? 0) / Math.max(1, stretches[kind] ?? 0);
  const oneCase = totals[SMALL] === 0 || totals[CAPITAL] === 0;
  const hasNumbers = (stretches[DIGIT] ?? 0) >= FEW_NUMBERS;
  const longest = Math.max(mean(SMALL), mean(CAPITAL));
  if (oneCase) return hasNumbers && longest <= LONG_STRETCH;
  return longest <= (hasNumbers ? WORD_STRETCH : SHORT_STRETCH);
}

function kindOf(code: number): number {
  if (code >= 0x61) return SMALL;
  return code >= 0x41 ? CAPITAL : DIGIT;
}

/** Shannon's, in bits per character. */
function entropy(text: string): number {
  const counts = new Uint16Array(128);
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    counts[code] = (counts[code] ?? 0) + 1;
  }
  let bits = 0;
  for (const count of counts) if (count > 0) bits -= (count / text.length) * Math.log2(count / text.length);
  return bits;
}
