import { stripVTControlCharacters, types } from "node:util";
import type { JsonObject, JsonValue } from "@sallyport/protocol";
import type { RunFault, ToolContext, ToolFunction } from "../../ports/runner.ts";
import { isToolCode } from "../../ports/tools.ts";

// What a tool's function gives back: a value that must be JSON, or whatever it throws. The same code runs in this
// process, in threads and in sandboxed processes.

// Taken before any tool runs, so that a tool that breaks its own globals cannot break this file.
const { stringify, parse } = JSON;
const { isArray } = Array;
const { keys } = Object;
const byteLength = Buffer.byteLength;

/** A value as JSON text, or why it cannot be. */
export type Encoded = { ok: true; text: string } | { ok: false; fault: RunFault };

interface Invocation {
  input: unknown;
  context: ToolContext;
  maxOutputBytes: number;
}

/**
 * Calls a tool's function and encodes its result. Answers at once when the function does, so that a plain function costs
 * no promise. Never throws and never rejects; a promise that never settles is left to the caller's deadline.
 */
export function invokeTool(operation: ToolFunction, invocation: Invocation): Encoded | Promise<Encoded> {
  try {
    const returned: unknown = operation(invocation.input, invocation.context);
    if (!isThenable(returned)) return encodeResult(returned, invocation.maxOutputBytes);
    // Not `Promise.resolve`: that one reads `constructor`, which may throw; here it becomes a rejection.
    const settled = new Promise<unknown>((resolve) => resolve(returned));
    return settled.then((value) => encodeResult(value, invocation.maxOutputBytes), threw);
  } catch (error) {
    return threw(error);
  }
}

/** A tool's operation by name; inherited names such as `constructor` are none. */
export function findOperation(operations: object, name: string): ToolFunction | undefined {
  const operation: unknown = Object.hasOwn(operations, name) ? Reflect.get(operations, name) : undefined;
  return isToolFunction(operation) ? operation : undefined;
}

/** The outcome of a call of an operation that the tool does not have. */
export function noOperation(tool: string, name: string): Encoded & { ok: false } {
  return { ok: false, fault: { kind: "threw", message: `${tool} has no operation "${name}"` } };
}

function isToolFunction(value: unknown): value is ToolFunction {
  return typeof value === "function";
}

function threw(error: unknown): Encoded {
  return { ok: false, fault: describeThrown(error) };
}

function isThenable(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  return "then" in value && typeof value.then === "function";
}

/**
 * Encodes a result. `undefined` counts as `null`. A text that is too long is cut, with a note, because the tool has done
 * its work (FR-OUT-04); any other result that is too long is refused. Never throws.
 */
function encodeResult(value: unknown, maxBytes: number): Encoded {
  if (value === undefined) return { ok: true, text: "null" };
  const encoded = encodeJson(value, maxBytes);
  if (typeof value !== "string" || encoded.ok || encoded.fault.kind !== "output_too_large") return encoded;
  return encodeJson(cutText(value, { maxBytes, sizeOf: (text) => byteLength(stringify(text)) }), maxBytes);
}

/**
 * Encodes a value that must survive JSON unchanged. What JSON would drop or change without an error (functions, symbols,
 * NaN, promises, maps) is refused with its path. Never throws.
 */
export function encodeJson(value: unknown, maxBytes: number): Encoded {
  try {
    const text = stringify(value);
    const problem = findNotJson(value, "the value");
    if (problem !== undefined || text === undefined) return notJson(problem ?? "the value is not JSON");
    const bytes = byteLength(text);
    return bytes > maxBytes ? { ok: false, fault: { kind: "output_too_large", bytes } } : { ok: true, text };
  } catch (error) {
    return notJson(describeThrown(error).message);
  }
}

/** A copy that shares nothing with the original. The caller vouches that it is JSON. */
export function copyJson<T>(value: T): T {
  return typeof value === "object" && value !== null ? parse(stringify(value)) : value;
}

