import { createHash } from "node:crypto";
import type { FileHandle } from "node:fs/promises";
import { defineTool } from "@sallyport/engine/tool";
import type { OutputBudget } from "@sallyport/loop";
import { isFailure, type JsonValue } from "@sallyport/protocol";
import { ArgumentReader } from "./argument-reader.ts";
import { binaryText, isBinary, SNIFFED_BYTES } from "./binary-text.ts";
import { BUILTIN_VERSION, builtin, workspaceOnly } from "./builtin.ts";
import type { BuiltinLimits, BuiltinTool } from "./options.ts";
import { confirmPlaces, type Place, placeOf } from "./place.ts";
import { badArguments, limitExceeded, pathRefused } from "./problems.ts";
import { conversationOf, type ToolMeans } from "./tool-means.ts";
import { ABSENT, contentAt, entryAt, hashOf, type ReadableFiles } from "./workspace-file.ts";

const CHUNK_BYTES = 1024 * 1024;
/** Hashing more would take longer than a call may; nothing this large can be patched anyway. */
const MOST_HASHED_BYTES = 1024 * 1024 * 1024;

/** What is known of a file's content. */
interface FileHead {
  /** All of it, or as much of its beginning as was wanted. */
  head: Buffer;
  /** Of the whole file. */
  bytes: number;
  /** Of the whole file; undefined for one that is too large. */
  sha256: string | undefined;
}

interface HeadWish {
  files: ReadableFiles;
  /** Needed of a file that is too large to be held in memory. */
  headBytes: number;
  signal: AbortSignal;
}

/** The content of a file: whole, or of one that is too large to be held in memory its beginning (FR-TOOL-READ-01). */
async function headOf(place: Place, wish: HeadWish, means: ToolMeans): Promise<FileHead> {
  const { maxFileBytes } = means.limits;
  const entry = await entryAt(wish.files, place);
  if (entry?.type === "file" && entry.bytes > maxFileBytes) return await streamed(place, wish, means);
  const head = await contentAt(wish.files, place, maxFileBytes);
  return { head, bytes: head.length, sha256: hashOf(head) };
}

async function streamed({ checked }: Place, wish: HeadWish, { sandbox }: ToolMeans): Promise<FileHead> {
  const handle = await sandbox.openChecked(checked);
  if (isFailure(handle)) throw pathRefused(handle);
  try {
    return await readThrough(handle, wish);
  } finally {
    await handle.close();
  }
}

async function readThrough(handle: FileHandle, { headBytes, signal }: HeadWish): Promise<FileHead> {
  const { size } = await handle.stat();
  const hash = size <= MOST_HASHED_BYTES ? createHash("sha256") : undefined;
  const head = Buffer.alloc(Math.min(headBytes, size));
  let at = 0;
  for await (const chunk of chunksOf(handle)) {
    signal.throwIfAborted();
    if (at < head.length) chunk.copy(head, at);
    hash?.update(chunk);
    at += chunk.length;
    if (!hash && at >= head.length) break;
  }
  return { head: head.subarray(0, at), bytes: Math.max(size, at), sha256: hash?.digest("hex") };
}

async function* chunksOf(handle: FileHandle): AsyncGenerator<Buffer, void, void> {
  const room = Buffer.allocUnsafe(CHUNK_BYTES);
  for (let at = 0; ; ) {
    const { bytesRead } = await handle.read(room, 0, CHUNK_BYTES, at);
    if (bytesRead === 0) return;
    yield room.subarray(0, bytesRead);
    at += bytesRead;
  }
}

const LAST_LINE = 4_294_967_295;
const LINE = { type: "integer", minimum: 1, maximum: LAST_LINE };
/** A character of a text can take six bytes in JSON, and a range is at most as long as what is scanned for it. */
const JSON_GROWTH = 6;

/** Reads a file of the workspace as text, whole or some lines of it, or as base64 (FR-TOOL-READ-01). */
export function readFileTool(means: ToolMeans): BuiltinTool {
  const { limits, root, reads, outputBudgets } = means;
  const tool = defineTool({
    id: "read_file",
    version: BUILTIN_VERSION,
    description:
      "Reads a file. Text comes as it is, whole or the lines from start_line to end_line; binary content comes in base64.",
    category: "file_system",
    sideEffects: "none",
    risk: "low",
    requiredCapabilities: ["filesystem.read"],
    permissions: workspaceOnly(root, "ro"),
    limits: {
      timeoutMs: limits.fileTimeoutMs,
      maxOutputBytes: JSON_GROWTH * Math.max(limits.maxScanBytes, limits.maxFileReadBytes) + 1_024,
    },
    input: INPUT,
    output: { type: "string" },
    summary: (input: JsonValue) => summaryOf(argumentsOf(input)),
    async run(input: JsonValue, context) {
      const wanted = argumentsOf(input);
      const place = await placeOf(wanted.path, means);
      const { files, signal } = context;
      const note = (sha256: string) =>
        reads.note(conversationOf(context), { path: place.path, sha256, at: means.now() });
      const opening = headOf(place, { files, signal, headBytes: headBytes(limits) }, means);
      const file = await opening.catch(async (error: unknown) => {
        if (!(await entryAt(files, place))) await note(ABSENT);
        throw error;
      });
      await confirmPlaces([place], means);
      const text = answerOf(file, wanted, { room: outputBudgets.of(context.callId), limits });
      const { sha256 } = file;
      if (sha256 !== undefined) await note(sha256);
      return text;
    },
  });
  return builtin(tool, {
    async inspect(input) {
      await placeOf(argumentsOf(input).path, means);
    },
  });
}

