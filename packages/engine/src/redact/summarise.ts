import { isJsonObject, type JsonValue } from "@sallyport/protocol";
import { toLogValue } from "./log-value.ts";
import { forDecision } from "./redact.ts";
import type { Redactor } from "./redactor.ts";
import { shortened, visible } from "./visible.ts";

const LONGEST_SUMMARY = 200;
/** As much of a text as is made visible: enough for a summary unless most of it is white space. */
const LOOKED_AT = 8_192;

/**
 * One line for a person: secrets taken out, controls and text direction made visible, at most 200 characters (FR-APR-01).
 * Secrets go before the text is shortened, so that no part of one is shown. Total.
 */
export function summaryOf(text: string, redactor: Pick<Redactor, "redactText"> = forDecision): string {
  return oneLine(redactor.redactText(text));
}

function oneLine(redacted: string): string {
  const text = redacted.trimStart();
  const isWhole = text.length <= LOOKED_AT;
  const start = isWhole ? text : text.slice(0, LOOKED_AT).replace(/[\ud800-\udbff]$/, "");
  return shortened(visible(start), LONGEST_SUMMARY, { isWhole });
}

export interface DescribedCall {
  tool: string;
  operation: string;
  input: JsonValue;
}

const LEAST_PER_VALUE = 32;
/** What of a nested value is looked at; more would not fit in the line. */
const NESTED = { depth: 8, values: 100 };

/** One line about a call from its arguments: `calculator add a=2 b=3`. Bounded, redacted and total (FR-APR-01). */
export function describeCall(
  { tool, operation, input }: DescribedCall,
  redactor: Pick<Redactor, "redact"> = forDecision,
): string {
  return oneLine([tool, operation, ...describedArguments(redactor.redact(input))].join(" "));
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
