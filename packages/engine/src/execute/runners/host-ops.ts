import { Buffer } from "node:buffer";
import { types } from "node:util";
import { isJsonObject } from "@sallyport/protocol";
import type { ToolHost, UseOf } from "../../ports/runner.ts";
import type { StateAccess } from "../../ports/state.ts";
import type { FileAccess } from "../../ports/workspace.ts";
import { encodeJson } from "./tool-result.ts";

// What a tool may ask of its host, in one table. It drives the tool's context (host-api.ts), the messages in between, the
// host's own calls, and the guard in front of state and files (guarded-host.ts).

/** The objects of a tool's context that the operations belong to; `call` is the context itself. */
interface HostParts {
  state: StateAccess;
  files: FileAccess;
  call: Pick<ToolHost, "use" | "output">;
}
export type HostOp = { [Part in keyof HostParts]: keyof HostParts[Part] }[keyof HostParts];

interface HostOpRule {
  part: keyof HostParts;
  args: readonly (keyof typeof ARGUMENTS)[];
  /** The capability that it uses, for what; its first argument says on what. Left out: the tool names it itself. */
  uses?: readonly [capability: string, action: "read" | "list" | "write" | "delete"];
  /** It resolves with a file's content, which is base64 in a message. All other answers are plain JSON. */
  givesContent?: true;
  /** The longest arguments in a message; left out: two texts, however they are escaped. */
  maxChars?: number;
}

/** The largest file that fits into one message. A tool in the host's own thread sends none and is not bound by it. */
export const MAX_FILE_BYTES = 16 * 1024 * 1024;
/** The largest value `state.put` takes; it bounds what the host holds for a tool. */
const MAX_VALUE_BYTES = 4 * 1024 * 1024;
/** The longest key, prefix, capability, action, resource or path. */
const MAX_TEXT_CHARS = 4_096;
/** Room for two of them. */
const MAX_TEXTS_CHARS = 64 * 1_024;
/** Room for a file in base64 and its path. */
const MAX_FILE_CHARS = Math.ceil(MAX_FILE_BYTES / 3) * 4 + MAX_TEXTS_CHARS;
const MAX_VALUE_CHARS = MAX_VALUE_BYTES + MAX_TEXTS_CHARS;
const MAX_MODE = 0o7777;

// Taken before any tool runs, so that a tool that breaks its own globals cannot break this file.
const { parse, stringify } = JSON;

/** Each gives the argument as the host may have it, and throws a TypeError or RangeError for what is none. */
const ARGUMENTS = {
  key: (key: unknown) => checkText(key, "a key, prefix or capability"),
  path: (path: unknown) => checkText(path, "a path"),
  value: (value: unknown) => {
    try {
      return checkValue(value);
    } catch (error) {
      // Uncaught, it says what the tool has done wrong, and not that it panicked.
      throw Object.assign(error as Error, { toolCode: "E3709" });
    }
  },
  text: (text: unknown) => {
    if (typeof text !== "string") throw new TypeError("output must be a string");
    return checkValue(text);
  },
  use: (on: unknown) => (on === undefined ? undefined : checkUse(on)),
  content: (content: unknown) => {
    if (typeof content === "string" || types.isUint8Array(content)) return content;
    throw new TypeError("a file's content must be a string or bytes");
  },
  mode: checkMode,
  modeOption: (options: unknown) => {
    const mode = optionOf(options, "mode");
    return mode === undefined ? {} : { mode: checkMode(mode) };
  },
  recursiveOption: (options: unknown) => (optionOf(options, "recursive") === true ? { recursive: true } : {}),
};

export const HOST_OPS: Readonly<Record<HostOp, HostOpRule>> = {
  get: { part: "state", args: ["key"], uses: ["state.read", "read"] },
  put: { part: "state", args: ["key", "value"], uses: ["state.write", "write"], maxChars: MAX_VALUE_CHARS },
  delete: { part: "state", args: ["key"], uses: ["state.delete", "delete"] },
  keys: { part: "state", args: ["key"], uses: ["state.read", "list"] },
  read: { part: "files", args: ["path"], uses: ["filesystem.read", "read"], givesContent: true },
  list: { part: "files", args: ["path"], uses: ["filesystem.read", "list"] },
  stat: { part: "files", args: ["path"], uses: ["filesystem.read", "read"] },
  write: {
    part: "files",
    args: ["path", "content", "modeOption"],
    uses: ["filesystem.write", "write"],
    maxChars: MAX_FILE_CHARS,
  },
  remove: { part: "files", args: ["path", "recursiveOption"], uses: ["filesystem.delete", "delete"] },
  /** Also a write, of the new path. */
  rename: { part: "files", args: ["path", "path"], uses: ["filesystem.delete", "delete"] },
  makeFolder: { part: "files", args: ["path"], uses: ["filesystem.write", "write"] },
  link: { part: "files", args: ["path", "path"], uses: ["filesystem.write", "write"] },
  setMode: { part: "files", args: ["path", "mode"], uses: ["filesystem.write", "write"] },
  use: { part: "call", args: ["key", "use"] },
  output: { part: "call", args: ["text"], maxChars: MAX_VALUE_CHARS },
};

export function isHostOp(op: unknown): op is HostOp {
  return typeof op === "string" && Object.hasOwn(HOST_OPS, op);
}

