import { canonicalJson, type JsonObject, type JsonValue, nearestName } from "@sallyport/protocol";
import { FORMATS } from "./formats.ts";
import type { PatternEngine } from "./patterns.ts";
import { type Check, type Explained, KIND, kindOf, type Run } from "./run.ts";

/** A keyword without subschemas. The walk has checked its value, so each test names the types it is given. */
interface Assertion {
  readonly kinds: number;
  compile(value: JsonValue, patterns: PatternEngine): Check["test"];
}

interface Counted {
  unit: string;
  count(data: JsonValue, run: Run): number;
}

const COUNTED: Record<"string" | "array" | "object", Counted> = {
  string: { unit: "characters", count: charactersIn },
  array: { unit: "items", count: (items: JsonValue[]) => items.length },
  object: { unit: "properties", count: propertiesIn },
};

const ASSERTIONS: Record<string, Assertion> = {
  enum: {
    kinds: KIND.any,
    compile: (values: JsonValue[]) => oneOf(values, (data) => notInEnum(values, data)),
  },
  const: { kinds: KIND.any, compile: (value) => oneOf([value], () => notEqual(value)) },
  minimum: bound("at least", (value, limit) => value >= limit),
  maximum: bound("at most", (value, limit) => value <= limit),
  exclusiveMinimum: bound("more than", (value, limit) => value > limit),
  exclusiveMaximum: bound("less than", (value, limit) => value < limit),
  multipleOf: bound("a multiple of", isMultipleOf),
  minLength: size("string", "at least"),
  maxLength: size("string", "at most"),
  minItems: size("array", "at least"),
  maxItems: size("array", "at most"),
  minProperties: size("object", "at least"),
  maxProperties: size("object", "at most"),
  pattern: { kinds: KIND.string, compile: matching },
  format: { kinds: KIND.string, compile: formatted },
  uniqueItems: { kinds: KIND.array, compile: (wanted) => (wanted === true ? testUnique : () => {}) },
  required: { kinds: KIND.object, compile: requiring },
  dependentRequired: { kinds: KIND.object, compile: requiringTogether },
  dependencies: { kinds: KIND.object, compile: requiringTogether },
};

/** The checks of the keywords of a schema that hold no subschemas. */
export function assertionsOf(schema: JsonObject, patterns: PatternEngine): Check[] {
  return Object.entries(ASSERTIONS).flatMap(([keyword, { kinds, compile }]) => {
    const value = Object.hasOwn(schema, keyword) ? schema[keyword] : undefined;
    return value === undefined ? [] : [{ kinds, test: compile(value, patterns) }];
  });
}

function bound(words: string, holds: (value: number, limit: number, run: Run) => boolean): Assertion {
  const suggestion = "Choose a number within the bounds.";
  return {
    kinds: KIND.number,
    compile: (limit: number) => (value: number, run) => {
      if (!holds(value, limit, run)) run.fail(() => ({ reason: `must be ${words} ${limit}`, suggestion }));
    },
  };
}

/** In decimals, as people write numbers: 19.99 is a multiple of 0.01 although no double is, and 1e21 is none of 3. */
function isMultipleOf(value: number, divisor: number, run: Run): boolean {
  if (Number.isSafeInteger(value) && Number.isSafeInteger(divisor)) return value % divisor === 0;
  const [digits, exponent] = decimal(value);
  const [divisorDigits, divisorExponent] = decimal(divisor);
  const shift = exponent - divisorExponent;
  run.spend(Math.abs(shift) >> 3);
  const scale = 10n ** BigInt(Math.abs(shift));
  return (shift > 0 ? (digits * scale) % divisorDigits : digits % (divisorDigits * scale)) === 0n;
}

/** A number as the shortest decimal that stands for it: digits, and the power of ten they are multiplied by. */
function decimal(number: number): [digits: bigint, exponent: number] {
  const [mantissa = "", exponent] = number.toExponential().split("e");
  const [whole = "", fraction = ""] = mantissa.split(".");
  return [BigInt(whole + fraction), Number(exponent) - fraction.length];
}

function size(kind: keyof typeof COUNTED, words: "at least" | "at most"): Assertion {
  const { unit, count } = COUNTED[kind];
  const sign = words === "at least" ? 1 : -1;
  return {
    kinds: KIND[kind],
    compile: (limit: number) => (data, run) => {
      if (sign * (count(data, run) - limit) >= 0) return;
      const reason = `must have ${words} ${limit} ${unit}`;
      run.fail(() => ({ reason, suggestion: `Change the number of ${unit}.` }));
    },
  };
}

function charactersIn(text: string, run: Run): number {
  run.spend(text.length >> 5);
  let count = text.length;
  for (let index = 0; index < text.length; index += 1) {
    if (isSurrogate(text, index, 0xd800) && isSurrogate(text, index + 1, 0xdc00)) count -= 1;
  }
  return count;
}

function propertiesIn(object: JsonObject, run: Run): number {
  const count = Object.keys(object).length;
  run.spend(count);
  return count;
}

function isSurrogate(text: string, index: number, half: number): boolean {
  return (text.charCodeAt(index) & 0xfc00) === half;
}

function matching(source: string, patterns: PatternEngine): Check["test"] {
  const pattern = patterns.compiled(source);
  return (text: string, run) => {
    if (pattern.test(text, run)) return;
    run.fail(() => ({
      reason: `does not match the pattern ${cut(source)}`,
      suggestion: "Write it in the form that the pattern and the description ask for.",
    }));
  };
}

