import { Buffer } from "node:buffer";
import { types } from "node:util";
import { isJsonObject, type JsonObject, type JsonValue } from "@sallyport/protocol";
import type { FileAccess, FileEntry } from "../../ports/workspace.ts";

// The operations of a workspace, in one table: it drives the tool's `files` object, the guard in front of the real files
// (guarded-host.ts), and the messages in between.

type ArgumentKind = "content" | "mode" | "modeOption" | "path" | "recursiveOption";

interface FileOpRule {
  /** The arguments after the path. */
  args: readonly ArgumentKind[];
  /** What it does to the path, as a use of a `filesystem` capability. */
  action: "read" | "list" | "write" | "delete";
  /** What it resolves with; left out: nothing. */
  answer?: "content" | "entries" | "entry";
}

export type FileOpName = keyof FileAccess;

export const FILE_OPS: Readonly<Record<FileOpName, FileOpRule>> = {
  read: { args: [], action: "read", answer: "content" },
  list: { args: [], action: "list", answer: "entries" },
  stat: { args: [], action: "read", answer: "entry" },
  write: { args: ["content", "modeOption"], action: "write" },
  remove: { args: ["recursiveOption"], action: "delete" },
  /** Also a write, of the new path. */
  rename: { args: ["path"], action: "delete" },
  makeFolder: { args: [], action: "write" },
  link: { args: ["path"], action: "write" },
  setMode: { args: ["mode"], action: "write" },
};

/** What a tool wants done at a path of its workspace. The arguments are checked. */
export interface FileOp {
  op: FileOpName;
  args: readonly unknown[];
}

/** A file's content, a folder's entries, one entry, or nothing. */
export type FileAnswer = Buffer | FileEntry[] | FileEntry | undefined;

/** Brings an operation to where the files are. Rejects as they do. */
export type FileWay = (path: string, wanted: FileOp) => Promise<FileAnswer>;

/** The largest file that fits into one message. A tool in the host's own thread sends none and is not bound by it. */
export const MAX_FILE_BYTES = 16 * 1024 * 1024;
/** Room for such a file in base64 and for two paths, however they are escaped. */
export const MAX_FILE_VALUE_CHARS = Math.ceil(MAX_FILE_BYTES / 3) * 4 + 64 * 1024;
const MAX_PATH_CHARS = 4_096;
const MAX_MODE = 0o7777;

// Taken before any tool runs, so that a tool that breaks its own globals cannot break this file.
const { parse, stringify } = JSON;

/** A workspace whose operations go that way. Misuse rejects with a TypeError or RangeError that the tool can catch. */
export function filesOver(go: FileWay): FileAccess {
  const methods = Object.entries(FILE_OPS).map(([op, rule]) => [
    op,
    async (path: unknown, ...given: unknown[]) => {
      const args = rule.args.map((kind, index) => ARGUMENTS[kind](given[index]));
      return readAnswer(await go(checkPath(path), { op: op as FileOpName, args }), rule);
    },
  ]);
  return Object.freeze(Object.fromEntries(methods));
}

/** Does it. Rejects as the files do. */
export async function performFileOp(
  files: FileAccess,
  path: string,
  { op, args }: FileOp,
): Promise<FileAnswer> {
  const answer: FileAnswer = await Reflect.apply(files[op], files, [path, ...args]);
  return answer;
}

/** As the text of a message. Throws a RangeError for a content that does not fit. */
export function encodeFileOp({ op, args }: FileOp): string {
  const kinds = FILE_OPS[op].args;
  return stringify({
    op,
    args: args.map((value, index) =>
      kinds[index] === "content" ? encodeContent(checkContent(value)) : value,
    ),
  });
}