/** A copy of an input, as `readJson` lets it in: of bounded depth and without `__proto__`. */
export function copyInput(value: JsonValue): JsonValue {
  if (typeof value !== "object" || value === null) return value;
  if (isArray(value)) return value.map(copyInput);
  const copy: JsonObject = {};
  for (const name of keys(value)) copy[name] = copyInput(value[name] ?? null);
  return copy;
}

function notJson(message: string): Encoded {
  return { ok: false, fault: { kind: "not_json", message: cleanText(message) } };
}

function findNotJson(value: unknown, path: string): string | undefined {
  if (typeof value === "object") return value === null ? undefined : findInObject(value, path);
  if (typeof value === "string" || typeof value === "boolean") return undefined;
  if (typeof value === "number") return Number.isFinite(value) ? undefined : `${path} is ${value}`;
  return `${path} is ${typeof value === "undefined" ? "undefined" : `a ${typeof value}`}`;
}

function findInObject(value: object, path: string): string | undefined {
  if (Array.isArray(value)) return findInArray(value, path);
  if ("toJSON" in value && typeof value.toJSON === "function") return undefined;
  if (types.isPromise(value)) return `${path} is a promise that was not awaited`;
  if (types.isMap(value) || types.isSet(value)) return `${path} is a Map or a Set`;
  for (const key of Object.keys(value)) {
    const member: unknown = Reflect.get(value, key);
    if (member === undefined) continue;
    const problem = findNotJson(member, key);
    if (problem !== undefined) return `${path}.${problem}`;
  }
  return undefined;
}

function findInArray(values: readonly unknown[], path: string): string | undefined {
  for (let index = 0; index < values.length; index++) {
    const problem = findNotJson(values[index], "");
    if (problem !== undefined) return `${path}[${index}]${problem}`;
  }
  return undefined;
}

interface TextBounds {
  maxBytes: number;
  /** The size of the text where it goes, in bytes. */
  sizeOf(text: string): number;
  /** Bytes that were lost before. */
  missing?: number;
}

/**
 * Cuts a text to `maxBytes`, with a note of how many bytes are missing; no character is split (FR-OUT-04). Where nothing
 * fits, the note alone is left.
 */
export function cutText(text: string, { maxBytes, sizeOf, missing = 0 }: TextBounds): string {
  const total = byteLength(text) + missing;
  let shown = missing > 0 ? `${text}\n${leftOut(missing)}` : text;
  let kept = text.length;
  for (let bytes = sizeOf(shown); bytes > maxBytes && kept > 0; bytes = sizeOf(shown)) {
    kept = Math.floor(kept * Math.min(0.99, maxBytes / bytes));
    const head = text.slice(0, kept);
    const whole = head.isWellFormed() ? head : head.slice(0, -1);
    shown = `${whole}\n${leftOut(total - byteLength(whole))}`;
  }
  return shown;
}

/** The note in place of so many bytes. */
export function leftOut(bytes: number): string {
  return `[${bytes} bytes left out]`;
}

type Threw = Extract<RunFault, { kind: "threw" }>;

const MAX_MESSAGE_CHARS = 2_000;
const MAX_JSON_CHARS = 65_536;
const MAX_STACK_CHARS = 8_000;
const MAX_DETAILS = 8;
const MAX_DETAIL_CHARS = 1_000;
const DETAIL_NAME = /^[a-zA-Z]\w{0,31}$/;

const CONTROL_EXCEPT_NEWLINE_AND_TAB = /[^\P{Cc}\n\t]/gu;
const TEXT_DIRECTION_OVERRIDES = /[\u202a-\u202e\u2066-\u2069]/g;

/**
 * Turns whatever a tool threw into a fault. Never throws, however hostile the value: each read of it is guarded, and the
 * fault is bounded and free of terminal controls.
 */
export function describeThrown(thrown: unknown): Threw {
  return threwFault(messageOf(thrown), {
    stack: readString(thrown, "stack"),
    invalidInput: readOwn(thrown, "invalidInput"),
    code: readOwn(thrown, "toolCode"),
    details: readOwn(thrown, "toolDetails"),
  });
}

