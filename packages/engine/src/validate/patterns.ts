import { RE2JS } from "re2js";
import { LruMap } from "../lru-map.ts";

const MAX_CACHED = 2000;
/** Matching costs about 20 ns for each character and instruction; a step of the budget is about half a microsecond. */
const CHARACTER_INSTRUCTIONS_PER_STEP = 32;

/** What matching is charged to. */
interface WorkBudget {
  /** Throws once the budget is used up. */
  spend(steps: number): void;
}

/** A pattern that runs in time linear in the text, and charges it to a work budget. */
interface SafePattern {
  /** Instructions of the compiled pattern. */
  readonly size: number;
  /** Throws what `work` throws. */
  test(text: string, work: WorkBudget): boolean;
}

type PatternResult = { ok: true; pattern: SafePattern } | { ok: false; reason: string; suggestion: string };

/** Compiles and keeps patterns; what cannot run in linear time comes back as a reason, never as an exception. */
export class PatternEngine {
  readonly #compiled = new LruMap<string, PatternResult>(MAX_CACHED);

  get(source: string): PatternResult {
    return this.#compiled.getOrAdd(source, compile);
  }

  /** A pattern that was found usable before. */
  compiled(source: string): SafePattern {
    const result = this.get(source);
    if (!result.ok) throw new Error(`Pattern ${result.reason}`);
    return result.pattern;
  }
}

function compile(source: string): PatternResult {
  try {
    new RegExp(source, "u");
  } catch (thrown) {
    return refused(`is not a regular expression: ${messageOf(thrown)}`, "Correct the pattern.");
  }
  try {
    return { ok: true, pattern: charged(RE2JS.compile(toRe2(source))) };
  } catch (thrown) {
    if (thrown instanceof NotLinear) return refused(`uses ${thrown.message}`, WITHOUT_LOOKAROUND);
    return refused(`cannot be run in linear time: ${messageOf(thrown)}`, SIMPLER);
  }
}

const WITHOUT_LOOKAROUND =
  "Write it without lookaround and backreferences: several conditions can be several patterns in allOf, and not.";
const SIMPLER =
  "Use a simpler pattern: repeat counts up to 1000 (minLength and maxLength have no such limit), classes such as \\p{L}.";

function charged(compiled: RE2JS): SafePattern {
  const size = compiled.programSize();
  return {
    size,
    test(text, work) {
      work.spend(Math.floor((text.length * size) / CHARACTER_INSTRUCTIONS_PER_STEP));
      return compiled.test(text);
    },
  };
}

function refused(reason: string, suggestion: string): PatternResult {
  return { ok: false, reason, suggestion };
}

function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

const SPACE =
  "\\t\\n\\x{B}\\f\\r \\x{A0}\\x{1680}\\x{2000}-\\x{200A}\\x{2028}\\x{2029}\\x{202F}\\x{205F}\\x{3000}\\x{FEFF}";
const NOT_SPACE =
  "\\x{0}-\\x{8}\\x{E}-\\x{1F}\\x{21}-\\x{9F}\\x{A1}-\\x{167F}\\x{1681}-\\x{1FFF}\\x{200B}-\\x{2027}" +
  "\\x{202A}-\\x{202E}\\x{2030}-\\x{205E}\\x{2060}-\\x{2FFF}\\x{3001}-\\x{FEFE}\\x{FF00}-\\x{10FFFF}";
const DOT = "[^\\n\\r\\x{2028}\\x{2029}]";
const ANYTHING = "[\\x{0}-\\x{10FFFF}]";

const TOKEN =
  /\\u\{([0-9A-Fa-f]+)\}|\\u([Dd][89ABab][0-9A-Fa-f]{2})\\u([Dd][C-Fc-f][0-9A-Fa-f]{2})|\\u([0-9A-Fa-f]{4})|\\x([0-9A-Fa-f]{2})|\\c([A-Za-z])|\\[pP]\{[^}]*\}|\\[\s\S]|\[\^\]|\[\]|\(\?<?[=!]|\(\?<|\(\?[ims]*-?[ims]+:|[\s\S]/gu;

/** Its message names the construct. */
class NotLinear extends Error {}

/**
 * Translates an ECMAScript regular expression (what JSON Schema means) to the syntax of RE2 (what runs in linear time).
 * The two differ in what `.`, `\s` and escapes stand for; the rest passes through. Throws NotLinear for lookaround,
 * backreferences and the empty class.
 */
function toRe2(pattern: string): string {
  const place = { inClass: false };
  return pattern.replace(TOKEN, (token, ...groups: (string | undefined)[]) => {
    return codePoint(groups) ?? (place.inClass ? insideClass(token, place) : outsideClass(token, place));
  });
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
  if (token.endsWith(":")) return withFlags(token);
  if (token.startsWith("(?")) throw new NotLinear(token.includes("<") ? "a lookbehind" : "a lookahead");
  return escaped(token, { space: `[${SPACE}]`, notSpace: `[${NOT_SPACE}]` }) ?? token;
}

/** With `s` and `m`, `.` and line ends would mean something else than they are translated to. */
function withFlags(group: string): string {
  if (/[sm]/.test(group)) throw new NotLinear("flags that change what . or a line end is");
  return group;
}

function escaped(token: string, spaces: { space: string; notSpace: string }): string | undefined {
  if (token === "\\s") return spaces.space;
  if (token === "\\S") return spaces.notSpace;
  if (token === "\\0") return "\\x{0}";
  if (token === "\\/") return "/";
  if (/^\\[1-9k]$/.test(token)) throw new NotLinear("a backreference");
  return PROPERTY.test(token) ? token.replace(PROPERTY, shortProperty) : undefined;
}

/** `\\p{Script=Greek}` is `\\p{Greek}` there, and a general category has only its short name. */
const PROPERTY = /\{(?:(?:Script|sc|General_Category|gc)=)?(\w+)\}/;

function shortProperty(_all: string, name: string): string {
  return `{${CATEGORIES.get(name) ?? name}}`;
}

const CATEGORIES: ReadonlyMap<string, string> = new Map(
  (
    "L Letter|LC Cased_Letter|Lu Uppercase_Letter|Ll Lowercase_Letter|Lt Titlecase_Letter|Lm Modifier_Letter|" +
    "Lo Other_Letter|M Mark|M Combining_Mark|Mn Nonspacing_Mark|Mc Spacing_Mark|Me Enclosing_Mark|N Number|" +
    "Nd Decimal_Number|Nd digit|Nl Letter_Number|No Other_Number|P Punctuation|P punct|Pc Connector_Punctuation|" +
    "Pd Dash_Punctuation|Ps Open_Punctuation|Pe Close_Punctuation|Pi Initial_Punctuation|Pf Final_Punctuation|" +
    "Po Other_Punctuation|S Symbol|Sm Math_Symbol|Sc Currency_Symbol|Sk Modifier_Symbol|So Other_Symbol|" +
    "Z Separator|Zs Space_Separator|Zl Line_Separator|Zp Paragraph_Separator|C Other|Cc Control|Cc cntrl|" +
    "Cf Format|Cs Surrogate|Co Private_Use|Cn Unassigned"
  )
    .split("|")
    .map((pair): [string, string] => {
      const [short = "", long = ""] = pair.split(" ");
      return [long, short];
    }),
);
