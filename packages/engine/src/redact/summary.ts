import { isJsonObject, type JsonValue } from "@sallyport/protocol";
import { toLogValue } from "./log-value.ts";
import { forDecision } from "./redact.ts";

const LONGEST_SUMMARY = 200;
/** As much of a text as is made visible: enough for a summary unless most of it is white space. */
const LOOKED_AT = 8_192;

/**
 * One line for a person: secrets taken out, controls and text direction made visible, at most 200 characters (FR-APR-01).
 * Secrets go before the text is shortened, so that no part of one is shown. Total.
 */
export function summaryOf(text: string): string {
  return oneLine(forDecision.redactText(text));
}

function oneLine(redacted: string): string {
  const text = redacted.trimStart();
  const isWhole = text.length <= LOOKED_AT;
  const start = isWhole ? text : text.slice(0, LOOKED_AT).replace(/[\ud800-\udbff]$/, "");
  return shortened(visible(start), LONGEST_SUMMARY, { isWhole });
}

interface DescribedCall {
  tool: string;
  operation: string;
  input: JsonValue;
}

const LEAST_PER_VALUE = 32;
/** What of a nested value is looked at; more would not fit in the line. */
const NESTED = { depth: 8, values: 100 };

/** One line about a call from its arguments: `calculator add a=2 b=3`. Bounded, redacted and total (FR-APR-01). */
export function describeCall({ tool, operation, input }: DescribedCall): string {
  return oneLine([tool, operation, ...describedArguments(forDecision.redact(input))].join(" "));
}

function describedArguments(input: JsonValue): string[] {
  if (!isJsonObject(input)) return [described(input, LONGEST_SUMMARY)];
  const names = Object.keys(input);
  const most = Math.max(LEAST_PER_VALUE, Math.floor(LONGEST_SUMMARY / Math.max(1, names.length)));
  return names
    .slice(0, LONGEST_SUMMARY)
    .map((name) => `${bareOrQuoted(name, most)}=${described(input[name] ?? null, most)}`);
}

function described(value: JsonValue, most: number): string {
  if (typeof value !== "string") return shortened(JSON.stringify(toLogValue(value, NESTED)), most);
  return isAmbiguous(value) ? JSON.stringify(shortened(value, most)) : bareOrQuoted(value, most);
}

/** Text that would read as something else without quotes. */
function isAmbiguous(text: string): boolean {
  return /^(?:true|false|null|[-+]?\d)/.test(text);
}

function bareOrQuoted(text: string, most: number): string {
  const shown = shortened(text, most);
  return /^[\p{L}\p{N}_./:@+[\]-]+…?$/u.test(shown) ? shown : JSON.stringify(shown);
}

/** What a person does not see, or what changes how the rest is seen: controls, text direction, invisible letters. */
const UNSEEN = /[[\p{Cc}\p{Cs}\p{Default_Ignorable_Code_Point}\ufff9-\uffff]--[\u200c\u200d\ufe0e\ufe0f]]/gv;
/** Joiners belong to emoji and to scripts that join letters; anywhere else they only hide. */
const LOOSE_JOINER =
  /(?<!\p{Extended_Pictographic}|\p{Emoji_Modifier}|\ufe0f|\p{M}|\p{Script=Arabic}|\p{Script=Syriac})[\u200c\u200d]/gu;

function named(char: string): string {
  return `<U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}>`;
}

/** Where a line ends: a shell runs what follows as another command. */
const LINE_END = /[\n\r\v\f\u0085\u2028\u2029]/;

/**
 * The text on one line: `⏎` where lines ended, other white space narrowed to one space, and every unseen character named,
 * as in `<U+202E>`. Total.
 */
export function visible(text: string): string {
  return text
    .trim()
    .replaceAll(/[\s\u0085]+/g, (space) => (LINE_END.test(space) ? " ⏎ " : " "))
    .replaceAll(UNSEEN, named)
    .replaceAll(LOOSE_JOINER, named)
    .trim();
}

const graphemes = new Intl.Segmenter("en", { granularity: "grapheme" });
const ELLIPSIS = "…";

/**
 * At most `most` code points, the last an ellipsis when there was more; no character that people see is split. With
 * `isWhole: false` there was more than the text, so that it ends in an ellipsis however short it is.
 */
function shortened(text: string, most: number, { isWhole = true } = {}): string {
  let points = 0;
  let end = 0;
  let room = 0;
  for (const { segment, index } of graphemes.segment(text.slice(0, most * 4))) {
    points += [...segment].length;
    end = index + segment.length;
    if (points < most) room = end;
    if (points > most) break;
  }
  if (points <= most && end === text.length && isWhole) return text;
  return text.slice(0, room).trimEnd() + ELLIPSIS;
}
