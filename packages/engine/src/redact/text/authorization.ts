import { markerOf } from "../marker.ts";
import type { TextRule } from "./rule.ts";

/** Without a flag for case, which would make it slow on text that has no such word. */
export const SCHEME_WORD = /[Bb](?:earer|asic)|B(?:EARER|ASIC)/;
const SCHEME = /\b(bearer|basic)(\s{1,4}|%20|\+)([A-Za-z0-9._~+/-]{8,}={0,2})/gi;

/** Credentials after the name of their scheme, with or without the header before it. */
export const authorizations: TextRule = (text) => {
  if (!SCHEME_WORD.test(text)) return text;
  return text.replace(SCHEME, (all, scheme: string, space: string, value: string) => {
    const basic = scheme.toLowerCase() === "basic";
    if (basic ? !isNameAndPassword(value) : isWord(value)) return all;
    return scheme + space + markerOf(basic ? "BASIC" : "BEARER");
  });
};

/** "Bearer certificates" is prose: a token has digits, signs or capitals inside, or is longer than words are. */
function isWord(value: string): boolean {
  return value.length < 20 && /^[A-Z]?[a-z]+(?:-[a-z]+)*[.-]?$/.test(value);
}

function isNameAndPassword(value: string): boolean {
  return /^[\x20-\x7e\x80-\uffff]*:/.test(Buffer.from(value, "base64").toString("utf8"));
}
