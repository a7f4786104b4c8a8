import { isJsonObject, type JsonObject, type JsonValue } from "@sallyport/protocol";

type Test = (value: JsonValue) => boolean;

const TYPES = ["null", "boolean", "object", "array", "number", "string", "integer"];
const ANCHOR = /^[A-Za-z_][-A-Za-z0-9._]*$/;

export function isSchema(value: JsonValue | undefined): value is JsonObject | boolean {
  return typeof value === "boolean" || isJsonObject(value);
}

const isText: Test = (value) => typeof value === "string";
const isFlag: Test = (value) => typeof value === "boolean";
const isNames: Test = (value) =>
  Array.isArray(value) && value.every(isText) && new Set(value).size === value.length;
const isType: Test = (value) => typeof value === "string" && TYPES.includes(value);
const isTypes: Test = (value) => Array.isArray(value) && value.length > 0 && isNames(value);

/**
 * The keywords of JSON Schema 2020-12, by what their value must be. Others are ignored, as the standard says; the
 * linter reports them.
 */
const SHAPES = {
  schema: {
    keywords:
      "not if then else items contains additionalProperties propertyNames unevaluatedItems unevaluatedProperties contentSchema",
    test: isSchema,
    expected: "a schema (an object, true or false)",
  },
  schemas: {
    keywords: "allOf anyOf oneOf prefixItems",
    test: (value) => Array.isArray(value) && value.length > 0,
    expected: "a non-empty list of schemas",
  },
  schemaMap: {
    keywords: "$defs definitions properties patternProperties dependentSchemas",
    test: isJsonObject,
    expected: "an object of schemas",
  },
  dependencies: {
    keywords: "dependencies",
    test: isJsonObject,
    expected: "an object of schemas or lists of names",
  },
  reference: { keywords: "$ref $dynamicRef", test: isText, expected: "text" },
  anchor: {
    keywords: "$anchor $dynamicAnchor",
    test: (value) => typeof value === "string" && ANCHOR.test(value),
    expected: "a plain name",
  },
  dialect: { keywords: "$schema", test: isText, expected: "text" },
  text: {
    keywords: "$id $comment title description contentEncoding contentMediaType",
    test: isText,
    expected: "text",
  },
  pattern: { keywords: "pattern", test: isText, expected: "text" },
  format: { keywords: "format", test: isText, expected: "text" },
  flag: { keywords: "uniqueItems deprecated readOnly writeOnly", test: isFlag, expected: "true or false" },
  number: {
    keywords: "minimum maximum exclusiveMinimum exclusiveMaximum",
    test: (value) => typeof value === "number",
    expected: "a number",
  },
  positive: {
    keywords: "multipleOf",
    test: (value) => typeof value === "number" && value > 0,
    expected: "a number above 0",
  },
  count: {
    keywords: "minLength maxLength minItems maxItems minContains maxContains minProperties maxProperties",
    test: (value) => Number.isInteger(value) && Number(value) >= 0,
    expected: "a whole number, 0 or more",
  },
  names: { keywords: "required", test: isNames, expected: "a list of different names" },
  nameLists: {
    keywords: "dependentRequired",
    test: (value) => isJsonObject(value) && Object.values(value).every(isNames),
    expected: "an object of lists of different names",
  },
  types: {
    keywords: "type",
    test: (value) => [value].flat().every(isType) && (isText(value) || isTypes(value)),
    expected: `one of ${TYPES.join(", ")}, or a list of different ones`,
  },
  values: { keywords: "enum examples", test: Array.isArray, expected: "a list" },
  anything: { keywords: "const default $vocabulary", test: () => true, expected: "anything" },
} satisfies Record<string, { keywords: string; test: Test; expected: string }>;

export type Shape = keyof typeof SHAPES;

export const KEYWORDS: ReadonlyMap<string, Shape> = new Map(
  (Object.keys(SHAPES) as Shape[]).flatMap((shape) =>
    SHAPES[shape].keywords.split(" ").map((keyword): [string, Shape] => [keyword, shape]),
  ),
);

/** Says what was expected when the value of a keyword has the wrong shape. */
export function shapeError(shape: Shape, value: JsonValue): string | undefined {
  const { test, expected } = SHAPES[shape];
  return test(value) ? undefined : expected;
}

/** The subschemas in the value of a keyword, with their keys where there can be several. */
export function subschemasOf(shape: Shape, value: JsonValue): [key: string | undefined, schema: JsonValue][] {
  if (shape === "schema") return [[undefined, value]];
  if (shape === "schemas" || shape === "schemaMap") return Object.entries(value ?? {});
  if (shape !== "dependencies") return [];
  return Object.entries(value ?? {}).filter(([, member]) => !Array.isArray(member));
}

/** Keywords of older drafts: to ignore them silently would let through what the author meant to refuse. */
export const OUTDATED: ReadonlyMap<string, string> = new Map([
  ["additionalItems", "Use items with prefixItems."],
  ["$recursiveRef", "Use $dynamicRef or $ref."],
  ["$recursiveAnchor", "Use $dynamicAnchor or $anchor."],
]);