const INPUT = {
  type: "object",
  properties: {
    path: { type: "string", minLength: 1, description: "The file, relative to the working folder." },
    start_line: { ...LINE, description: "The first line wanted, counted from 1." },
    end_line: { ...LINE, description: "The last line wanted; to the end of the file when left out." },
  },
  required: ["path"],
  additionalProperties: false,
};

interface ReadArguments {
  path: string;
  range?: LineRange;
}

function argumentsOf(input: JsonValue): ReadArguments {
  const given = new ArgumentReader(input);
  const path = given.path();
  const [start, end] = [given.count("start_line"), given.count("end_line")];
  if (start !== undefined && end !== undefined && start > end)
    throw badArguments(`start_line ${start} is after end_line ${end}`);
  if (start === undefined && end === undefined) return { path };
  return { path, range: { start: start ?? 1, ...(end !== undefined && { end }) } };
}

function summaryOf({ path, range }: ReadArguments): string {
  return range ? `Read ${path} [lines ${range.start}-${range.end ?? "end"}]` : `Read ${path}`;
}

interface Bounds {
  room: OutputBudget;
  limits: BuiltinLimits;
}

/** One byte more than anything that is looked at: then it shows whether something is left out. */
function headBytes({ maxScanBytes, maxFileReadBytes }: BuiltinLimits): number {
  return Math.max(maxScanBytes, maxFileReadBytes, SNIFFED_BYTES) + 1;
}

function answerOf(
  { head: content, bytes }: FileHead,
  { path, range }: ReadArguments,
  { room, limits }: Bounds,
): string {
  const readLimit = Math.min(limits.maxFileReadBytes, room.availableBytes);
  if (isBinary(content)) {
    if (range) throw badArguments(`${path} is binary, and a line range needs a text`);
    const text = binaryText(content, {
      readLimit,
      outputLimit: Math.min(room.maxOutputBytes, room.availableBytes),
    });
    if (text === undefined) throw limitExceeded(`There is no room left for the content of ${path}`);
    room.allowTruncation = false;
    return text;
  }
  if (range) return rangeOf(content, { path, range }, limits);
  if (bytes <= readLimit) return content.toString("utf8");
  throw limitExceeded(
    `${path} has ${bytes} bytes, and ${readLimit} can be read at once; use start_line and end_line to read a part of it`,
  );
}

function rangeOf(content: Buffer, { path, range }: Required<ReadArguments>, limits: BuiltinLimits): string {
  const found = linesOf(content, range, limits.maxScanBytes);
  if (found.ok) return found.lines.toString("utf8");
  throw limitExceeded(
    `The lines asked for reach beyond the first ${limits.maxScanBytes} bytes of ${path}, which is all that is scanned; use a narrower range nearer to the beginning`,
  );
}

/** Lines of a file, counted from 1, both ends included. */
export interface LineRange {
  start: number;
  /** Left out: to the end of the file. */
  end?: number;
}

export type RangeFound = { ok: true; lines: Buffer } | { ok: false; scannedBytes: number };

const LINE_FEED = 0x0a;

/**
 * The bytes of the lines asked for, each with its own line end; fewer when the file ends before. Not ok when they are not
 * found within that many bytes from the file's beginning (FR-TOOL-READ-01a).
 */
export function linesOf(content: Buffer, { start, end }: LineRange, maxScanBytes: number): RangeFound {
  let from: number | undefined;
  let at = 0;
  for (let line = 1; at < content.length && (end === undefined || line <= end); line += 1) {
    if (line === start) from = at;
    const feed = content.indexOf(LINE_FEED, at);
    at = feed === -1 ? content.length : feed + 1;
    if (at > maxScanBytes) return { ok: false, scannedBytes: maxScanBytes };
  }
  return { ok: true, lines: content.subarray(from ?? at, at) };
}
