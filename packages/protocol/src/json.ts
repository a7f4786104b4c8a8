/** A value that survives JSON unchanged. Everything that crosses a door is one of these. */
export type JsonValue = null | boolean | number | string | JsonValue[] | JsonObject;

export interface JsonObject {
  [key: string]: JsonValue;
}

/** A JSON Schema document (draft 2020-12). Its meaning is the validator's business, not the type's. */
export type JsonSchema = JsonObject;

/** What a JSON text says; undefined for every other text. */
export function parseJson(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** As `parseJson`; undefined also for a text that names a member twice, because readers differ in which one counts. */
export function parseUnambiguousJson(text: string): JsonValue | undefined {
  const value = parseJson(text);
  return value === undefined || namesTwice(text, value) ? undefined : value;
}

/** Whether the text, of which this is the value, names a member of one object twice. */
export function namesTwice(text: string, value: JsonValue): boolean {
  let names = 0;
  const open = [value];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (typeof next !== "object" || next === null) continue;
    const members = Object.values(next);
    if (!Array.isArray(next)) names += members.length;
    for (const member of members) if (typeof member === "object") open.push(member);
  }
  return names !== countNames(text);
}

/** The object a JSON text stands for; undefined for every other text. */
export function parseJsonObject(text: string): JsonObject | undefined {
  const value = parseJson(text);
  return isJsonObject(value) ? value : undefined;
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

type Defined<T> = { [K in keyof T]?: Exclude<T[K], undefined | null> };

/** Leaves out the members without a value: exact optional types and canonical JSON both refuse `undefined`. */
export function defined<T extends object>(members: T): Defined<T> {
  const present: Partial<T> = {};
  for (const name of Object.keys(members) as (keyof T)[]) {
    const value = members[name];
    if (value !== undefined && value !== null) present[name] = value;
  }
  return present as Defined<T>;
}

/** The value as nobody can change it any more, with everything in it. A part that is frozen is taken to be so wholly. */
export function deepFreeze<Value>(value: Value): Value {
  if (typeof value !== "object" || value === null) return value;
  for (const part of Object.values(value)) if (!Object.isFrozen(part)) deepFreeze(part);
  return Object.freeze(value);
}

const SPACE = 0x20;
const COLON = 0x3a;
const BACKSLASH = 0x5c;

/**
 * How many member names stand in a text that is JSON: a string is a name when a colon follows. Parsing keeps one
 * member of each name, so a difference to the parsed value means that a name stands there twice.
 */
export function countNames(text: string): number {
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
