import { canonicalJson, isJsonObject, type JsonObject, type JsonValue } from "@sallyport/protocol";

const WITHOUT_MEANING = new Set([
  "$schema",
  "$id",
  "$comment",
  "$anchor",
  "$dynamicAnchor",
  "$defs",
  "definitions",
  "title",
  "description",
  "default",
  "examples",
  "deprecated",
  "readOnly",
  "writeOnly",
]);
const HOLDS_VALUES = new Set(["enum", "const", "required", "dependentRequired"]);
const HOLDS_NAMES = new Set(["properties", "patternProperties", "dependentSchemas", "dependencies"]);

const texts = new WeakMap<JsonObject, string>();

/** True for schemas that read the same without their annotations and refer to nothing. */
export function sameMeaning(first: JsonObject, second: JsonObject): boolean {
  if (first === second) return true;
  const text = textOf(first);
  return text === textOf(second) && !text.includes('"$ref"') && !text.includes('"$dynamicRef"');
}

function textOf(schema: JsonObject): string {
  const known = texts.get(schema);
  if (known !== undefined) return known;
  const text = canonicalJson(meaning(schema));
  texts.set(schema, text);
  return text;
}

function meaning(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(meaning);
  if (!isJsonObject(value)) return value;
  const entries = Object.entries(value).filter(([keyword]) => !WITHOUT_MEANING.has(keyword));
  return Object.fromEntries(entries.map(([keyword, member]) => [keyword, memberMeaning(keyword, member)]));
}

function memberMeaning(keyword: string, member: JsonValue): JsonValue {
  if (HOLDS_VALUES.has(keyword)) return member;
  if (!HOLDS_NAMES.has(keyword) || !isJsonObject(member)) return meaning(member);
  return Object.fromEntries(Object.entries(member).map(([name, schema]) => [name, meaning(schema)]));
}
