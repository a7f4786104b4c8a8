import type { FieldKind } from "./field-name.ts";
import { headerQuote, type TextRule } from "./hide-rules.ts";
import {
  type Cut,
  charSet,
  firstStop,
  isIn,
  isNoSecret,
  markerOf,
  REDACTED,
  type Span,
  WORD_CHARS,
} from "./text.ts";

/** `=`, `:`, `::`, `:=`, `==`, `=>` or `%3D`. */
const SEPARATOR = /:[:=]*|=+>?|%3[AaDd]/;
const SEPARATORS = new RegExp(SEPARATOR, "g");
/** How often a text is looked through for secrets inside of values that have to be shown; then they are passed over. */
const MOST_LOOKS = 8;

/** `password=hunter2`, `"api_key": "…"`, `X-Api-Key: …`: values in text whose name is that of a secret field. */
export const namedValues: TextRule = {
  sign: SEPARATOR,
  *cuts(text, { judge, hide }) {
    const mayHide = hide.pairs(text);
    let from = 0;
    let next = 0;
    let patience = text.length * MOST_LOOKS;
    for (let found = separatorAfter(text, 0); found; found = separatorAfter(text, next)) {
      const { 0: separator, index } = found;
      next = index + separator.length;
      // `::` of a namespace and `://` of an address.
      if (separator.startsWith("::") || text.startsWith("://", index)) continue;
      const span = nameBefore(text, index, from);
      const name = text.slice(span.start, span.end);
      const kind = judge(name);
      if (kind === "ordinary" || closesQuote(text, index - name.length, next)) continue;
      const isSpaced = separator.startsWith(":") || text.charAt(index - 1) === " ";
      const isLoose = isSpaced && headerQuote(text, span.start) === "";
      const cut = secretAt(text, { name, kind, at: next, isLoose });
      if (!cut) continue;
      if (mayHide({ name: span, value: cut })) {
        yield cut;
        from = cut.end;
        next = from;
      } else {
        patience -= cut.end - cut.start;
        if (patience < 0) next = cut.end;
      }
    }
  },
};

function separatorAfter(text: string, from: number): RegExpExecArray | null {
  SEPARATORS.lastIndex = from;
  return SEPARATORS.exec(text);
}

