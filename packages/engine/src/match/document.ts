import { type Issue, isJsonObject, type JsonObject, type JsonValue, nearestName } from "@sallyport/protocol";
import { readHost, readPath } from "./locations.ts";

const MAX_TOKENS = 32;

/** The pointer leads through a value that has no members, such as a text. */
export const BLOCKED = Symbol("blocked");

/** The tokens of a JSON Pointer (RFC 6901); undefined when the text is none, or has more than 32 tokens. */
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

/** The value at a pointer; undefined when it is not there. Only own members count, so that no pointer reaches a prototype. */
export function lookUp(value: JsonValue, tokens: readonly string[]): JsonValue | undefined | typeof BLOCKED {
  let at: JsonValue | undefined = value;
  for (const token of tokens) {
    if (at === undefined) return undefined;
    if (typeof at !== "object" || at === null) return BLOCKED;
    at = Array.isArray(at) ? entryOf(at, token) : memberOf(at, token);
  }
  return at;
}

function entryOf(list: readonly JsonValue[], token: string): JsonValue | undefined {
  return /^(?:0|[1-9]\d{0,9})$/.test(token) ? list[Number(token)] : undefined;
}

function memberOf(object: JsonObject, token: string): JsonValue | undefined {
  return Object.hasOwn(object, token) ? object[token] : undefined;
}

const MAX_ISSUES = 100;
const MAX_LIST = 1_000;
const MAX_PATTERN = 256;
const MAX_TEXT = 1_000;

/** What all nodes of one document share. */
class SharedByDocument {
  readonly issues: Issue[] = [];
  /** Many rules test the same argument: its host or path is read once for all of them. */
  readonly readHost = rememberLast(readHost);
  readonly readPath = rememberLast(readPath);
}

/**
 * One value of a document that people write. Its readers note every wrong place instead of stopping at the first. They
 * return undefined for a wrong value, and leave wrong entries out of lists; use the result only if `issues` is empty.
 */
export class DocumentNode {
  readonly value: JsonValue | undefined;
  /** JSON Pointer of the value. */
  readonly path: string;
  readonly document: SharedByDocument;

  private constructor(value: JsonValue | undefined, path: string, document: SharedByDocument) {
    this.value = value;
    this.path = path;
    this.document = document;
  }

  /** The root of a JSON document. `path` is where the document itself stands. */
  static of(document: unknown, path = ""): DocumentNode {
    return new DocumentNode(document as JsonValue, path, new SharedByDocument());
  }

  /** The wrong places of the whole document, at most 100. */
  get issues(): readonly Issue[] {
    return this.document.issues;
  }

  wrong(reason: string, suggestion?: string): undefined {
    const { issues } = this.document;
    const issue = { path: this.path, reason, ...(suggestion !== undefined && { suggestion }) };
    if (issues.length < MAX_ISSUES) issues.push(issue);
  }

  /** A member; its value is undefined when it is not there. */
  at(key: string): DocumentNode {
    const value = isJsonObject(this.value) ? memberOf(this.value, key) : undefined;
    return new DocumentNode(value, pointTo(this.path, key), this.document);
  }

  has(key: string): boolean {
    return isJsonObject(this.value) && Object.hasOwn(this.value, key);
  }

  /** What `read` makes of a member; `missing` when it is not there. */
  optional<Read, Missing = undefined>(
    key: string,
    read: (member: DocumentNode) => Read,
    missing?: Missing,
  ): Read | Missing {
    return this.has(key) ? read(this.at(key)) : (missing as Missing);
  }

  /** The keys of an object that has only known ones. Unknown keys are noted and left out. */
  keys(known: readonly string[]): string[] | undefined {
    if (!isJsonObject(this.value))
      return this.wrong("must be an object", `with the keys ${known.join(", ")}`);
    return Object.keys(this.value).filter((key) => {
      if (known.includes(key)) return true;
      return this.at(key).wrong(`unknown key "${key}"`, suggestName(key, known));
    });
  }

  text(max = MAX_TEXT): string | undefined {
    const { value } = this;
    if (typeof value !== "string" || value === "") return this.wrong("must be text");
    return value.length <= max ? value : this.wrong(`must have at most ${max} characters`);
  }

  number(): number | undefined {
    return typeof this.value === "number" ? this.value : this.wrong("must be a number");
  }

  boolean(): boolean | undefined {
    return typeof this.value === "boolean" ? this.value : this.wrong("must be true or false");
  }

  /** One of the known words. */
  word<Word extends string>(known: readonly Word[]): Word | undefined {
    const found = known.find((word) => word === this.value);
    if (found !== undefined) return found;
    return this.wrong(`must be one of ${known.join(", ")}`, suggestName(String(this.value), known));
  }

  /** A list, or one thing alone; at least one. */
  list<Item>(read: (item: DocumentNode) => Item | undefined): Item[] {
    const items = this.items() ?? [this];
    if (items.length === 0) this.wrong("must not be empty", "leave it out where it does not matter");
    if (items.length > MAX_LIST) this.wrong(`must have at most ${MAX_LIST} entries`);
    return items
      .slice(0, MAX_LIST)
      .map(read)
      .filter((item) => item !== undefined);
  }

  /** The entries of an array, however many; undefined for any other value. */
  items(): DocumentNode[] | undefined {
    if (!Array.isArray(this.value)) return undefined;
    return this.value.map((item, index) => new DocumentNode(item, pointTo(this.path, index), this.document));
  }

  words<Word extends string>(known: readonly Word[]): Word[] {
    return this.list((item) => item.word(known));
  }

  /** Names or patterns with `*`. */
  patterns(): string[] {
    return this.list((item) => item.text(MAX_PATTERN));
  }
}

/** What the input of a call is called elsewhere, in a rule too. */
const INPUT_NAMES = ["arguments", "args", "parameters", "params"];

function suggestName(name: string, known: readonly string[]): string {
  const isInput = INPUT_NAMES.includes(name) && known.includes("input");
  const near = isInput ? "input" : nearestName(name, known);
  return near === undefined ? `known: ${known.join(", ")}` : `did you mean "${near}"?`;
}

function rememberLast<Given, Read>(
  read: (text: string, given?: Given) => Read,
): (text: string, given?: Given) => Read {
  let last: { text: string; given: Given | undefined; result: Read } | undefined;
  return (text, given) => {
    if (last?.text !== text || last.given !== given) last = { text, given, result: read(text, given) };
    return last.result;
  };
}
