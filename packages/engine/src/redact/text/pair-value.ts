import { firstStop } from "./rule.ts";

/** From where to where a value reaches; empty when there is none. */
export interface Extent {
  start: number;
  end: number;
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
export function valueAt(text: string, at: number, name: string): Extent {
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
      return { start, end: at - before + spare(before, escapes) };
  }
  return { start, end: firstStop(text, NEW_LINE, start) };
}

function backslashesBefore(text: string, end: number, from: number): number {
  let count = 0;
  while (end - count > from && text.charAt(end - count - 1) === "\\") count += 1;
  return count;
}

/** Backslashes before a closing quote that are part of the value. */
function spare(before: number, escapes: number): number {
  return escapes === 0 ? before : Math.max(0, before - escapes);
}
