import { domainToASCII } from "node:url";
import { canonicalJson, type JsonValue } from "@sallyport/protocol";
import { _, type Code, type CodeKeywordDefinition, type KeywordCxt } from "ajv/dist/2020.js";
import { fullFormats } from "ajv-formats/dist/formats.js";
import type { WorkBudget } from "./work-budget.ts";

/**
 * The formats a schema may use, with the length no valid text exceeds: beyond it nothing is matched, so a long
 * text costs nothing. URIs and their kin have no such length; their expressions were measured to be linear.
 */
const MAX_LENGTHS = {
  "date-time": 64,
  date: 10,
  time: 48,
  duration: 128,
  email: 320,
  "idn-email": 320,
  hostname: 254,
  "idn-hostname": 254,
  ipv4: 15,
  ipv6: 45,
  uri: Number.POSITIVE_INFINITY,
  "uri-reference": Number.POSITIVE_INFINITY,
  "uri-template": Number.POSITIVE_INFINITY,
  iri: Number.POSITIVE_INFINITY,
  "iri-reference": Number.POSITIVE_INFINITY,
  uuid: 45,
  "json-pointer": Number.POSITIVE_INFINITY,
  "relative-json-pointer": Number.POSITIVE_INFINITY,
  regex: 4096,
} as const;

export const FORMAT_NAMES: readonly string[] = Object.keys(MAX_LENGTHS);

type TextTest = (text: string) => boolean;

/** Each supported format as a function that cannot hang. */
export function formatChecks(): Record<string, TextTest> {
  const checks: Record<string, TextTest> = {};
  for (const [name, maxLength] of Object.entries(MAX_LENGTHS)) {
    const check = INTERNATIONAL[name] ?? checkOf(name);
    checks[name] = (text) => text.length <= maxLength && check(text);
  }
  return checks;
}

/** The international formats are the others once what is not ASCII is written in ASCII. */
const INTERNATIONAL: Record<string, TextTest> = {
  "idn-hostname": isInternationalHost,
  "idn-email": (text) => {
    const at = text.lastIndexOf("@");
    const local = text.slice(0, at).replace(NOT_ASCII, "x");
    const host = text.slice(at + 1);
    return at > 0 && isInternationalHost(host) && checkOf("email")(`${local}@${domainToASCII(host)}`);
  },
  iri: (text) => checkOf("uri")(percentEncoded(text)),
  "iri-reference": (text) => checkOf("uri-reference")(percentEncoded(text)),
};

const NOT_ASCII = /[\u{A0}-\u{D7FF}\u{E000}-\u{10FFFD}]/gu;

/** What RFC 5892 excludes, or allows only beside certain letters, and UTS 46 lets pass. */
const EXCLUDED =
  /[\u0640\u07FA\u302E\u302F\u3031-\u3035\u303B]|(?<!l)\u00B7|\u00B7(?!l)|\u0375(?!\p{Script=Greek})|(?<!\p{Script=Hebrew})[\u05F3\u05F4]/u;
const KATAKANA_DOT_ALONE =
  /^[^.\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Han}]*\u30FB[^.\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Han}]*$/u;

function isInternationalHost(text: string): boolean {
  const labels = text.split(/[.\u3002\uFF0E\uFF61]/);
  if (EXCLUDED.test(text) || labels.some((label) => KATAKANA_DOT_ALONE.test(label))) return false;
  return checkOf("hostname")(domainToASCII(text));
}

function percentEncoded(text: string): string {
  return text.replace(NOT_ASCII, encodeURIComponent);
}

function checkOf(name: string): TextTest {
  const format: unknown = Reflect.get(fullFormats, name);
  if (format instanceof RegExp) return (text) => format.test(text);
  if (typeof format === "function") return (text) => format(text) === true;
  const validate: unknown = typeof format === "object" && format !== null && Reflect.get(format, "validate");
  if (typeof validate === "function") return (text) => validate(text) === true;
  throw new Error(`The formats library has no "${name}"`);
}

