import type { Span } from "./shell-signs.ts";

/** A value and the name that announces it, in a text. */
export interface NamedPart {
  name: Span;
  value: Span;
}

/** `name=value` and `"name":"value"`: no space between them, so that both are one word of a command. */
const SAME_WORD = /^[^\s<>`]*$/;
/** `name = value`: if anything runs here, it is a program called `=`. */
const SPACED_SIGN = /^["']?[ \t]+(?:==?|:=)[ \t]+["']?$/;
/** `name: value`, `"name": "value"`, `Authorization: Token value`. */
const COLON = /^(["']?):[ \t]+(?:[A-Za-z][\w-]{0,20}[ \t]+)?["']?$/;
/** What stands before a name that begins its line in YAML, JSON, a header or a difference of those. */
const LINE_BEGINNING = /^[ \t{}[\],+*-]*(["']?)$/;
const LONGEST_BEGINNING = 200;

/**
 * Whether the value surely belongs to its name whoever reads the text. To a shell `PASSWORD= reboot`,
 * `X=password: reboot` and `sudo -p password: reboot` are commands, though each looks like a name and a value.
 */
export function isBoundByShape(text: string, { name: words, value }: NamedPart): boolean {
  const name = lastWord(text, words);
  const between = text.slice(name.end, value.start);
  if (isExpansion(text, name.start)) return false;
  if (SAME_WORD.test(between) || SPACED_SIGN.test(between)) return true;
  const colon = COLON.exec(between);
  return colon !== null && beginsLine(text, name, colon[1] ?? "");
}

/** Names may be of several words; in `sudo -p password: reboot` the first ones are none of it. */
export function lastWord(text: string, { start, end }: Span): Span {
  return { start: start + text.slice(start, end).lastIndexOf(" ") + 1, end };
}

/** `${name:=value}` puts the value where it stands. */
function isExpansion(text: string, nameStart: number): boolean {
  return /\$\{[!#]?$/.test(text.slice(Math.max(0, nameStart - 3), nameStart));
}

/** A name in the quotes that close after it, first on a line that does not continue the one before. */
function beginsLine(text: string, name: Span, quote: string): boolean {
  const from = Math.max(0, name.start - LONGEST_BEGINNING);
  const near = text.slice(from, name.start);
  const lineStart = near.lastIndexOf("\n") + 1;
  if (lineStart === 0 && from > 0) return false;
  if (/\\\r?\n$/.test(near.slice(0, lineStart))) return false;
  return LINE_BEGINNING.exec(near.slice(lineStart))?.[1] === quote;
}

/** A whole word, unquoted, that neither is an option, which might take the next word for its value, nor could become one. */
const WORD_BEFORE = /(?:^|[ \t])(?!\+[ \t])[^\s\\$`"'{}-][^\s\\$`"'{}]*[ \t]+$/;

/** Whether `--password value` is a flag with its value: to `sudo -p --password reboot` the flag is a prompt. */
export function isFlagOfItsOwn(text: string, flagStart: number): boolean {
  if (flagStart === 0) return true;
  const from = Math.max(0, flagStart - LONGEST_BEGINNING);
  const near = text.slice(from, flagStart);
  const lineStart = near.lastIndexOf("\n") + 1;
  const isCut = lineStart === 0 && from > 0;
  return WORD_BEFORE.test(isCut ? near.replace(/^\S+/, "-") : near.slice(lineStart));
}

const REFERENCE = /\$\{?(\w{1,64})/g;
/** What runs or reads a variable without naming it after a dollar sign. */
const INDIRECT = /\$\{!|\b(?:alias|eval|printenv)\b/;

/** Tells of a name whether the text uses its value elsewhere, as in `TOKEN=reboot; $TOKEN`. Looks once, when asked. */
export function referencesIn(text: string): (name: string) => boolean {
  let known: ReadonlySet<string> | undefined;
  let isIndirect = false;
  return (name) => {
    if (known === undefined) {
      known = new Set(Array.from(text.matchAll(REFERENCE), (found) => found[1] ?? ""));
      isIndirect = INDIRECT.test(text);
    }
    return isIndirect || known.has(name);
  };
}
