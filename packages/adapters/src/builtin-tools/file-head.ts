import { createHash } from "node:crypto";
import type { FileHandle } from "node:fs/promises";
import { isFailure } from "@sallyport/protocol";
import type { Place } from "./place.ts";
import { pathRefused } from "./problems.ts";
import type { ToolMeans } from "./tool-means.ts";
import { contentAt, entryAt, hashOf, type ReadableFiles } from "./workspace-file.ts";

const CHUNK_BYTES = 1024 * 1024;
/** Hashing more would take longer than a call may; nothing this large can be patched anyway. */
const MOST_HASHED_BYTES = 1024 * 1024 * 1024;

/** What is known of a file's content. */
export interface FileHead {
  /** All of it, or as much of its beginning as was wanted. */
  head: Buffer;
  /** Of the whole file. */
  bytes: number;
  /** Of the whole file; undefined for one that is too large. */
  sha256: string | undefined;
}

export interface HeadWish {
  files: ReadableFiles;
  /** Needed of a file that is too large to be held in memory. */
  headBytes: number;
  signal: AbortSignal;
}

/** The content of a file: whole, or of one that is too large to be held in memory its beginning (FR-TOOL-READ-01). */
export async function headOf(place: Place, wish: HeadWish, means: ToolMeans): Promise<FileHead> {
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