/** Reads such a text as if an enemy had written it. Throws for anything else; then nothing has been done. */
export function decodeFileOp(text: string): FileOp {
  const wanted: unknown = parse(text);
  if (!isJsonObject(wanted)) throw new TypeError("a file operation must be an object");
  const { op, args = [] } = wanted;
  if (!isFileOpName(op) || !Array.isArray(args)) throw new TypeError("there is no such file operation");
  const checked = FILE_OPS[op].args.map((kind, index) =>
    kind === "content" ? decodeContent(args[index]) : ARGUMENTS[kind](args[index]),
  );
  return { op, args: checked };
}

function isFileOpName(op: unknown): op is FileOpName {
  return typeof op === "string" && Object.hasOwn(FILE_OPS, op);
}

/** The answer as JSON. Throws a RangeError for a content that does not fit into a message. */
export function encodeFileAnswer(answer: FileAnswer): JsonValue | undefined {
  if (answer === undefined) return undefined;
  if (Buffer.isBuffer(answer)) return { content: encodeContent(answer) };
  return Array.isArray(answer) ? answer.map((entry) => ({ ...entry })) : { ...answer };
}

/** The host wrote it: only its kind is looked at. */
export function decodeFileAnswer(answer: JsonValue | undefined): FileAnswer {
  if (Array.isArray(answer)) return answer.filter(isJsonObject).map(entryFrom);
  if (!isJsonObject(answer)) return undefined;
  return "content" in answer ? decodeContent(answer.content) : entryFrom(answer);
}

function readAnswer(answer: FileAnswer, { answer: wanted }: FileOpRule): FileAnswer {
  if (wanted === "entries") return Array.isArray(answer) ? answer : [];
  if (wanted === "entry") return Buffer.isBuffer(answer) || Array.isArray(answer) ? undefined : answer;
  if (wanted === undefined) return undefined;
  if (Buffer.isBuffer(answer)) return answer;
  throw new TypeError("the host answered with something that is no file");
}

function entryFrom({ name, type, bytes, mode, modifiedAt }: JsonObject): FileEntry {
  return {
    name: String(name),
    type: type === "file" || type === "folder" || type === "symlink" ? type : "other",
    bytes: Number(bytes),
    mode: Number(mode),
    modifiedAt: Number(modifiedAt),
  };
}

/** Each throws for what is no such argument. */
const ARGUMENTS = {
  content: checkContent,
  mode: checkMode,
  modeOption: (options: unknown) => {
    const mode = optionOf(options, "mode");
    return mode === undefined ? {} : { mode: checkMode(mode) };
  },
  path: checkPath,
  recursiveOption: (options: unknown) => (optionOf(options, "recursive") === true ? { recursive: true } : {}),
} satisfies Record<ArgumentKind, (given: unknown) => unknown>;

function optionOf(options: unknown, name: string): unknown {
  return typeof options === "object" && options !== null ? Reflect.get(options, name) : undefined;
}

function checkPath(path: unknown): string {
  if (typeof path !== "string") throw new TypeError("a path must be a string");
  if (path.length <= MAX_PATH_CHARS) return path;
  throw new RangeError(`a path has at most ${MAX_PATH_CHARS} characters`);
}

function checkMode(mode: unknown): number {
  const whole = typeof mode === "number" && Number.isInteger(mode);
  if (whole && mode >= 0 && mode <= MAX_MODE) return mode;
  throw new RangeError("a mode is a whole number from 0 to 0o7777");
}

function checkContent(content: unknown): string | Uint8Array {
  if (typeof content === "string" || types.isUint8Array(content)) return content;
  throw new TypeError("a file's content must be a string or bytes");
}

function encodeContent(content: string | Uint8Array): string {
  const bytes = Buffer.byteLength(content);
  if (bytes > MAX_FILE_BYTES) {
    throw new RangeError(`a file of ${bytes} bytes is too large here: the limit is ${MAX_FILE_BYTES} bytes`);
  }
  if (typeof content === "string") return Buffer.from(content).toString("base64");
  return Buffer.from(content.buffer, content.byteOffset, content.byteLength).toString("base64");
}

function decodeContent(content: unknown): Buffer {
  if (typeof content !== "string") throw new TypeError("a file's content must be base64");
  return Buffer.from(content, "base64");
}
