import { canonicalJson, isJsonObject, type JsonObject, type JsonValue } from "@sallyport/protocol";
import { pointTo } from "./json-pointer.ts";
import type { Reading } from "./reading.ts";
import { compileTextTest, TEXT_TESTS, type TextJudge, type TextTest } from "./text-tests.ts";
import { allAlike, NO, negate, type Truth, UNSURE, YES } from "./truth.ts";

const MAX_NESTING = 4;
const NUMBER_TESTS = ["min", "max", "above", "below"] as const;
const KNOWN = ["exists", "equals", "oneOf", ...NUMBER_TESTS, ...TEXT_TESTS, "base", "not"];

/**
 * Judges the argument at one place; undefined when there is none. What has the wrong type, or cannot be read, is in
 * doubt. A list is judged by its entries. An argument that is not there satisfies nothing but `exists: false`, and
 * leaves a `not` in doubt.
 */
export type ArgumentTest = (value: JsonValue | undefined) => Truth;

type Judge = (value: JsonValue) => Truth;

/** Compiles `{equals: …}`, `{inside: […]}` and the like; all keys have to hold. Undefined when anything is wrong. */
export function compileArgumentTest(test: unknown, path: string, reading: Reading): ArgumentTest | undefined {
  return compile(test, { path, reading, depth: 0 });
}

interface Place {
  path: string;
  reading: Reading;
  depth: number;
}

function compile(given: unknown, place: Place): ArgumentTest | undefined {
  const { path, reading, depth } = place;
  if (depth > MAX_NESTING) return reading.wrong(path, `must not nest deeper than ${MAX_NESTING}`);
  const test = reading.object(given, path, KNOWN);
  if (!test) return undefined;
  const keys = Object.keys(test).filter((key) => KNOWN.includes(key) && key !== "base");
  if (Object.hasOwn(test, "base") && !Object.hasOwn(test, "inside")) {
    reading.wrong(pointTo(path, "base"), "says what relative paths are relative to", 'add "inside"');
  }
  if (keys.length === 0)
    return reading.wrong(path, "must say what to look for", `one of ${KNOWN.join(", ")}`);
  const tests = keys.map((key) => compileKey(key, test, place));
  const all = tests.filter((one) => one !== undefined);
  if (all.length < tests.length) return undefined;
  return all.length === 1 ? all[0] : (value) => Math.min(...all.map((one) => one(value))) as Truth;
}

function compileKey(key: string, test: JsonObject, place: Place): ArgumentTest | undefined {
  const { path: parent, reading } = place;
  const path = pointTo(parent, key);
  const wanted = test[key] ?? null;
  if (key === "exists") return existence(wanted, path, reading);
  if (key === "not") return negation(wanted, { ...place, path });
  if (key === "equals") return present(oneOf([wanted]), { whole: Array.isArray(wanted) });
  if (key === "oneOf") return membership(wanted, path, reading);
  if (isNumberTest(key)) {
    const bound = reading.number(wanted, path);
    return bound === undefined ? undefined : present(numberJudge(key, bound));
  }
  const text = compileTextTest(key as TextTest, { test, path: parent }, reading);
  return text && ofText(text);
}

/** The test of an argument that has to be a text, or a list of texts. */
export function ofText(judge: TextJudge): ArgumentTest {
  return present((value) => (typeof value === "string" ? judge(value) : UNSURE));
}

/** Lists are judged entry by entry, unless the whole list is what is looked for. */
function present(judge: Judge, { whole = false } = {}): ArgumentTest {
  return (value) => {
    if (value === undefined) return NO;
    return Array.isArray(value) && !whole ? allAlike(value, judge) : judge(value);
  };
}

function existence(wanted: JsonValue, path: string, reading: Reading): ArgumentTest | undefined {
  if (typeof wanted !== "boolean") return reading.wrong(path, "must be true or false");
  return (value) => ((value !== undefined) === wanted ? YES : NO);
}

/** Nobody can say what an argument that is not there is not, unless the test itself asks whether it is there. */
function negation(wanted: JsonValue, { path, reading, depth }: Place): ArgumentTest | undefined {
  const inner = compile(wanted, { path, reading, depth: depth + 1 });
  const asksWhetherThere = isJsonObject(wanted) && Object.hasOwn(wanted, "exists");
  return inner && ((value) => (value === undefined && !asksWhetherThere ? UNSURE : negate(inner(value))));
}

function membership(wanted: JsonValue, path: string, reading: Reading): ArgumentTest | undefined {
  if (!Array.isArray(wanted) || wanted.length === 0) {
    return reading.wrong(path, "must be a list of values", 'such as ["a", "b"]');
  }
  return present(oneOf(wanted), { whole: wanted.some((item) => Array.isArray(item)) });
}

/** A value of a type nobody listed is in doubt: some tools take "5" for 5. */
function oneOf(wanted: readonly JsonValue[]): Judge {
  const scalars = new Set(wanted.filter((value) => !isContainer(value)));
  const containers = new Set(wanted.filter(isContainer).map(canonicalJson));
  const types = new Set(wanted.map(typeOf));
  const listed = (value: JsonValue) =>
    isContainer(value) ? containers.size > 0 && containers.has(textOf(value)) : scalars.has(value);
  return (value) => {
    if (listed(value)) return YES;
    return types.has(typeOf(value)) ? NO : UNSURE;
  };
}

function isContainer(value: JsonValue): boolean {
  return typeof value === "object" && value !== null;
}

function textOf(value: JsonValue): string {
  try {
    return canonicalJson(value);
  } catch {
    // Half a character somewhere in it: equal to nothing that a document can hold.
    return "";
  }
}

function typeOf(value: JsonValue): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}

type NumberTest = (typeof NUMBER_TESTS)[number];

function isNumberTest(key: string): key is NumberTest {
  return (NUMBER_TESTS as readonly string[]).includes(key);
}

function numberJudge(key: NumberTest, bound: number): Judge {
  const holds = NUMBER_COMPARISONS[key];
  return (value) => {
    if (typeof value !== "number") return UNSURE;
    return holds(value, bound) ? YES : NO;
  };
}

const NUMBER_COMPARISONS: Readonly<Record<NumberTest, (value: number, bound: number) => boolean>> = {
  min: (value, bound) => value >= bound,
  max: (value, bound) => value <= bound,
  above: (value, bound) => value > bound,
  below: (value, bound) => value < bound,
};
