import { escapeTail } from "./escapes.ts";

/** A set of ASCII characters. */
export type CharSet = Uint8Array;

const ASCII = 128;

export function charSet(chars: string): CharSet {
  const set = new Uint8Array(ASCII);
  for (const char of chars) set[char.charCodeAt(0)] = 1;
  return set;
}

const LETTERS_AND_DIGITS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
/** What words, names and tokens are made of. */
export const WORD_CHARS = `${LETTERS_AND_DIGITS}_-`;
export const BASE64_CHARS = `${LETTERS_AND_DIGITS}+/`;

/**
 * Where the next run of at least `shortest` characters of the set begins at or after `from`; -1 when there is none.
 * Jumps like a string search: prose has no such runs, and most of it is never looked at.
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

export interface RunShape {
  set: CharSet;
  shortest: number;
}

/** The text with every run of the shape put through `change`; the end of an escape before it is no part of a run. */
export function changeRuns(
  text: string,
  shape: RunShape,
  change: (run: string, start: number) => string,
): string {
  let done = 0;
  let kept = "";
  let end = 0;
  for (let start = nextRun(text, shape); start !== -1; start = nextRun(text, shape, end)) {
    end = runEnd(text, shape, start);
    const own = start + escapeTail(text, start);
    const run = text.slice(own, end);
    const changed = change(run, own);
    if (changed === run) continue;
    kept += text.slice(done, own) + changed;
    done = end;
  }
  return done === 0 ? text : kept + text.slice(done);
}

function runEnd(text: string, { set, shortest }: RunShape, start: number): number {
  let end = start + shortest;
  while (end < text.length && isIn(set, text.charCodeAt(end))) end += 1;
  return end;
}

/** Where the characters of the set that end before `end` begin, looking back no further than `first`. */
export function startOfRun(
  text: string,
  set: CharSet,
  { end, first }: { end: number; first: number },
): number {
  let start = end;
  while (start > first && isIn(set, text.charCodeAt(start - 1))) start -= 1;
  return start;
}

function isIn(set: CharSet, code: number): boolean {
  return code < ASCII && set[code] === 1;
}
