/**
 * ECMAScript regular expressions (what JSON Schema means) in the syntax of RE2 (what runs in linear time).
 * The two differ in what `.`, `\s` and escapes stand for; the rest passes through.
 */

const SPACE =
  "\\t\\n\\x{B}\\f\\r \\x{A0}\\x{1680}\\x{2000}-\\x{200A}\\x{2028}\\x{2029}\\x{202F}\\x{205F}\\x{3000}\\x{FEFF}";
const NOT_SPACE =
  "\\x{0}-\\x{8}\\x{E}-\\x{1F}\\x{21}-\\x{9F}\\x{A1}-\\x{167F}\\x{1681}-\\x{1FFF}\\x{200B}-\\x{2027}" +
  "\\x{202A}-\\x{202E}\\x{2030}-\\x{205E}\\x{2060}-\\x{2FFF}\\x{3001}-\\x{FEFE}\\x{FF00}-\\x{10FFFF}";
const DOT = "[^\\n\\r\\x{2028}\\x{2029}]";
const ANYTHING = "[\\x{0}-\\x{10FFFF}]";

const TOKEN =
  /\\u\{([0-9A-Fa-f]+)\}|\\u([Dd][89ABab][0-9A-Fa-f]{2})\\u([Dd][C-Fc-f][0-9A-Fa-f]{2})|\\u([0-9A-Fa-f]{4})|\\x([0-9A-Fa-f]{2})|\\c([A-Za-z])|\\[pP]\{[^}]*\}|\\[\s\S]|\[\^\]|\[\]|\(\?<?[=!]|\(\?<|[\s\S]/gu;

export type Translation = { ok: true; pattern: string } | { ok: false; reason: string };

class NotLinear extends Error {}

/** Refuses what RE2 has no linear way to run, saying which construct it is. */
export function toRe2(pattern: string): Translation {
  const place = { inClass: false };
  try {
    const translated = pattern.replace(TOKEN, (token, ...groups: (string | undefined)[]) => {
      return codePoint(groups) ?? (place.inClass ? insideClass(token, place) : outsideClass(token, place));
    });
    return { ok: true, pattern: translated };
  } catch (thrown) {
    if (thrown instanceof NotLinear) return { ok: false, reason: thrown.message };
    throw thrown;
  }
}

function codePoint([braced, high, low, unit, byte, control]: (string | undefined)[]): string | undefined {
  if (high !== undefined && low !== undefined) return hex(surrogatePair(high, low));
  if (control !== undefined) return hex(control.charCodeAt(0) % 32);
  const digits = braced ?? unit ?? byte;
  return digits === undefined ? undefined : hex(Number.parseInt(digits, 16));
}

function surrogatePair(high: string, low: string): number {
  return 0x10000 + ((Number.parseInt(high, 16) - 0xd800) << 10) + (Number.parseInt(low, 16) - 0xdc00);
}

function hex(code: number): string {
  return `\\x{${code.toString(16).toUpperCase()}}`;
}

interface Place {
  inClass: boolean;
}

/** A bracket is an ordinary character here, but RE2 reads `[:` as the start of a named class. */
function insideClass(token: string, place: Place): string {
  if (token.endsWith("]") && !token.startsWith("\\")) place.inClass = false;
  if (token.startsWith("[")) return `\\${token}`;
  if (token === "\\b") return "\\x{8}";
  return escaped(token, { space: SPACE, notSpace: NOT_SPACE }) ?? token;
}

function outsideClass(token: string, place: Place): string {
  if (token === "[") place.inClass = true;
  if (token === ".") return DOT;
  if (token === "[^]") return ANYTHING;
  if (token === "[]") throw new NotLinear("an empty character class, which nothing can match");
  if (token === "(?<") return "(?P<";
  if (token.startsWith("(?")) throw new NotLinear(token.includes("<") ? "a lookbehind" : "a lookahead");
  return escaped(token, { space: `[${SPACE}]`, notSpace: `[${NOT_SPACE}]` }) ?? token;
}

function escaped(token: string, spaces: { space: string; notSpace: string }): string | undefined {
  if (token === "\\s") return spaces.space;
  if (token === "\\S") return spaces.notSpace;
  if (token === "\\0") return "\\x{0}";
  if (token === "\\/") return "/";
  if (/^\\[1-9k]$/.test(token)) throw new NotLinear("a backreference");
  return SCRIPT.test(token) ? token.replace(SCRIPT, "{") : undefined;
}

/** `\\p{Script=Greek}` is `\\p{Greek}` there. */
const SCRIPT = /\{(?:Script|sc)=/;
