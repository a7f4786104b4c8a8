import { isJsonObject, type JsonObject, type JsonValue } from "@sallyport/protocol";

const MAX_DEPTH = 16;
const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const [BACKSLASH, COLON, SPACE] = [0x5c, 0x3a, 0x20] as const;

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

/**
 * How many member names stand in a text that is JSON: a string is a name when a colon follows. Parsing keeps one
 * member of each name, so a difference to the parsed value means that a name stands there twice.
 */
function countNames(text: string): number {
  let names = 0;
  let open = text.indexOf('"');
  while (open !== -1) {
    const next = skipSpace(text, endOfString(text, open));
    if (text.charCodeAt(next) === COLON) names += 1;
    open = text.indexOf('"', next);
  }
  return names;
}

function skipSpace(text: string, from: number): number {
  let at = from;
  // Nothing at or below a space can stand between the tokens of JSON text but white space.
  while (text.charCodeAt(at) <= SPACE) at += 1;
  return at;
}

function endOfString(text: string, open: number): number {
  let close = text.indexOf('"', open + 1);
  while (isEscaped(text, close)) close = text.indexOf('"', close + 1);
  return close === -1 ? text.length : close + 1;
}

/** Whether an odd number of backslashes stands before the quote. */
function isEscaped(text: string, at: number): boolean {
  let before = at - 1;
  while (text.charCodeAt(before) === BACKSLASH) before -= 1;
  return (at - before) % 2 === 0;
}
