import { hash } from "node:crypto";
import { canonicalJson, isJsonObject, type JsonValue } from "@sallyport/protocol";
import { ABSENT, BLOCKED, lookUp, parsePointer } from "../../match/json-pointer.ts";
import type { ArgumentPattern } from "../../ports/grants.ts";
import { coversResource, hasDotSegments, isInside } from "../capability/resource-match.ts";

type Test = (wanted: JsonValue, found: JsonValue) => boolean;

/** How an argument can be tested. The set is closed: a word that is not here never matches. */
const TESTS: Readonly<Record<string, Test>> = {
  equals: (wanted, found) => canonicalJson(wanted) === canonicalJson(found),
  oneOf: (wanted, found) =>
    Array.isArray(wanted) && wanted.some((one) => canonicalJson(one) === canonicalJson(found)),
  glob: (wanted, found) => isText(wanted) && isText(found) && coversResource([wanted], found),
  prefix: (wanted, found) =>
    isText(wanted) && isText(found) && found.startsWith(wanted) && !hasDotSegments(found),
  inside: (wanted, found) => isText(wanted) && isText(found) && isInside([wanted], found),
  sha256: (wanted, found) => wanted === digestOf(found),
};

/** Whether the input has what the pattern asks for at its pointer. Anything not understood does not match. */
export function matchesArgument({ pointer, match }: ArgumentPattern, input: JsonValue): boolean {
  const words = isJsonObject(match) ? Object.entries(match) : [];
  const found = valueAt(input, pointer);
  return words.length > 0 && words.every(([word, wanted]) => passes(word, wanted, found));
}

/** What is wrong with a pattern; undefined when it can match something. */
export function patternProblem({ pointer, match }: ArgumentPattern): string | undefined {
  if (typeof pointer !== "string" || (pointer !== "" && !pointer.startsWith("/")))
    return "its pointer is not a JSON Pointer";
  const words = isJsonObject(match) ? Object.entries(match) : [];
  if (words.length === 0) return "it says nothing about the argument";
  const wrong = words.find(([word, wanted]) => !isUnderstood(word, wanted));
  return wrong && `${wrong[0]} is not a known test, or its value is of the wrong kind`;
}

/** Stands for a value that must not be kept itself. */
export function digestOf(value: JsonValue): string {
  return hash("sha256", canonicalJson(value));
}

function passes(word: string, wanted: JsonValue, found: JsonValue | undefined): boolean {
  if (word === "exists") return wanted === (found !== undefined);
  const test = Object.hasOwn(TESTS, word) ? TESTS[word] : undefined;
  return test !== undefined && found !== undefined && test(wanted, found);
}

function isUnderstood(word: string, wanted: JsonValue): boolean {
  if (word === "exists") return typeof wanted === "boolean";
  if (word === "equals") return true;
  if (word === "oneOf") return Array.isArray(wanted) && wanted.length > 0;
  return Object.hasOwn(TESTS, word) && isText(wanted) && wanted !== "";
}

/** Undefined when there is no such place. */
function valueAt(input: JsonValue, pointer: string): JsonValue | undefined {
  const tokens = parsePointer(pointer);
  const found = tokens === undefined ? ABSENT : lookUp(input, tokens);
  return found === ABSENT || found === BLOCKED ? undefined : found;
}

function isText(value: JsonValue): value is string {
  return typeof value === "string";
}
