import { countNames, isJsonObject, type JsonObject, type JsonValue } from "@sallyport/protocol";

const MAX_DEPTH = 16;
const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Reads one JSON object so that no two readers can understand it differently; otherwise says what is wrong with it.
 * Names that occur twice, at any depth, are refused: which of them counts is a matter of the parser.
 */
export function readStrictObject(bytes: Buffer): JsonObject | string {
  const text = decode(bytes);
  if (text === undefined) return "is not UTF-8 text";
  const value = parse(text);
  if (!isJsonObject(value)) return "is not a JSON object";
  const members = countMembers(value, MAX_DEPTH);
  if (Number.isNaN(members)) return "is nested too deeply, or names a member __proto__";
  return members === countNames(text) ? value : "names a member twice";
}

function decode(bytes: Buffer): string | undefined {
  try {
    return UTF8.decode(bytes);
  } catch {
    return undefined;
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** How many members the value has at all depths; NaN when it is too deep or has one of a forbidden name. */
function countMembers(value: JsonValue, depth: number): number {
  if (typeof value !== "object" || value === null) return 0;
  if (depth === 0) return Number.NaN;
  let members = 0;
  if (Array.isArray(value)) {
    for (const item of value) members += countMembers(item, depth - 1);
    return members;
  }
  // The value is fresh from the parser, so every name it has is its own.
  for (const name in value) {
    if (name === "__proto__") return Number.NaN;
    members += 1 + countMembers(value[name] ?? null, depth - 1);
  }
  return members;
}