/**
 * `multipleOf` in decimals, as people write numbers: 19.99 is a multiple of 0.01 although no double is, and 1e21 is none
 * of 3 although their quotient is rounded. `enum`, `const` and `uniqueItems` by canonical text and hash sets: linear where comparing each with each is
 * quadratic, and without calling methods that the data might shadow (`valueOf`, `constructor`).
 */
export function valueKeywords(work: WorkBudget): CodeKeywordDefinition[] {
  return [
    membership("multipleOf", { type: "number", schemaType: "number" }, (divisor: number) => {
      return (value) => isMultipleOf(Number(value), divisor, work);
    }),
    membership("enum", { schemaType: "array" }, (schema: JsonValue[]) => memberOf(schema, work)),
    membership("const", {}, (schema: JsonValue) => memberOf([schema], work)),
    uniqueItems(work),
  ];
}

type ValueTest = (value: JsonValue) => boolean;

function membership<Schema>(
  keyword: string,
  types: Pick<CodeKeywordDefinition, "type" | "schemaType">,
  compile: (schema: Schema) => ValueTest,
): CodeKeywordDefinition {
  return {
    keyword,
    ...types,
    error: { message: `must match ${keyword}` },
    code(cxt: KeywordCxt) {
      const test = cxt.gen.scopeValue("func", { ref: compile(cxt.schema) });
      cxt.fail(_`!${test}(${cxt.data})`);
    },
  };
}

function isMultipleOf(value: number, divisor: number, work: WorkBudget): boolean {
  if (Number.isSafeInteger(value) && Number.isSafeInteger(divisor)) return value % divisor === 0;
  const [digits, exponent] = decimal(value);
  const [divisorDigits, divisorExponent] = decimal(divisor);
  const shift = exponent - divisorExponent;
  work.spend(Math.abs(shift) >> 3);
  const scale = 10n ** BigInt(Math.abs(shift));
  return (shift > 0 ? (digits * scale) % divisorDigits : digits % (divisorDigits * scale)) === 0n;
}

/** A number as the shortest decimal that stands for it: digits, and the power of ten they are multiplied by. */
function decimal(number: number): [digits: bigint, exponent: number] {
  const [mantissa = "", exponent] = number.toExponential().split("e");
  const [whole = "", fraction = ""] = mantissa.split(".");
  return [BigInt(whole + fraction), Number(exponent) - fraction.length];
}

function memberOf(values: JsonValue[], work: WorkBudget): ValueTest {
  const scalars = new Set(values.filter(isScalar));
  const texts = new Set(values.filter((value) => !isScalar(value)).map(canonicalJson));
  return (value) => {
    if (isScalar(value)) return scalars.has(value);
    return texts.size > 0 && texts.has(paidText(value, work));
  };
}

function uniqueItems(work: WorkBudget): CodeKeywordDefinition {
  const findRepeated = (items: JsonValue[]) => firstRepeated(items, work);
  return {
    keyword: "uniqueItems",
    type: "array",
    schemaType: "boolean",
    error: { message: "must not have equal items", params: ({ params }) => pair(params.pair) },
    code(cxt: KeywordCxt) {
      if (cxt.schema !== true) return;
      const find = cxt.gen.scopeValue("func", { ref: findRepeated });
      const found = cxt.gen.const("pair", _`${find}(${cxt.data})`);
      cxt.setParams({ pair: found });
      cxt.fail(_`${found} !== undefined`);
    },
  };
}

function pair(found: Code | string | number | undefined): Code {
  return _`{i: ${found}[0], j: ${found}[1]}`;
}

function firstRepeated(items: JsonValue[], work: WorkBudget): [number, number] | undefined {
  work.spend(items.length >> 3);
  const scalars = new Map<JsonValue, number>();
  const texts = new Map<JsonValue, number>();
  for (const [index, item] of items.entries()) {
    const [seen, key] = isScalar(item) ? [scalars, item] : [texts, paidText(item, work)];
    const earlier = seen.get(key);
    if (earlier !== undefined) return [earlier, index];
    seen.set(key, index);
  }
  return undefined;
}

function paidText(value: JsonValue, work: WorkBudget): string {
  const text = canonicalJson(value);
  work.spend(4 + (text.length >> 3));
  return text;
}

function isScalar(value: JsonValue): boolean {
  return typeof value !== "object" || value === null;
}
