import type { ReadableStream } from "node:stream/web";

/**
 * What blobs are called: up to eight parts with slashes between them, such as `audit/2026-08/acme.ndjson`. Only the last
 * part has an extension, so that no name is a folder of another. There are no capital letters: some file systems do not
 * tell them apart.
 */
export const BLOB_NAME =
  /^(?=.{1,512}$)(?:[a-z0-9][a-z0-9_=-]{0,127}\/){0,7}[a-z0-9][a-z0-9_=-]{0,127}(?:\.[a-z0-9]{1,16}){1,3}$/;
/** What can be listed: everything (an empty text), or a folder with a slash at its end. */
export const BLOB_FOLDER = /^(?=.{0,512}$)(?:[a-z0-9][a-z0-9_=-]{0,127}\/){0,7}$/;
/** The largest blob: what an S3-compatible server takes in one request. */
export const MAX_BLOB_BYTES = 5 * 2 ** 30;
/** How many blobs a page lists at most. */
export const BLOBS_ON_PAGE = 1_000;

/** What a blob is made of: bytes, or pieces that are written as they come. */
export type BlobSource = Uint8Array | AsyncIterable<Uint8Array>;

/** A blob in a list. */
export interface BlobEntry {
  name: string;
  bytes: number;
  /** When it was put, in Unix milliseconds by the clock of whoever keeps it. */
  changedAt: number;
}

/** Some blobs in the order of their names. */
export interface BlobPage {
  blobs: BlobEntry[];
  /** Where the next page begins; left out on the last one. A page before it may be short, and even empty. */
  next?: string;
}

/**
 * Large bodies that do not belong into the store: archives and long output. Every method rejects with E3949 when the
 * place is not available, and with a TypeError for a name that is none.
 */
export interface Blobs {
  /**
   * Puts a blob in the place of what had that name; resolves when it is durable. It is there whole or not at all: after a
   * rejection the name has what it had before, or, where only the answer was lost, the new body whole. Of several at
   * once one stays. A source that throws makes it reject.
   */
  put(name: string, source: BlobSource, options?: { contentType?: string }): Promise<void>;
  /**
   * Opens a blob; undefined when there is none of that name. A stream that cannot be read to the end fails, and never
   * just ends. Whoever does not read it to the end cancels it.
   */
  get(name: string): Promise<ReadableStream<Uint8Array> | undefined>;
  /** Lists what is in a folder and below. Blobs that come or go meanwhile may be listed or not. */
  list(folder: string, page?: { next?: string; limit?: number }): Promise<BlobPage>;
  /** Removes a blob; resolves also when there is none. After a rejection it may be there or not. */
  delete(name: string): Promise<void>;
}

/** Throws a TypeError unless it is the name of a blob. */
export function requireBlobName(name: string): void {
  if (!BLOB_NAME.test(name)) throw new TypeError(`${JSON.stringify(name.slice(0, 80))} is no name of a blob`);
}

/** Throws a TypeError unless it is a folder of blobs. */
export function requireBlobFolder(folder: string): void {
  if (!BLOB_FOLDER.test(folder))
    throw new TypeError(`${JSON.stringify(folder.slice(0, 80))} is no folder of blobs`);
}
