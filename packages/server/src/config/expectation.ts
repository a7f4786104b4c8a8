import { redact } from "@sallyport/engine/host";
import { isJsonObject, type JsonObject, nearestName } from "@sallyport/protocol";
import { choicesOf, itemsOf, namedOf, propertiesOf } from "./schema-tree.ts";

const MAX_SHOWN = 60;
const MAX_NAMES = 6;

/** What a schema wants, in words that finish "expected …". */
export function expectedBy(schema: JsonObject): string {
  const choices = choicesOf(schema);
  if (choices.length > 1) return [...new Set(choices.map(expectedBy))].join(" or ");
  if (Array.isArray(schema.enum))
    return `one of ${schema.enum.map((word) => JSON.stringify(word)).join(", ")}`;
  if (schema.type === "string") return expectedText(schema);
  if (schema.type === "integer") return `a whole number${range(schema)}`;
  if (schema.type === "number") return `a number${range(schema)}`;
  if (schema.type === "boolean") return "true or false";
  if (schema.type === "array") return schema.minItems === 1 ? "a list with at least one entry" : "a list";
  return expectedObject(schema);
}

function expectedText({ title, format, pattern }: JsonObject): string {
  if (typeof title === "string") return title;
  if (format === "uri") return "a URL, such as https://host.example";
  if (format === "includes") return `text with ${String(pattern).replaceAll("\\", "")} in it`;
  return pattern === undefined ? "text" : `text that fits ${String(pattern)}`;
}

function expectedObject(schema: JsonObject): string {
  if (namedOf(schema)) return "names, each with its settings";
  const names = propertiesOf(schema).map(([name]) => name);
  const shown = names.slice(0, MAX_NAMES).join(", ");
  return `keys (${shown}${names.length > MAX_NAMES ? ", …" : ""})`;
}

/** Bounds in words. Zero excluded is one, for whole numbers; the largest number there is goes without saying. */
function range({ type, minimum, exclusiveMinimum, maximum }: JsonObject): string {
  const most = typeof maximum === "number" && maximum < Number.MAX_SAFE_INTEGER ? maximum : undefined;
  const whole = type === "integer";
  const least = whole && typeof exclusiveMinimum === "number" ? exclusiveMinimum + 1 : minimum;
  const isBounded = typeof least === "number" && least > Number.MIN_SAFE_INTEGER;
  const from = isBounded
    ? ` from ${least}`
    : typeof exclusiveMinimum === "number"
      ? ` above ${exclusiveMinimum}`
      : "";
  return `${from}${most === undefined ? "" : `${isBounded ? " to" : ", at most"} ${most}`}`;
}

/** What was found instead, in words that finish "found …"; a secret that strayed here is not repeated. */
export function foundText(value: unknown, key: string): string {
  if (value === null) return "nothing";
  if (Array.isArray(value)) return value.length === 0 ? "an empty list" : "a list";
  if (typeof value === "object") return "keys";
  if (typeof value !== "string") return String(value);
  const kept = redact({ [key]: value });
  const shown = isJsonObject(kept) ? String(kept[key]) : "";
  return JSON.stringify(shown.length > MAX_SHOWN ? `${shown.slice(0, MAX_SHOWN)}…` : shown);
}

const YES = new Set(["yes", "on", "true", "y"]);
const NO = new Set(["no", "off", "false", "n"]);

/** What was probably meant; undefined when nobody can tell. */
export function remedyFor(schema: JsonObject, value: unknown): string | undefined {
  if (value === null) return "leave the key out for its default";
  if (Array.isArray(schema.enum)) return quoted(nearestName(String(value), schema.enum.map(String)));
  if (schema.type === "array") return listRemedy(schema, value);
  if (typeof value === "string") return textRemedy(schema, value);
  if (schema.type !== "string" || typeof value === "object") return undefined;
  return `put it in quotes: "${String(value)}"`;
}

function listRemedy(schema: JsonObject, value: unknown): string | undefined {
  if (isJsonObject(value)) return "begin it with `- `, as an entry of the list";
  const takesText = itemsOf(schema)?.type === "string";
  return takesText && typeof value !== "object" ? `write it as a list: [${String(value)}]` : undefined;
}

function textRemedy(schema: JsonObject, value: string): string | undefined {
  const word = value.trim().toLowerCase();
  if (schema.type === "boolean" && YES.has(word)) return "write true";
  if (schema.type === "boolean" && NO.has(word)) return "write false";
  const isNumber = schema.type === "integer" || schema.type === "number";
  const digits = word.replaceAll(/[_,']/g, "");
  return isNumber && digits !== "" && Number.isFinite(Number(digits)) ? `write ${Number(digits)}` : undefined;
}

function quoted(name: string | undefined): string | undefined {
  return name === undefined ? undefined : `did you mean "${name}"?`;
}
