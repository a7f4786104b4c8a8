import type { Hiding } from "../hiding.ts";
import { markerOf } from "../marker.ts";
import { type Cut, cutOut, firstStop, type TextRule } from "./rule.ts";

/** Without a flag for case, which would make it slow on text that has no such word. */
export const SCHEME_WORD = /[Bb](?:earer|asic)|B(?:EARER|ASIC)/;
const SCHEME = /\b(?:bearer|basic)(?:\s{1,4}|%20|\+)/gi;
const VALUE_END = /[^A-Za-z0-9._~+/=-]/g;
const SHORTEST = 8;
/** A name is not longer. */
const LOOKED_AT = 400;

/** Credentials after the name of their scheme, with or without the header before it. */
export function authorizations(hiding: Hiding): TextRule {
  return (text) => (SCHEME_WORD.test(text) ? cutOut(text, credentials(text, hiding)) : text);
}

function* credentials(text: string, hiding: Hiding): Generator<Cut> {
  for (const { 0: scheme, index } of text.matchAll(SCHEME)) {
    const start = index + scheme.length;
    const end = firstStop(text, VALUE_END, start);
    const value = text.slice(start, end);
    const isBasic = /^basic/i.test(scheme);
    if (value.length < SHORTEST || (isBasic ? !isNameAndPassword(value) : isWord(value))) continue;
    // A name and password in Base64 is no program either, unless a slash makes it a path.
    if (!(isBasic && !value.includes("/")) && !hiding.apart(text, { start, end })) continue;
    yield { start, end, marker: markerOf(isBasic ? "BASIC" : "BEARER") };
  }
}

/** "Bearer certificates" is prose: a token has digits, signs or capitals inside, or is longer than words are. */
function isWord(value: string): boolean {
  return value.length < 20 && /^[A-Z]?[a-z]+(?:-[a-z]+)*[.-]?$/.test(value);
}

function isNameAndPassword(value: string): boolean {
  const decoded = Buffer.from(value.slice(0, LOOKED_AT), "base64").toString("utf8");
  return /^[\x20-\x7e\x80-\uffff]*:/.test(decoded);
}
