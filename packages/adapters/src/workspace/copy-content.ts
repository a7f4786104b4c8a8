import { constants } from "node:fs";
import { copyFile, type FileHandle, open } from "./disk.ts";
import { openToRead, readWhole, using } from "./file-content.ts";

const WHOLE = 256 * 1024;
const CHUNK = 1024 * 1024;
const BLOCK = 4_096;
const { COPYFILE_EXCL, COPYFILE_FICLONE } = constants;
const ZEROS = Buffer.alloc(BLOCK);

/** What is to be copied: an open file, its size, and how much of it is on disk. */
export interface CopySource {
  handle: FileHandle;
  bytes: number;
  /** As `stat` counts them: of 512 bytes. */
  blocks: number;
}

/** What is still to be done with the new file while it is open. */
export type Finish = (file: FileHandle) => Promise<void>;

/** Writes a file's content to a new file: shared with it where the file system can, with its holes where it has any. */
export async function copyContent(source: CopySource, target: string, finish?: Finish): Promise<void> {
  if (source.bytes <= WHOLE) return writeWhole(await readWhole(source.handle, source.bytes), target, finish);
  const hasHoles = source.blocks * 512 < source.bytes - BLOCK;
  if (hasHoles || process.platform !== "linux") return copyWithHoles(source, target, finish);
  await copyFile(`/proc/self/fd/${source.handle.fd}`, target, COPYFILE_EXCL | COPYFILE_FICLONE);
  if (finish) await using(await openToRead(target), finish);
}

/** Writes a new file. */
export async function writeWhole(content: Buffer, target: string, finish?: Finish): Promise<void> {
  await using(await open(target, "wx", 0o600), async (to) => {
    if (content.length > 0) await to.writeFile(content);
    await finish?.(to);
  });
}

async function copyWithHoles({ handle, bytes }: CopySource, target: string, finish?: Finish): Promise<void> {
  const buffer = Buffer.allocUnsafe(CHUNK);
  await using(await open(target, "wx", 0o600), async (to) => {
    for (let at = 0; at < bytes; ) {
      const { bytesRead } = await handle.read(buffer, 0, buffer.length, at);
      if (bytesRead === 0) break;
      await writeBlocks(to, buffer.subarray(0, bytesRead), at);
      at += bytesRead;
    }
    await to.truncate(bytes);
    await finish?.(to);
  });
}

async function writeBlocks(to: FileHandle, chunk: Buffer, at: number): Promise<void> {
  for (let start = 0; start < chunk.length; ) {
    const length = Math.min(BLOCK, chunk.length - start);
    if (isZero(chunk, start, length)) {
      start += length;
      continue;
    }
    const end = endOfData(chunk, start);
    await to.write(chunk, start, end - start, at + start);
    start = end;
  }
}

function endOfData(chunk: Buffer, from: number): number {
  let end = from;
  while (end < chunk.length && !isZero(chunk, end, Math.min(BLOCK, chunk.length - end))) end += BLOCK;
  return Math.min(end, chunk.length);
}

function isZero(chunk: Buffer, start: number, length: number): boolean {
  return chunk.compare(ZEROS, 0, length, start, start + length) === 0;
}
