import type { FieldJudge } from "../field-name.ts";
import type { Hiding } from "../hiding.ts";
import { secretAt } from "./named-secret.ts";
import { type Cut, cutOut, type TextRule } from "./rule.ts";
import type { Span } from "./shell-signs.ts";

const SPACE = 0x20;
const SLASH = 0x2f;
const COLON = 0x3a;
const EQUALS = 0x3d;
const GREATER = 0x3e;
const SEPARATOR = /[=:]|%3[AaDd]/;
const ENCODED_LENGTH = 3;
const LONGEST_NAME = 48;
const MOST_SPACES = 3;
/** How often a text is looked through for secrets inside of values that have to be shown; then they are passed over. */
const MOST_LOOKS = 8;

/** `password=hunter2`, `"api_key": "…"`, `X-Api-Key: …`: values in text whose name is that of a secret field. */
export function namedValues(judge: FieldJudge, hiding: Hiding): TextRule {
  return (text) => (SEPARATOR.test(text) ? cutOut(text, pairs(text, judge, hiding)) : text);
}

function* pairs(text: string, judge: FieldJudge, hiding: Hiding): Generator<Cut> {
  const mayHide = hiding.pairs(text);
  const next = new RegExp(SEPARATOR, "g");
  let from = 0;
  let patience = text.length * MOST_LOOKS;
  while (next.test(text)) {
    const at = separatorStart(text, next.lastIndex);
    const after = separatorEnd(text, at);
    next.lastIndex = after;
    const span = isPartOfName(text, at) ? NO_NAME : nameBefore(text, at, from);
    const name = text.slice(span.start, span.end);
    if (name === "" || closesQuote(text, { at, name, after })) continue;
    const isLoose = text.charCodeAt(at) === COLON || text.charCodeAt(at - 1) === SPACE;
    const cut = secretAt(text, { name, kind: judge(name), at: after, isLoose });
    if (!cut) continue;
    if (!mayHide({ name: span, value: cut })) {
      patience -= cut.end - cut.start;
      if (patience < 0) next.lastIndex = cut.end;
      continue;
    }
    yield cut;
    from = cut.end;
    next.lastIndex = from;
  }
}

function separatorStart(text: string, end: number): number {
  const last = text.charCodeAt(end - 1);
  return end - (last === EQUALS || last === COLON ? 1 : ENCODED_LENGTH);
}

/** `::` of a namespace and `://` of an address. */
function isPartOfName(text: string, at: number): boolean {
  if (text.charCodeAt(at) !== COLON) return false;
  const second = text.charCodeAt(at + 1);
  return second === COLON || (second === SLASH && text.charCodeAt(at + 2) === SLASH);
}

/** Where `=`, `:`, `::`, `:=`, `==`, `=>` or `%3D` ends. */
function separatorEnd(text: string, at: number): number {
  const first = text.charCodeAt(at);
  if (first !== COLON && first !== EQUALS) return at + ENCODED_LENGTH;
  let end = at + 1;
  while (text.charCodeAt(end) === EQUALS || (first === COLON && text.charCodeAt(end) === COLON)) end += 1;
  return first === EQUALS && text.charCodeAt(end) === GREATER ? end + 1 : end;
}

/** In `log("password:", x)` the quote after the sign ends a text, and what follows is no value. */
function closesQuote(
  text: string,
  { at, name, after }: { at: number; name: string; after: number },
): boolean {
  const quote = text.charAt(after);
  return /["'`]/.test(quote) && text.charAt(at - name.length - 1) === quote;
}

/** The name that ends before a separator: at most four words, quotes and brackets around it left out. */
function nameBefore(text: string, separator: number, from: number): Span {
  const end = skipBack(text, separator, from);
  const first = Math.max(from, end - LONGEST_NAME);
  let start = end;
  for (let spaces = 0; start > first; start -= 1) {
    const code = text.charCodeAt(start - 1);
    if (code === SPACE) spaces += 1;
    else if (!isNameCode(code)) break;
    if (spaces > MOST_SPACES) break;
  }
  return { start, end };
}

const NO_NAME: Span = { start: 0, end: 0 };
const LONGEST_GAP = 8;

function skipBack(text: string, end: number, from: number): number {
  const first = Math.max(from, end - LONGEST_GAP);
  let at = end;
  while (at > first && " \t\"'`\\]".includes(text.charAt(at - 1))) at -= 1;
  return at;
}

/** Letters, digits, `_`, `-` and `.`. */
function isNameCode(code: number): boolean {
  return (
    (code >= 0x61 && code <= 0x7a) ||
    (code >= 0x41 && code <= 0x5a) ||
    (code >= 0x30 && code <= 0x39) ||
    code === 0x5f ||
    code === 0x2d ||
    code === 0x2e
  );
}
