/*
 * PostgreSQL keeps neither U+0000 nor half of a surrogate pair in text. They are written behind U+0001, which is itself
 * written as a pair. The order of code points and the beginnings of texts stay as they were:
 *
 *   U+0000 → U+0001 U+0001      U+0001 → U+0001 U+0002      U+D800 … U+DFFF alone → U+0001 "d800" … "dfff"
 */

const ESCAPE = "\u0001";
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is escaped
const KEPT = /[\u0000\u0001]|\p{Surrogate}/gu;
// biome-ignore lint/suspicious/noControlCharactersInRegex: this is the escape
const ESCAPED = /\u0001(\u0001|\u0002|d[89a-f][0-9a-f]{2})/g;

/** The text as PostgreSQL can keep it. */
export function encodeText(text: string): string {
  if (!KEPT.test(text)) return text;
  KEPT.lastIndex = 0;
  return text.replace(KEPT, escapeOf);
}

function escapeOf(character: string): string {
  if (character === "\0") return ESCAPE + ESCAPE;
  return character === ESCAPE ? `${ESCAPE}\u0002` : ESCAPE + character.charCodeAt(0).toString(16);
}

/** What `encodeText` was given. */
export function decodeText(kept: string): string {
  if (!kept.includes(ESCAPE)) return kept;
  return kept.replace(ESCAPED, (_, code: string) => {
    if (code === ESCAPE) return "\0";
    return code === "\u0002" ? ESCAPE : String.fromCharCode(Number.parseInt(code, 16));
  });
}

/** In JSON text these characters are always escapes themselves; behind a pair of backslashes they are plain letters. */
const JSON_ESCAPE = /\\(?:\\|u(0000|0001|d[89a-f][0-9a-f]{2}))/g;
const MAY_ESCAPE = /\\u(?:0000|0001|d[89a-f])/;

/** JSON text, as `JSON.stringify` makes it, with every string in it as `encodeText` would have it. */
export function encodeJson(json: string): string {
  if (!MAY_ESCAPE.test(json)) return json;
  return json.replace(JSON_ESCAPE, (whole, code: string | undefined) => {
    if (code === undefined) return whole;
    if (code === "0000") return "\\u0001\\u0001";
    return code === "0001" ? "\\u0001\\u0002" : `\\u0001${code}`;
  });
}

/** The value of JSON text that PostgreSQL made of encoded strings. */
export function decodeJson(json: string): unknown {
  if (!json.includes("\\u0001")) return JSON.parse(json);
  return JSON.parse(json, (_, value: unknown) => (typeof value === "string" ? decodeText(value) : value));
}