/** A fault from what a tool threw or reported: bounded, cleaned, and without fields of the wrong type. */
export function threwFault(message: string, told: Partial<Record<keyof Threw, unknown>>): Threw {
  const fault: Threw = { kind: "threw", message: toolsMessage(message) };
  if (typeof told.stack === "string") fault.stack = cleanText(told.stack, MAX_STACK_CHARS);
  if (told.invalidInput === true) fault.invalidInput = true;
  if (isToolCode(told.code)) fault.code = told.code;
  const details = fault.code && toolDetails(told.details);
  if (details) fault.details = details;
  return fault;
}

/** The texts of a declared failure's details, bounded and cleaned; undefined when there is none that can be read. */
function toolDetails(given: unknown): Record<string, string> | undefined {
  if (typeof given !== "object" || given === null) return undefined;
  try {
    const texts = Object.entries(given).flatMap(([name, value]): [string, string][] =>
      DETAIL_NAME.test(name) && typeof value === "string" ? [[name, cleanText(value, MAX_DETAIL_CHARS)]] : [],
    );
    return texts.length === 0 ? undefined : Object.fromEntries(texts.slice(0, MAX_DETAILS));
  } catch {
    return undefined;
  }
}

/** A message that is a JSON object is for programs, and stays as it is (FR-ERR-JSON-TOOL-01). */
function toolsMessage(message: string): string {
  return isJsonObjectText(message) ? message : cleanText(message, MAX_MESSAGE_CHARS);
}

/** Whether a tool's message is a JSON object in text. */
export function isJsonObjectText(text: string): boolean {
  if (text.length > MAX_JSON_CHARS || !/^\s*\{/.test(text) || !text.isWellFormed()) return false;
  try {
    parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Cuts a text to `maxChars` and removes what could confuse a terminal, a log or a JSON reader. */
export function cleanText(text: string, maxChars: number = MAX_MESSAGE_CHARS): string {
  const cut = text.length > maxChars ? `${text.slice(0, maxChars - 1)}…` : text;
  return stripVTControlCharacters(cut)
    .replace(CONTROL_EXCEPT_NEWLINE_AND_TAB, "")
    .replace(TEXT_DIRECTION_OVERRIDES, "")
    .toWellFormed();
}

function messageOf(thrown: unknown): string {
  if (typeof thrown === "string") return thrown === "" ? "threw an empty string" : thrown;
  if (typeof thrown === "function") return "threw a function";
  if (typeof thrown !== "object" || thrown === null) return `threw ${String(thrown)}`;
  return readString(thrown, "message") || (readString(thrown, "name") ?? "threw an object without a message");
}

function readString(thrown: unknown, property: "message" | "name" | "stack"): string | undefined {
  const value = readGuarded(thrown, (target) => Reflect.get(target, property));
  return typeof value === "string" ? value : undefined;
}

function readOwn(thrown: unknown, property: "invalidInput" | "toolCode" | "toolDetails"): unknown {
  return readGuarded(thrown, (target) =>
    Object.hasOwn(target, property) ? Reflect.get(target, property) : undefined,
  );
}

function readGuarded(thrown: unknown, read: (target: object) => unknown): unknown {
  if (typeof thrown !== "object" || thrown === null) return undefined;
  try {
    return read(thrown);
  } catch {
    return undefined;
  }
}

/** A file of the host: an address or an absolute path, here or on Windows. What is quoted may hold spaces. */
const QUOTED_PATH = /(["'`])((?:file:\/\/|\/|[a-z]:[\\/])[^"'`\n]*)\1/gi;
const BARE_PATH = /(?<![\w:/\\.@-])(?:file:\/\/|[a-z]:[\\/]|\/)[^\s"'`,;()]*/gi;

/** Replaces every path in the text by its file name: where a host keeps its tools is not shown to callers. */
export function withoutFolders(text: string): string {
  return text
    .replace(QUOTED_PATH, (_, quote: string, path: string) => `${quote}${fileName(path)}${quote}`)
    .replace(BARE_PATH, fileName);
}

function fileName(path: string): string {
  return path.slice(Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\")) + 1) || "a folder";
}
