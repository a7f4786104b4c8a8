import type { JsonValue } from "./json.ts";

const MAX_DEPTH = 512;
/** Strings that need no escape; a test by expression is faster than JSON.stringify while they are short. */
const PLAIN = /^[\x20\x21\x23-\x5b\x5d-\x7e]*$/;
const SHORT = 64;

/** Says where a value is not JSON, in a form that makes an Issue. */
export class NotJsonError extends TypeError {
  /** JSON Pointer to the wrong place; empty for the whole value. */
  readonly path: string;
  readonly reason: string;

  constructor(path: string, found: string) {
    super(`Not a JSON value at "${path}": ${found}`);
    this.name = "NotJsonError";
    this.path = path;
    this.reason = `must be a JSON value, not ${found}`;
  }
}

/**
 * The one JSON text of a value (RFC 8785): equal values give equal texts, so hashes of it can be compared.
 * Throws a NotJsonError for the first place that is not JSON.
 */
export function canonicalJson(value: JsonValue): string {
  return write(value, undefined);
}

/** Where a value stands; a linked list, because it is read only when something is wrong. */
interface Place {
  depth: number;
  parent: Place | undefined;
  key: string | number;
}

function write(value: unknown, place: Place | undefined): string {
  switch (typeof value) {
    case "string":
      return writeString(value, place);
    case "number":
      return Number.isFinite(value) ? `${value}` : refuse(`${value}`, place);
    case "boolean":
      return value ? "true" : "false";
    case "object":
      return value === null ? "null" : writeContainer(value, place);
    default:
      return refuse(value === undefined ? "undefined" : `a ${typeof value}`, place);
  }
}

function writeString(value: string, place: Place | undefined): string {
  if (value.length < SHORT && PLAIN.test(value)) return `"${value}"`;
  return value.isWellFormed() ? JSON.stringify(value) : refuse("a string with a lone surrogate", place);
}

function writeContainer(value: object, parent: Place | undefined): string {
  const depth = parent === undefined ? 1 : parent.depth + 1;
  if (depth > MAX_DEPTH) return refuse(`a cycle, or more than ${MAX_DEPTH} levels`, parent);
  const place: Place = { depth, parent, key: "" };
  if (Array.isArray(value)) return writeArray(value, place);
  return isPlain(value) ? writeObject(value, place) : refuse("an instance of a class", parent);
}

function writeArray(items: unknown[], place: Place): string {
  let text = "[";
  for (let index = 0; index < items.length; index += 1) {
    place.key = index;
    text += index === 0 ? write(items[index], place) : `,${write(items[index], place)}`;
  }
  return `${text}]`;
}

function writeObject(members: Record<string, unknown>, place: Place): string {
  let text = "{";
  let separator = "";
  for (const key of sorted(Object.keys(members))) {
    place.key = key;
    text += `${separator}${writeString(key, place)}:${write(members[key], place)}`;
    separator = ",";
  }
  return `${text}}`;
}

/** In place, by UTF-16 code units. Insertion beats the built-in sort for the few keys most objects have. */
function sorted(keys: string[]): string[] {
  if (keys.length > 16) return keys.sort();
  for (let end = 1; end < keys.length; end += 1) insertLast(keys, end);
  return keys;
}

function insertLast(keys: string[], end: number): void {
  const key = keys[end] as string;
  let at = end;
  for (let before = keys[at - 1]; before !== undefined && before > key; before = keys[at - 1]) {
    keys[at] = before;
    at -= 1;
  }
  keys[at] = key;
}

/** True for `{}` of any realm and for objects without a prototype. */
function isPlain(value: object): value is Record<string, unknown> {
  const prototype: object | null = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null || Object.getPrototypeOf(prototype) === null;
}

function refuse(found: string, place: Place | undefined): never {
  throw new NotJsonError(pointer(place), found);
}

function pointer(place: Place | undefined): string {
  if (place === undefined) return "";
  const token = `${place.key}`.replaceAll("~", "~0").replaceAll("/", "~1");
  return `${pointer(place.parent)}/${token}`;
}