/** Brings an operation to the host. Rejects as the host does. */
export type HostWay = (op: HostOp, args: readonly unknown[]) => Promise<unknown>;

/** One part of a context, whose operations go that way. Misuse rejects with an error that the tool can catch. */
export function hostPart<Part extends keyof HostParts>(part: Part, go: HostWay): HostParts[Part] {
  const methods = Object.entries(HOST_OPS).flatMap(([op, rule]) =>
    isHostOp(op) && rule.part === part
      ? [[op, async (...given: unknown[]) => go(op, checkArgs(op, given))]]
      : [],
  );
  return Object.freeze(Object.fromEntries(methods));
}

/** Does it. Rejects as the host does. */
export async function performHostOp(
  host: Pick<ToolHost, "files">,
  op: HostOp,
  args: readonly unknown[],
): Promise<unknown> {
  const target = HOST_OPS[op].part === "files" ? host.files : host;
  return await Reflect.apply(Reflect.get(target, op), target, args);
}

/** Checked arguments as the text of a message. Throws a RangeError for a content that does not fit. */
export function encodeArgs(op: HostOp, args: readonly unknown[]): string {
  const kinds = HOST_OPS[op].args;
  return stringify(args.map((arg, index) => (kinds[index] === "content" ? encodeContent(arg) : arg)));
}

/** Reads such a text as if an enemy had written it. Throws for anything else; then nothing has been done. */
export function decodeArgs(op: HostOp, text: string): unknown[] {
  const given: unknown = parse(text);
  if (!Array.isArray(given)) throw new TypeError("arguments must be a list");
  const kinds = HOST_OPS[op].args;
  return checkArgs(
    op,
    kinds.map((kind, index) => (kind === "content" ? decodeContent(given[index]) : given[index])),
  );
}

/** How long arguments and results may be in a message. */
export function longestArgs(op: HostOp): number {
  return HOST_OPS[op].maxChars ?? MAX_TEXTS_CHARS;
}
export const LONGEST_ARGS = MAX_FILE_CHARS;

/** The answer as the text of a message, nothing for `undefined`. Throws a RangeError for a content that does not fit. */
export function encodeAnswer(op: HostOp, answer: unknown): string {
  if (answer === undefined) return "";
  return stringify(HOST_OPS[op].givesContent ? encodeContent(answer) : answer);
}

/** The host wrote it: its shape is not checked. */
export function decodeAnswer(op: HostOp, text: string): unknown {
  if (text === "") return undefined;
  const answer: unknown = parse(text);
  return HOST_OPS[op].givesContent ? decodeContent(answer) : answer;
}

/** Arguments that were left out at the end stay left out. */
function checkArgs(op: HostOp, given: readonly unknown[]): unknown[] {
  const args = HOST_OPS[op].args.map((kind, index) => ARGUMENTS[kind](given[index]));
  return args.slice(0, args.findLastIndex((arg) => arg !== undefined) + 1);
}

function optionOf(options: unknown, name: string): unknown {
  return typeof options === "object" && options !== null ? Reflect.get(options, name) : undefined;
}

function checkText(text: unknown, what: string): string {
  if (typeof text !== "string") throw new TypeError(`${what} must be a string`);
  if (text.length <= MAX_TEXT_CHARS) return text;
  throw new RangeError(`${what} has at most ${MAX_TEXT_CHARS} characters`);
}

/** A copy of the value, which must be JSON. */
function checkValue(value: unknown): unknown {
  const encoded = encodeJson(value, MAX_VALUE_BYTES);
  if (encoded.ok) return parse(encoded.text);
  if (encoded.fault.kind !== "output_too_large") throw new TypeError("a state value must be JSON");
  throw new RangeError(`a state value has at most ${MAX_VALUE_BYTES} bytes`);
}

/** A copy with the known fields and no others. */
function checkUse(on: unknown): UseOf {
  if (!isJsonObject(on)) throw new TypeError("what a capability is used for must be an object");
  const { action, resource, bytes } = on;
  return {
    ...(action !== undefined && { action: checkText(action, "an action") }),
    ...(resource !== undefined && { resource: checkText(resource, "a resource") }),
    ...(bytes !== undefined && { bytes: checkSize(bytes) }),
  };
}

function checkSize(bytes: unknown): number {
  if (typeof bytes === "number" && Number.isSafeInteger(bytes) && bytes >= 0) return bytes;
  throw new TypeError("bytes must be a whole number");
}

function checkMode(mode: unknown): number {
  const whole = typeof mode === "number" && Number.isInteger(mode);
  if (whole && mode >= 0 && mode <= MAX_MODE) return mode;
  throw new RangeError("a mode is a whole number from 0 to 0o7777");
}

function encodeContent(content: unknown): string {
  const bytes = typeof content === "string" ? Buffer.from(content) : viewOf(content);
  if (bytes.length <= MAX_FILE_BYTES) return bytes.toString("base64");
  throw new RangeError(
    `a file of ${bytes.length} bytes is too large here: the limit is ${MAX_FILE_BYTES} bytes`,
  );
}

function viewOf(content: unknown): Buffer {
  if (!types.isUint8Array(content)) throw new TypeError("a file's content must be a string or bytes");
  return Buffer.from(content.buffer, content.byteOffset, content.byteLength);
}

function decodeContent(content: unknown): Buffer {
  if (typeof content !== "string") throw new TypeError("a file's content must be base64");
  return Buffer.from(content, "base64");
}
