import { looksRandom } from "./randomness.ts";

/** From where to where a part of a text reaches. */
export interface Span {
  start: number;
  end: number;
}

/** What a shell could run, chain or redirect by. */
const CODE = /[`;|&<>()\n\r\u0085\u2028\u2029]|\$[({]/;

/** Whether a shell that got the text could run something of it. */
export function holdsCode(text: string): boolean {
  return CODE.test(text);
}

/** What ends a word, quotes, expands or chains. Without it a part of a text stays within one word of a command. */
const NOT_PLAIN = /[\s"'`\\$;|&<>(){}\p{Cc}]/u;

/** Whether the part is plain letters and signs within one word, and not all that is between two backticks. */
export function isPlainPart(text: string, { start, end }: Span): boolean {
  return text.charAt(start - 1) !== "`" && !NOT_PLAIN.test(text.slice(start, end));
}

const SHORTEST_MADE = 16;
const MADE_CHARS = /^[\w.~+=-]+$/;
const HEX = /^(?=.*\d)[0-9a-f-]+$/i;

/** Whether a value was drawn by a machine, and so is no program's name or path: long, by chance, without a slash. */
export function isMachineMade(value: string): boolean {
  if (value.length < SHORTEST_MADE || !MADE_CHARS.test(value)) return false;
  return HEX.test(value) || looksRandom(value.replaceAll(/[.~+=]/g, "-"));
}