/** In `log("password:", x)` the quote after the sign ends a text, and what follows is no value. */
function closesQuote(text: string, nameStart: number, after: number): boolean {
  const quote = text.charAt(after);
  return /["'`]/.test(quote) && text.charAt(nameStart - 1) === quote;
}

const NAME_CHARS = charSet(`${WORD_CHARS}.`);
const LONGEST_NAME = 48;
const LONGEST_GAP = 8;
const MOST_SPACES = 3;

/** The name that ends before a separator: at most four words, quotes and brackets around it left out. */
function nameBefore(text: string, separator: number, from: number): Span {
  let end = separator;
  const gap = Math.max(from, separator - LONGEST_GAP);
  while (end > gap && " \t\"'`\\]".includes(text.charAt(end - 1))) end -= 1;
  const first = Math.max(from, end - LONGEST_NAME);
  let start = end;
  for (let spaces = 0; start > first; start -= 1) {
    if (text.charAt(start - 1) === " ") spaces += 1;
    else if (!isIn(NAME_CHARS, text.charCodeAt(start - 1))) break;
    if (spaces > MOST_SPACES) break;
  }
  return { start, end };
}

const FLAG = /(?<![\w-])--([A-Za-z][\w-]{1,40})[ \t]{1,4}(?![-\s])/g;

/** `--password hunter2`. */
export const flagValues: TextRule = {
  sign: /--/,
  *cuts(text, { judge, hide }) {
    for (const { 0: flag, 1: name = "", index } of text.matchAll(FLAG)) {
      const cut = secretAt(text, { name, kind: judge(name), at: index + flag.length, isLoose: false });
      if (cut && hide.flag(text, { start: index, value: cut })) yield cut;
    }
  },
};

const USER_FLAG =
  /(?<![\w-])(?:-[A-Za-z]{0,8}[uU]|--(?:proxy-)?user)(?:[ \t]{1,4}|=)?(["']?)[^\s:"'`\\$;|&<>(){}]{1,100}:/g;
const ENDS: Readonly<Record<string, RegExp>> = { "": /[\s"']/g, "'": /'/g, '"': /"/g };

/** `curl -u name:password`: a part of one word, so that no shell takes it for a program. */
export const userPasswords: TextRule = {
  sign: /curl/,
  *cuts(text, { hide }) {
    const curl = text.indexOf("curl");
    for (const { 0: flag, 1: quote = "", index } of text.matchAll(USER_FLAG)) {
      const start = index + flag.length;
      const end = firstStop(text, ENDS[quote] ?? /\s/g, start);
      const cut = { start, end, marker: markerOf("PASSWORD") };
      if (index > curl && !isNoSecret(text.slice(start, end)) && hide.part(text, cut)) yield cut;
    }
  },
};

const ELEMENT = /<([\w:.-]{2,48})(?:\s[^<>]{0,200})?>([^<]+)(?=<\/)/g;

/** `<password>hunter2</password>`. */
export const elementValues: TextRule = {
  sign: /<\//,
  *cuts(text, { judge, hide }) {
    for (const { 0: all, 1: name = "", 2: value = "", index } of text.matchAll(ELEMENT)) {
      if (judge(name) === "ordinary" || isNoSecret(value.trim())) continue;
      const end = index + all.length;
      const cut = { start: end - value.length, end, marker: REDACTED };
      if (hide.element(text, { name, value: cut })) yield cut;
    }
  },
};

/** A name in a text, and where its value may begin. */
interface Named {
  name: string;
  kind: FieldKind;
  at: number;
  /** Whether prose and code write things like this too: `token: that`, `token = read`. */
  isLoose: boolean;
}

/** The value that the name announces, when it is a secret that is still there. */
function secretAt(text: string, { name, kind, at, isLoose }: Named): Cut | undefined {
  if (kind === "ordinary") return undefined;
  const { start, end, isEnclosed } = valueAt(text, at, name);
  const value = text.slice(start, end);
  if (isNoSecret(value)) return undefined;
  if (kind === "secret_unless_number" && /^[\d.]+$/.test(value)) return undefined;
  const isProse = isLoose && !isEnclosed && value.length <= LONGEST_IDENTIFIER && IDENTIFIER.test(value);
  return isProse && MACHINE_MADE.test(name) ? undefined : { start, end, marker: REDACTED };
}

/** People choose words for passwords; what these names stand for is made of more than words. */
const MACHINE_MADE = /(?:tokens?|keys?|ids?|jwts?|cookies?|credentials?|authori[sz]ation|pass)$/i;
const IDENTIFIER = /^[A-Za-z][a-z]{0,20}(?:[_-]?[A-Z]?[a-z]{1,20}){0,3}$/;
const LONGEST_IDENTIFIER = 40;

/** From where to where a value reaches; empty when there is none. */
interface Extent extends Span {
  /** Whether quotes or brackets say where it ends. */
  isEnclosed?: boolean;
}

const GAP = /[ \t]{0,16}/y;
const QUOTE = /\\{0,7}["'`]/y;
/** Already taken out. After a marker of another rule there may be more of the value. */
const MARKED = /\[REDACTED\](?!\w)|\[REDACTED_[A-Z0-9_]+\](?=[)\]}.!?:]*(?:[\s,;&"'`<>\\]|%26|$))/y;
const REFERENCE = /<[\w -]{1,60}>|\$\{[^}\r\n]{0,200}\}{1,2}|\{\{[^}\r\n]{0,200}\}\}/y;
const LIST = /\[[^\]\r\n]*\]?/y;
/** A space, a sign that separates values, a quote, or an escaped one of those. */
const BARE_END = /[\s,;&"'`<>]|%26|\\[nrt"'`\\]/g;
const LINE_END = /[\r\n"'`]|\\[nrt"'`\\]/g;
const QUOTED_LINE_END = /[\r\n]|\\[nr]/g;
const NEW_LINE = /[\r\n]/g;
const TRAILING = /[)\]}.!?:]{1,8}$/;
const ENDS_MARKED = /\[REDACTED(?:_[A-Z0-9_]+)?\]$/;
const LONGEST_MARKER = 64;

/** Headers whose value has spaces in it. */
const HEADER = /authori[sz]ation|auth ?header|cookie/i;
const ONE_WORD_SCHEME =
  /(?:basic|bearer|token|api-?key|jwt|negotiate|ntlm|key|genie-?key|sso-key)[ \t]{1,4}/iy;
const MANY_PARTS =
  /(?:digest|oauth|hmac[\w-]*|aws4-[\w-]+|sharedkey(?:lite)?|vapid|scram-[\w-]+|hoba)[ \t]/iy;
const COOKIES = /[^\r\n=;,"'`\\ ]{1,80}=/y;

/** The value that begins at or after `at`. Linear in what it passes over. */
function valueAt(text: string, at: number, name: string): Extent {
  const start = skip(GAP, text, at);
  const quoted = skip(QUOTE, text, start);
  if (quoted > start) return { ...quotedAt(text, { opens: start, start: quoted }), isEnclosed: true };
  const noValue = text.startsWith("{", start) && !text.startsWith("{{", start);
  if (noValue || skip(MARKED, text, start) > start) return { start, end: start };
  const reference = skip(REFERENCE, text, start);
  if (reference > start) return { start, end: reference };
  if (text.startsWith("[", start) && !text.startsWith("[REDACTED", start))
    return { start, end: skip(LIST, text, start), isEnclosed: true };
  return HEADER.test(name) ? headerAt(text, start) : bareAt(text, start);
}

/** Where a match at exactly `at` ends; `at` when there is none. */
function skip(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : at;
}

function bareAt(text: string, start: number): Extent {
  const end = firstStop(text, BARE_END, start);
  const last = text.slice(Math.max(start, end - LONGEST_MARKER), end);
  const trailing = ENDS_MARKED.test(last) ? 0 : (TRAILING.exec(last)?.[0].length ?? 0);
  return { start, end: end - trailing };
}

function headerAt(text: string, start: number): Extent {
  const credential = skip(ONE_WORD_SCHEME, text, start);
  if (credential > start) {
    const isDone = skip(MARKED, text, credential) > credential;
    return isDone ? { start, end: start } : bareAt(text, credential);
  }
  if (skip(MANY_PARTS, text, start) > start) return { start, end: firstStop(text, QUOTED_LINE_END, start) };
  return skip(COOKIES, text, start) > start
    ? { start, end: firstStop(text, LINE_END, start) }
    : bareAt(text, start);
}

/** Up to the quote that closes it, escaped as often as the one that opened it; else to the end of the line. */
function quotedAt(text: string, { opens, start }: { opens: number; start: number }): Extent {
  const quote = text.charAt(start - 1);
  const escapes = start - 1 - opens;
  for (let at = text.indexOf(quote, start); at !== -1; at = text.indexOf(quote, at + 1)) {
    const before = backslashesBefore(text, at, start);
    if (escapes === 0 ? before % 2 === 0 : before <= escapes)
      return { start, end: escapes === 0 ? at : at - before };
  }
  return { start, end: firstStop(text, NEW_LINE, start) };
}

function backslashesBefore(text: string, end: number, from: number): number {
  let count = 0;
  while (end - count > from && text.charAt(end - count - 1) === "\\") count += 1;
  return count;
}
