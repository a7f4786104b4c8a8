import type { JsonObject, JsonValue } from "@sallyport/protocol";

const MAX_TOKENS = 32;

/** Stands for a place that is not there: the value has no such member. */
export const ABSENT = Symbol("absent");
/** Stands for a place nobody can tell about: the way to it leads through something that has no members. */
export const BLOCKED = Symbol("blocked");

/** The tokens of a JSON Pointer (RFC 6901); undefined when the text is none, or an unreasonably deep one. */
export function parsePointer(text: string): string[] | undefined {
  if (text === "") return [];
  if (!text.startsWith("/") || /~(?![01])/.test(text)) return undefined;
  const tokens = text.slice(1).split("/");
  if (tokens.length > MAX_TOKENS) return undefined;
  return tokens.map((token) => token.replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** Appends one token to a JSON Pointer. */
export function pointTo(pointer: string, key: string | number): string {
  return `${pointer}/${String(key).replaceAll("~", "~0").replaceAll("/", "~1")}`;
}

/** What stands at a place of a value. Only own members count, so that no pointer reaches a prototype. */
export function lookUp(
  value: JsonValue,
  tokens: readonly string[],
): JsonValue | typeof ABSENT | typeof BLOCKED {
  let at: JsonValue | undefined = value;
  for (const token of tokens) {
    if (typeof at !== "object" || at === null) return BLOCKED;
    at = Array.isArray(at) ? entryOf(at, token) : memberOf(at, token);
    if (at === undefined) return ABSENT;
  }
  return at;
}

function entryOf(list: readonly JsonValue[], token: string): JsonValue | undefined {
  return /^(?:0|[1-9]\d{0,9})$/.test(token) ? list[Number(token)] : undefined;
}

function memberOf(object: JsonObject, token: string): JsonValue | undefined {
  return Object.hasOwn(object, token) ? object[token] : undefined;
}