const EXAMPLES: Record<string, string> = {
  "date-time": "Use a date and time with a zone, such as 2026-01-31T09:30:00Z.",
  date: "Use a date such as 2026-01-31.",
  time: "Use a time with a zone, such as 09:30:00Z.",
  duration: "Use a duration such as P1DT2H.",
  email: "Use an address such as name@example.com.",
  uri: "Use a full address such as https://example.com/page.",
  uuid: "Use an id such as 6f1c2a8e-0b1d-4c5e-9f3a-2b7d8e9f0a1b.",
};

function formatted(name: string): Check["test"] {
  const isValid = FORMATS.get(name) ?? (() => true);
  return (text: string, run) => {
    run.spend(text.length >> 5);
    if (isValid(text)) return;
    const suggestion = EXAMPLES[name] ?? `Use the format ${name}.`;
    run.fail(() => ({ reason: `is not a valid ${name}`, suggestion }));
  };
}

function requiring(names: string[]): Check["test"] {
  return (data: JsonObject, run) => {
    run.spend(names.length >> 3);
    for (const name of names) {
      if (!Object.hasOwn(data, name)) run.fail(() => missing(name, "is required but missing"), name);
    }
  };
}

/** `dependencies` may hold subschemas beside the lists of names. */
function requiringTogether(members: JsonObject): Check["test"] {
  const entries = Object.entries(members).map(([name, list]): [string, string[]] => {
    return [name, Array.isArray(list) ? list.map(String) : []];
  });
  return (data: JsonObject, run) => {
    run.spend(entries.length >> 3);
    for (const [property, names] of entries) {
      if (!Object.hasOwn(data, property)) continue;
      const reason = `is required when "${property}" is there, but missing`;
      run.spend(names.length >> 3);
      for (const name of names) {
        if (!Object.hasOwn(data, name)) run.fail(() => missing(name, reason), name);
      }
    }
  };
}

function missing(name: string, reason: string): Explained {
  return { reason, suggestion: `Add "${name}".` };
}

/**
 * By canonical text and hash sets, as `uniqueItems`: linear where comparing each with each is quadratic, and without
 * calling methods that the data might shadow (`valueOf`, `constructor`).
 */
function oneOf(values: JsonValue[], explain: (data: JsonValue) => Explained): Check["test"] {
  const scalars = new Set(values.filter(isScalar));
  const texts = new Set(values.filter((value) => !isScalar(value)).map(canonicalJson));
  return (data, run) => {
    const isMember = isScalar(data) ? scalars.has(data) : texts.size > 0 && texts.has(paidText(data, run));
    if (!isMember) run.fail(() => explain(data));
  };
}

function notEqual(value: JsonValue): Explained {
  return { reason: `must be ${shown(value)}`, suggestion: `Use ${shown(value)}.` };
}

function notInEnum(allowed: JsonValue[], data: JsonValue): Explained {
  return {
    reason: "is not one of the allowed values",
    get suggestion() {
      const texts = allowed.filter((value) => typeof value === "string");
      const close = typeof data === "string" ? nearestName(data, texts) : undefined;
      const list = listed(allowed.slice(0, SHOWN_VALUES + 1).map(shown));
      return close === undefined ? `Use one of: ${list}.` : `Did you mean "${close}"? Allowed: ${list}.`;
    },
  };
}

function testUnique(items: JsonValue[], run: Run): void {
  run.spend(items.length >> 3);
  if (items.length < 2) return;
  const [scalars, texts] = [new Map<JsonValue, number>(), new Map<JsonValue, number>()];
  for (const [index, item] of items.entries()) {
    const [seen, key] = isScalar(item) ? [scalars, item] : [texts, paidText(item, run)];
    const earlier = seen.get(key);
    if (earlier !== undefined) {
      const reason = `has equal items at positions ${earlier} and ${index}`;
      run.fail(() => ({ reason, suggestion: "Give each item once." }));
      return;
    }
    seen.set(key, index);
  }
}

function paidText(value: JsonValue, run: Run): string {
  const text = canonicalJson(value);
  run.spend(4 + (text.length >> 3));
  return text;
}

function isScalar(value: JsonValue): boolean {
  return typeof value !== "object" || value === null;
}

/** A value that has none of the types a schema names. */
export function wrongType(types: readonly JsonValue[], data: JsonValue): Explained {
  const expected = types.join(" or ");
  const found = Object.entries(KIND).find(([, kind]) => (kind & kindOf(data)) !== 0)?.[0] ?? typeof data;
  const article = expected === "null" ? "" : /^[aeio]/.test(expected) ? "an " : "a ";
  return { reason: `must be ${expected}, but is ${found}`, suggestion: `Give ${article}${expected}.` };
}

/** A property that a closed schema does not name; `known` are those it names. */
export function unknownProperty(name: string, known: string[]): Explained {
  return {
    reason: "is not a known property",
    get suggestion() {
      const close = nearestName(name, known);
      const list = known.length === 0 ? "No properties are allowed." : `Known properties: ${listed(known)}.`;
      return close === undefined ? `Leave it out. ${list}` : `Did you mean "${close}"?`;
    },
  };
}

const SHOWN_VALUES = 20;
const SHOWN_CHARACTERS = 60;

function listed(names: string[]): string {
  const shownNames = names.slice(0, SHOWN_VALUES).map(cut).join(", ");
  return names.length > SHOWN_VALUES ? `${shownNames}, …` : shownNames;
}

function shown(value: JsonValue): string {
  return cut(JSON.stringify(value));
}

function cut(text: string): string {
  return text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS).toWellFormed()}…` : text;
}
