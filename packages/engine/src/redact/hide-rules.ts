import type { JsonValue } from "@sallyport/protocol";
import type { FieldJudge } from "./field-name.ts";
import { type Cut, looksRandom, type Span } from "./text.ts";

/**
 * For whom secrets are taken out. `record`: for logs and stored records; hiding too much does no harm there. `decision`:
 * for a person who approves what is shown, so that nothing may be hidden that could run (FR-APR-01).
 */
export type Purpose = "record" | "decision";

/** A value and the name that announces it, in a text. */
interface NamedPart {
  name: Span;
  value: Span;
}

/** Says what of the secrets found may be hidden: for a record everything, for a decision only what cannot run. */
export class HideRules {
  readonly purpose: Purpose;
  readonly #isRecord: boolean;

  constructor(purpose: Purpose) {
    this.purpose = purpose;
    this.#isRecord = purpose === "record";
  }

  /** A part of a text that is taken for a secret by its look. */
  part(text: string, span: Span): boolean {
    return this.#isRecord || isPlainPart(text, span);
  }

  /** Credentials after a scheme and a space, as in `Bearer …`. */
  afterScheme(text: string, span: Span): boolean {
    return this.#isRecord || (isPlainPart(text, span) && isMachineMade(text.slice(span.start, span.end)));
  }

  /** Asks about the values of names in one text. */
  pairs(text: string): (pair: NamedPart) => boolean {
    if (this.#isRecord) return () => true;
    const isReferredTo = referencesIn(text);
    return (pair) => {
      if (!isPlainPart(text, pair.value)) return false;
      if (isMachineMade(text.slice(pair.value.start, pair.value.end))) return true;
      const { start, end } = lastWord(text, pair.name);
      return isBoundByShape(text, pair) && !isReferredTo(text.slice(start, end));
    };
  }

  /** A value after a flag that begins at `start`. */
  flag(text: string, { start, value }: { start: number; value: Span }): boolean {
    return this.afterScheme(text, value) || (isPlainPart(text, value) && isFlagOfItsOwn(text, start));
  }

  /** The content of an element. To a shell `<name>value` writes to a file; an element closes under its own name. */
  element(text: string, { name, value }: { name: string; value: Span }): boolean {
    return this.#isRecord || (isPlainPart(text, value) && text.startsWith(`</${name}>`, value.end));
  }

  /** The value of a secret field. */
  field(value: JsonValue): boolean {
    return this.#isRecord || !couldRunAsCode(value);
  }

  /** An item of a list after a secret flag. */
  item(items: readonly JsonValue[], at: number): boolean {
    if (this.#isRecord) return true;
    const value = items[at] ?? null;
    const option = items[at - 2];
    // An option before the flag may have taken the flag for its value.
    if (typeof option === "string" && option.startsWith("-"))
      return typeof value === "string" && isMachineMade(value);
    return !couldRunAsCode(value);
  }
}

/** What the rules of one redactor share. */
export interface RuleContext {
  judge: FieldJudge;
  hide: HideRules;
  /** Whether a text holds nothing to take out. */
  isHarmless(text: string): boolean;
}

/**
 * Finds one kind of secret in a text. Every rule takes time linear in the text whatever is in it, and leaves the markers
 * of other rules alone.
 */
export interface TextRule {
  /** Quick test: a text that fails it has no such secret. */
  readonly sign: { test(text: string): boolean };
  /** In order of their end. */
  cuts(text: string, context: RuleContext): Iterable<Cut>;
}

/** The text with what the rule finds taken out; itself when there is nothing. */
export function applyRule(text: string, rule: TextRule, context: RuleContext): string {
  if (!rule.sign.test(text)) return text;
  let done = 0;
  let kept = "";
  for (const { start, end, marker } of rule.cuts(text, context)) {
    if (end <= done) continue;
    // Where two cuts overlap the later one is shortened.
    kept += text.slice(done, Math.max(start, done)) + marker;
    done = end;
  }
  return done === 0 ? text : kept + text.slice(done);
}

/** What a shell could run, chain or redirect by. */
const CODE = /[`;|&<>()\n\r\u0085\u2028\u2029]|\$[({]/;

/** Whether a shell that got the text could run something of it. */
export function holdsCode(text: string): boolean {
  return CODE.test(text);
}

/** A larger value counts as one that could run; then the secrets inside it are hidden one by one. */
const MOST_VALUES = 1_000;

/** Whether any text in a value could run. */
function couldRunAsCode(value: JsonValue): boolean {
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

/** What ends a word, quotes, expands or chains. Without it a part of a text stays within one word of a command. */
const NOT_PLAIN = /[\s"'`\\$;|&<>(){}\p{Cc}]/u;

/** Whether the part is plain letters and signs within one word, and not all that is between two backticks. */
function isPlainPart(text: string, { start, end }: Span): boolean {
  return text.charAt(start - 1) !== "`" && !NOT_PLAIN.test(text.slice(start, end));
}

const SHORTEST_MADE = 16;
const MADE_CHARS = /^[\w.~+=-]+$/;
const HEX = /^(?=.*\d)[0-9a-f-]+$/i;

/** Whether a value is random (long, no slash, no words), so that it cannot be the name or path of a program. */
function isMachineMade(value: string): boolean {
  if (value.length < SHORTEST_MADE || !MADE_CHARS.test(value)) return false;
  return HEX.test(value) || looksRandom(value.replaceAll(/[.~+=]/g, "-"));
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
function isBoundByShape(text: string, { name: words, value }: NamedPart): boolean {
  const name = lastWord(text, words);
  const between = text.slice(name.end, value.start);
  if (isExpansion(text, name.start)) return false;
  if (SAME_WORD.test(between) || SPACED_SIGN.test(between)) return true;
  const colon = COLON.exec(between);
  if (colon === null) return false;
  return beginsLine(text, name, colon[1] ?? "") || isWholeHeader(text, { name, value });
}

const HEADER_FLAG = /(?:^|[ \t])(?:-H|--header)(?:[ \t]+|=)?(["'])$/;
const LONGEST_FLAG = 16;

/** The quote before a name that begins a header given to a program: `curl -H "Authorization: …"`; empty: there is none. */
export function headerQuote(text: string, nameStart: number): string {
  return HEADER_FLAG.exec(text.slice(Math.max(0, nameStart - LONGEST_FLAG), nameStart))?.[1] ?? "";
}

const LONGEST_COMMAND = 2_000;
/** What makes quotes mean something else, or parts of a word run. */
const UNSURE_QUOTES = /[`$\\#<]|\b(?:alias|eval|printenv|ssh|sudo|xargs)\b/;

/**
 * Whether name and value are all of one quoted argument of `curl -H` or the like: then no shell takes the value for a
 * word of its own.
 */
function isWholeHeader(text: string, { name, value }: NamedPart): boolean {
  const quote = headerQuote(text, name.start);
  if (quote === "" || text.charAt(value.end) !== quote || name.start > LONGEST_COMMAND) return false;
  const before = text.slice(0, name.start - 1);
  return !UNSURE_QUOTES.test(before) && !isQuoted(before);
}

/** Whether a quote is open at the end of a text without escapes. */
function isQuoted(text: string): boolean {
  let open = "";
  for (const char of text) {
    if (char === open) open = "";
    else if (open === "" && (char === "'" || char === '"')) open = char;
  }
  return open !== "";
}

/** Names may be of several words; in `sudo -p password: reboot` the first ones are none of it. */
function lastWord(text: string, { start, end }: Span): Span {
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
function isFlagOfItsOwn(text: string, flagStart: number): boolean {
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
function referencesIn(text: string): (name: string) => boolean {
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
