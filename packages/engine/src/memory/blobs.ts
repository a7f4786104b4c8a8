import type { ReadableStream } from "node:stream/web";
import {
  BLOBS_ON_PAGE,
  type BlobSource,
  type Blobs,
  byCodePoint,
  requireBlobFolder,
  requireBlobName,
} from "../ports/index.ts";

interface Kept {
  body: Blob;
  changedAt: number;
}

/** Blobs of this process. They are gone with it. */
export function createMemoryBlobs(now: () => number = Date.now): Blobs {
  const all = new Map<string, Kept>();
  return {
    async put(name, source) {
      requireBlobName(name);
      const body = new Blob(await piecesOf(source));
      all.set(name, { body, changedAt: now() });
    },
    async get(name) {
      requireBlobName(name);
      return all.get(name)?.body.stream() as ReadableStream<Uint8Array> | undefined;
    },
    async list(folder, { next = "", limit = BLOBS_ON_PAGE } = {}) {
      requireBlobFolder(folder);
      const names = [...all.keys()].filter((name) => name.startsWith(folder) && name > next);
      const blobs = names
        .toSorted(byCodePoint)
        .slice(0, limit)
        .flatMap((name) => {
          const kept = all.get(name);
          return kept ? [{ name, bytes: kept.body.size, changedAt: kept.changedAt }] : [];
        });
      const last = blobs.at(-1)?.name;
      return { blobs, ...(last !== undefined && names.length > limit && { next: last }) };
    },
    async delete(name) {
      requireBlobName(name);
      all.delete(name);
    },
  };
}

async function piecesOf(source: BlobSource): Promise<Uint8Array<ArrayBuffer>[]> {
  // Copied: a caller may write into its bytes again.
  if (source instanceof Uint8Array) return [new Uint8Array(source)];
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  for await (const piece of source) pieces.push(new Uint8Array(piece));
  return pieces;
}
