import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { dirname } from "node:path";
import { chmod, type FileHandle, lstat, open } from "./disk.ts";
import { hasCode } from "./system-error.ts";

/** Links are not followed, and a pipe put in a file's place does not make us wait. */
const READING = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const CHUNK = 1024 * 1024;

/** Opens a file to read it. */
export function openToRead(path: string): Promise<FileHandle> {
  return open(path, READING);
}

/** As `openToRead`, for a file of our own whose mode, or whose folders' modes, may forbid it: folders stay open after it. */
export async function openOwn(path: string): Promise<FileHandle> {
  try {
    return await openToRead(path);
  } catch (error) {
    if (!hasCode(error, "EACCES")) throw error;
    await openUp(dirname(path));
    const stats = await lstat(path);
    if (!stats.isFile()) return openToRead(path);
    await chmod(path, 0o600);
    return openToRead(path).finally(() => chmod(path, stats.mode & 0o7777));
  }
}

async function openUp(folder: string): Promise<void> {
  try {
    await chmod(folder, 0o700);
  } catch (error) {
    if (!hasCode(error, "EACCES") || folder === dirname(folder)) throw error;
    await openUp(dirname(folder));
    await chmod(folder, 0o700);
  }
}

/** SHA-256 of what a file holds, in hex. */
export async function sha256Of(handle: FileHandle, bytes: number): Promise<string> {
  const hash = createHash("sha256");
  const buffer = Buffer.allocUnsafe(Math.min(CHUNK, bytes + 1));
  for (let at = 0; ; ) {
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, at);
    hash.update(buffer.subarray(0, bytesRead));
    at += bytesRead;
    // A file gives less than asked for only at its end.
    if (bytesRead < buffer.length) return hash.digest("hex");
  }
}

/** All that a file holds, which is about that much. */
export async function readWhole(handle: FileHandle, bytes: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(bytes + 1);
  const { bytesRead } = await handle.read(buffer, 0, buffer.length, 0);
  return bytesRead <= bytes ? buffer.subarray(0, bytesRead) : handle.readFile();
}

/** SHA-256 of a text or bytes, in hex. */
export function sha256(content: string | Uint8Array): string {
  return createHash("sha256").update(content).digest("hex");
}

/** Closes the handle whatever the work comes to. */
export async function using<T>(handle: FileHandle, work: (handle: FileHandle) => Promise<T>): Promise<T> {
  try {
    return await work(handle);
  } finally {
    await handle.close();
  }
}
