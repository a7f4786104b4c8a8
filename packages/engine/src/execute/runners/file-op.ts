import { Buffer } from "node:buffer";
import { isJsonObject, type JsonObject, type JsonValue } from "@sallyport/protocol";
import type { FileAccess, FileEntry } from "../../ports/workspace.ts";

/** What a tool wants done at a path of its workspace. */
export type FileOp =
  | { op: "read" | "list" | "stat" | "makeFolder" }
  | { op: "write"; content: string | Uint8Array; mode?: number }
  | { op: "remove"; recursive?: boolean }
  | { op: "rename"; to: string }
  | { op: "link"; target: string }
  | { op: "setMode"; mode: number };

/** A file's content, a folder's entries, one entry, or nothing. */
export type FileAnswer = Buffer | FileEntry[] | FileEntry | undefined;

/** The largest file that fits into one message. A tool in the host's own thread sends none and is not bound by it. */
export const MAX_FILE_BYTES = 16 * 1024 * 1024;
/** Room for such a file in base64 and for two paths, however they are escaped. */
export const MAX_FILE_VALUE_CHARS = Math.ceil(MAX_FILE_BYTES / 3) * 4 + 64 * 1024;
const MAX_PATH_CHARS = 4_096;
const MAX_MODE = 0o7777;

const { parse, stringify } = JSON;

/** Does it. Rejects as the files do. */
export async function performFileOp(files: FileAccess, path: string, wanted: FileOp): Promise<FileAnswer> {
  switch (wanted.op) {
    case "read":
    case "list":
    case "stat":
      return await files[wanted.op](path);
    case "makeFolder":
      return void (await files.makeFolder(path));
    case "write":
      return void (await files.write(path, wanted.content, modeOf(wanted)));
    case "remove":
      return void (await files.remove(path, wanted.recursive ? { recursive: true } : {}));
    case "rename":
      return void (await files.rename(path, wanted.to));
    case "link":
      return void (await files.link(path, wanted.target));
    case "setMode":
      return void (await files.setMode(path, wanted.mode));
  }
}

function modeOf({ mode }: { mode?: number }): { mode?: number } {
  return mode === undefined ? {} : { mode };
}

/** Throws for what a tool should not have given. */
export function checkPath(path: unknown): string {
  if (typeof path !== "string") throw new TypeError("a path must be a string");
  if (path.length <= MAX_PATH_CHARS) return path;
  throw new RangeError(`a path has at most ${MAX_PATH_CHARS} characters`);
}

/** Throws for what is no permission bits. */
export function checkMode(mode: unknown): number {
  const whole = typeof mode === "number" && Number.isInteger(mode);
  if (whole && mode >= 0 && mode <= MAX_MODE) return mode;
  throw new RangeError("a mode is a whole number from 0 to 0o7777");
}

/** As the text of a message. Throws a RangeError for a content that does not fit. */
export function encodeFileOp(wanted: FileOp): string {
  if (wanted.op !== "write") return stringify(wanted);
  return stringify({ ...wanted, content: encodeContent(wanted.content) });
}

/** Reads such a text as if an enemy had written it. Throws for anything else; then nothing has been done. */
export function decodeFileOp(text: string): FileOp {
  const wanted: unknown = parse(text);
  if (!isJsonObject(wanted)) throw new TypeError("a file operation must be an object");
  switch (wanted.op) {
    case "read":
    case "list":
    case "stat":
    case "makeFolder":
      return { op: wanted.op };
    case "write":
      return { op: "write", content: decodeContent(wanted.content), ...givenMode(wanted) };
    case "remove":
      return { op: "remove", recursive: wanted.recursive === true };
    case "rename":
      return { op: "rename", to: checkPath(wanted.to) };
    case "link":
      return { op: "link", target: checkPath(wanted.target) };
    case "setMode":
      return { op: "setMode", mode: checkMode(wanted.mode) };
    default:
      throw new TypeError("there is no such file operation");
  }
}

function givenMode({ mode }: JsonObject): { mode?: number } {
  return mode === undefined ? {} : { mode: checkMode(mode) };
}

/** The answer as JSON. Throws a RangeError for a content that does not fit into a message. */
export function encodeFileAnswer(answer: FileAnswer): JsonValue | undefined {
  if (answer === undefined) return undefined;
  if (Buffer.isBuffer(answer)) return { content: encodeContent(answer) };
  return Array.isArray(answer) ? answer.map((entry) => ({ ...entry })) : { ...answer };
}

/** Main wrote it: only its kind is looked at. */
export function decodeFileAnswer(answer: JsonValue | undefined): FileAnswer {
  if (Array.isArray(answer)) return answer.filter(isJsonObject).map(entryFrom);
  if (!isJsonObject(answer)) return undefined;
  return "content" in answer ? decodeContent(answer.content) : entryFrom(answer);
}

function entryFrom(entry: JsonObject): FileEntry {
  const { name, type, bytes, mode, modifiedAt } = entry;
  const known = type === "file" || type === "folder" || type === "symlink" ? type : "other";
  return {
    name: String(name),
    type: known,
    bytes: Number(bytes),
    mode: Number(mode),
    modifiedAt: Number(modifiedAt),
  };
}

function encodeContent(content: string | Uint8Array): string {
  const bytes = Buffer.byteLength(content);
  if (bytes > MAX_FILE_BYTES) {
    throw new RangeError(`a file of ${bytes} bytes is too large here: the limit is ${MAX_FILE_BYTES} bytes`);
  }
  const view =
    typeof content === "string"
      ? Buffer.from(content)
      : Buffer.from(content.buffer, content.byteOffset, content.byteLength);
  return view.toString("base64");
}

function decodeContent(content: unknown): Buffer {
  if (typeof content !== "string") throw new TypeError("a file's content must be base64");
  return Buffer.from(content, "base64");
}
