import type { JsonValue } from "@sallyport/protocol";

/** What the value of a keyword must be. The first four hold subschemas. */
export type Shape =
  | "schema"
  | "schemas"
  | "schemaMap"
  | "dependencies"
  | "reference"
  | "anchor"
  | "dialect"
  | "text"
  | "pattern"
  | "format"
  | "flag"
  | "number"
  | "positive"
  | "count"
  | "names"
  | "nameLists"
  | "types"
  | "values"
  | "anything";

/** The keywords of JSON Schema 2020-12. Others are ignored, as the standard says; the linter points at them. */
export const KEYWORDS: ReadonlyMap<string, Shape> = new Map<string, Shape>([
  ["$schema", "dialect"],
  ["$id", "text"],
  ["$comment", "text"],
  ["$defs", "schemaMap"],
  ["definitions", "schemaMap"],
  ["$anchor", "anchor"],
  ["$dynamicAnchor", "anchor"],
  ["$ref", "reference"],
  ["$dynamicRef", "reference"],
  ["allOf", "schemas"],
  ["anyOf", "schemas"],
  ["oneOf", "schemas"],
  ["prefixItems", "schemas"],
  ["not", "schema"],
  ["if", "schema"],
  ["then", "schema"],
  ["else", "schema"],
  ["items", "schema"],
  ["contains", "schema"],
  ["additionalProperties", "schema"],
  ["propertyNames", "schema"],
  ["unevaluatedItems", "schema"],
  ["unevaluatedProperties", "schema"],
  ["contentSchema", "schema"],
  ["properties", "schemaMap"],
  ["patternProperties", "schemaMap"],
  ["dependentSchemas", "schemaMap"],
  ["dependencies", "dependencies"],
  ["type", "types"],
  ["enum", "values"],
  ["const", "anything"],
  ["multipleOf", "positive"],
  ["minimum", "number"],
  ["maximum", "number"],
  ["exclusiveMinimum", "number"],
  ["exclusiveMaximum", "number"],
  ["minLength", "count"],
  ["maxLength", "count"],
  ["pattern", "pattern"],
  ["format", "format"],
  ["minItems", "count"],
  ["maxItems", "count"],
  ["uniqueItems", "flag"],
  ["minContains", "count"],
  ["maxContains", "count"],
  ["minProperties", "count"],
  ["maxProperties", "count"],
  ["required", "names"],
  ["dependentRequired", "nameLists"],
  ["title", "text"],
  ["description", "text"],
  ["default", "anything"],
  ["examples", "values"],
  ["deprecated", "flag"],
  ["readOnly", "flag"],
  ["writeOnly", "flag"],
  ["contentEncoding", "text"],
  ["contentMediaType", "text"],
  ["$vocabulary", "anything"],
]);

/** Subschemas of these may fail without the value being wrong, so their errors are not yet certain. */
export const TENTATIVE: ReadonlySet<string> = new Set([
  "anyOf",
  "oneOf",
  "not",
  "if",
  "contains",
  "propertyNames",
]);

/** They say nothing about a value, so the private copy that is compiled leaves them out. */
export const ANNOTATIONS: ReadonlySet<string> = new Set([
  "$schema",
  "$id",
  "$comment",
  "$defs",
  "definitions",
  "$anchor",
  "$dynamicAnchor",
  "$vocabulary",
  "title",
  "description",
  "default",
  "examples",
  "deprecated",
  "readOnly",
  "writeOnly",
  "contentEncoding",
  "contentMediaType",
  "contentSchema",
]);

/** Keywords of older drafts: to ignore them silently would let through what the author meant to refuse. */
export const OUTDATED: ReadonlyMap<string, string> = new Map([
  ["additionalItems", "Use items, beside prefixItems."],
  ["$recursiveRef", "Use $dynamicRef or $ref."],
  ["$recursiveAnchor", "Use $dynamicAnchor or $anchor."],
]);

const TYPES = ["null", "boolean", "object", "array", "number", "string", "integer"];
const ANCHOR = /^[A-Za-z_][-A-Za-z0-9._]*$/;

type Test = (value: JsonValue) => boolean;
const isText: Test = (value) => typeof value === "string";
const isNames: Test = (value) =>
  Array.isArray(value) && value.every(isText) && new Set(value).size === value.length;
const isMap: Test = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const isType: Test = (value) => typeof value === "string" && TYPES.includes(value);

const SHAPES: Record<Shape, { test: Test; expected: string }> = {
  schema: {
    test: (value) => typeof value === "boolean" || isMap(value),
    expected: "a schema (an object, true or false)",
  },
  schemas: {
    test: (value) => Array.isArray(value) && value.length > 0,
    expected: "a non-empty list of schemas",
  },
  schemaMap: { test: isMap, expected: "an object of schemas" },
  dependencies: { test: isMap, expected: "an object of schemas or lists of names" },
  reference: { test: isText, expected: "text" },
  anchor: { test: (value) => typeof value === "string" && ANCHOR.test(value), expected: "a plain name" },
  dialect: { test: isText, expected: "text" },
  text: { test: isText, expected: "text" },
  pattern: { test: isText, expected: "text" },
  format: { test: isText, expected: "text" },
  flag: { test: (value) => typeof value === "boolean", expected: "true or false" },
  number: { test: (value) => typeof value === "number", expected: "a number" },
  positive: { test: (value) => typeof value === "number" && value > 0, expected: "a number above 0" },
  count: {
    test: (value) => Number.isInteger(value) && Number(value) >= 0,
    expected: "a whole number, 0 or more",
  },
  names: { test: isNames, expected: "a list of different names" },
  nameLists: {
    test: (value) => isMap(value) && Object.values(value ?? {}).every(isNames),
    expected: "an object of lists of different names",
  },
  types: {
    test: (value) =>
      isType(value) || (isNames(value) && Array.isArray(value) && value.length > 0 && value.every(isType)),
    expected: `one of ${TYPES.join(", ")}, or a list of different ones`,
  },
  values: { test: Array.isArray, expected: "a list" },
  anything: { test: () => true, expected: "anything" },
};

/** Says what was expected when the value of a keyword has the wrong shape. */
export function shapeError(shape: Shape, value: JsonValue): string | undefined {
  const { test, expected } = SHAPES[shape];
  return test(value) ? undefined : expected;
}
