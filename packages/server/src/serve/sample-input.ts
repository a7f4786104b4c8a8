import { isJsonObject, type JsonObject, type JsonSchema, type JsonValue } from "@sallyport/protocol";

const MAX_DEPTH = 8;

/** The least that a schema seems to ask for, made up; undefined when nobody can tell. Has to be validated still. */
export function sampleInput(schema: JsonSchema, depth = 0): JsonValue | undefined {
  if (depth > MAX_DEPTH) return undefined;
  const given = givenBy(schema);
  if (given !== undefined) return given;
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  if (type === "object" || schema.properties !== undefined) return sampleObject(schema, depth);
  if (type === "array") return sampleList(schema, depth);
  if (type === "string") return sampleText(schema);
  if (type === "integer" || type === "number") return sampleNumber(schema);
  if (type === "boolean") return true;
  return type === "null" ? null : undefined;
}

/** What the author wrote down goes before anything made up. */
function givenBy(schema: JsonSchema): JsonValue | undefined {
  const { examples, enum: words, const: only, default: preset, anyOf, oneOf } = schema;
  if (only !== undefined) return only;
  if (preset !== undefined) return preset;
  for (const list of [examples, words]) if (Array.isArray(list) && list.length > 0) return list[0];
  for (const list of [anyOf, oneOf]) {
    const first = Array.isArray(list) ? list[0] : undefined;
    if (isJsonObject(first)) return sampleInput(first, 1);
  }
  return undefined;
}

function sampleObject({ properties = {}, required = [] }: JsonSchema, depth: number): JsonValue | undefined {
  const sample: JsonObject = {};
  for (const name of Array.isArray(required) ? required.map(String) : []) {
    const inner = isJsonObject(properties) ? properties[name] : undefined;
    const value = isJsonObject(inner) ? sampleInput(inner, depth + 1) : undefined;
    if (value === undefined) return undefined;
    sample[name] = value;
  }
  return sample;
}

function sampleList({ items, minItems }: JsonSchema, depth: number): JsonValue | undefined {
  const length = typeof minItems === "number" ? minItems : 0;
  const item = isJsonObject(items) ? sampleInput(items, depth + 1) : undefined;
  if (length === 0) return [];
  return item === undefined ? undefined : Array.from({ length }, () => item);
}

function sampleText({ minLength, maxLength }: JsonSchema): string {
  const least = typeof minLength === "number" ? minLength : 0;
  const most = typeof maxLength === "number" ? maxLength : Number.POSITIVE_INFINITY;
  return "example".repeat(Math.ceil(Math.max(1, least) / 7)).slice(0, Math.max(least, Math.min(most, 7)));
}

function sampleNumber({ minimum, exclusiveMinimum, maximum }: JsonSchema): number {
  const least = typeof minimum === "number" ? minimum : undefined;
  const above = typeof exclusiveMinimum === "number" ? exclusiveMinimum + 1 : undefined;
  const most = typeof maximum === "number" ? maximum : Number.POSITIVE_INFINITY;
  return Math.min(most, least ?? above ?? 2);
}
