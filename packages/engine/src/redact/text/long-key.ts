import { markerOf } from "../marker.ts";
import { changeRuns, charSet, type RunShape, startOfRun, WORD_CHARS } from "./long-run.ts";
import { looksRandom } from "./randomness.ts";
import type { TextRule } from "./rule.ts";

const marker = markerOf("API_KEY");
const KEY: RunShape = { set: charSet(WORD_CHARS), shortest: 32 };
/** Keys are not longer; encoded data is. */
const LONGEST_KEY = 200;

const BASE64 = charSet(`${WORD_CHARS}+/`);
/** `name=value` has more after the sign, Base64 has not. */
const TO_PADDING = /^[\w+/-]*={0,2}(?![\w=])/;
/** Known content in Base64 (PNG, JPEG, GIF, PDF, ZIP, gzip, XML, WebAssembly, WOFF) and sub-resource hashes. */
const KNOWN_DATA = /^(?:iVBORw|\/9j\/|R0lGOD|JVBERi|UEsDB|H4sI|PD94|AGFzb|d09GM|sha(?:1|256|384|512)-)/;

/** Keys without a known prefix: long runs of letters and digits in which no word, hash, id or encoded text is seen. */
export function longKeys(isHarmless: (decoded: string) => boolean): TextRule {
  return (text) =>
    changeRuns(text, KEY, (run, at) => {
      if (run.length < KEY.shortest || run.length > LONGEST_KEY || !looksRandom(run)) return run;
      return isEncodedData(text, at, run.length) || isEncodedText(run, isHarmless) ? run : marker;
    });
}

/** A piece of something encoded: it goes on beyond the letters and digits, ends in padding, or begins as files do. */
function isEncodedData(text: string, at: number, length: number): boolean {
  const start = startOfRun(text, BASE64, { end: at, first: Math.max(0, at - LONGEST_KEY) });
  const rest = text.slice(at, at + length + LONGEST_KEY);
  const whole = text.slice(start, at) + (TO_PADDING.exec(rest)?.[0] ?? rest.slice(0, length));
  return whole.includes("+") || whole.endsWith("=") || whole.length > LONGEST_KEY || KNOWN_DATA.test(whole);
}

/** Base64 of something readable, which is ordinary data unless it holds a secret itself. */
function isEncodedText(run: string, isHarmless: (decoded: string) => boolean): boolean {
  const decoded = Buffer.from(run, "base64url").toString("utf8");
  return /^[\t\n\r\x20-\x7e\u00a0-\ufffc]*$/.test(decoded.slice(0, -1)) && isHarmless(decoded);
}
