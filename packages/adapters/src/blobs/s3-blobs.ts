import { createHash, randomUUID } from "node:crypto";
import { openAsBlob } from "node:fs";
import { open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { ReadableStream, type ReadableStreamDefaultController } from "node:stream/web";
import {
  BLOB_NAME,
  BLOBS_ON_PAGE,
  type BlobEntry,
  type BlobSource,
  type Blobs,
  requireBlobFolder,
  requireBlobName,
} from "@sallyport/engine/ports";
import { blobFailure, boundedPieces } from "./body.ts";
import {
  createS3Client,
  DEFAULT_TIMEOUT_MS,
  readText,
  type S3Answer,
  type S3ClientOptions,
} from "./s3-client.ts";

export interface S3BlobsOptions extends S3ClientOptions {
  /** What the keys of all blobs begin with, such as `sallyport/`. */
  prefix?: string;
  /** Largest blob; left out: 5 GiB, which is what fits in one request. */
  maxBytes?: number;
}

/** Where the SHA-256 of a body stands: every S3-compatible server keeps metadata, and not each knows of checksums. */
const DIGEST_HEADER = "x-amz-meta-sha256";
const LONGEST_LIST_BYTES = 4 * 2 ** 20;

/**
 * Keeps blobs in a bucket of an S3-compatible server, each in one request. Its SHA-256 is signed and stored with a body,
 * and compared when it is read. Requests are repeated when the server is overloaded or the connection fails. Redirects
 * are not followed. Throws E3919 when the options cannot be used; no request is made before the first use.
 */
export function openS3Blobs(options: S3BlobsOptions): Blobs {
  const { prefix = "", maxBytes, timeoutMs = DEFAULT_TIMEOUT_MS } = options;
  const send = createS3Client(options);
  const keyOf = (name: string) => {
    requireBlobName(name);
    return prefix + name;
  };
  return {
    async put(name, source, { contentType = "application/octet-stream" } = {}) {
      const key = keyOf(name);
      await using measured = await measure(source, maxBytes);
      const { body, sha256 } = measured;
      const headers = { "content-type": contentType, [DIGEST_HEADER]: sha256 };
      const answer = await send({ method: "PUT", key, headers, body, sha256 });
      await answer?.response.body?.cancel();
      if (!answer) throw blobFailure(`The bucket ${options.bucket} does not take the blob.`);
    },
    async get(name) {
      const answer = await send({ method: "GET", key: keyOf(name) });
      return answer && streamOf(checkedPieces(answer, { name, timeoutMs }), answer.abort);
    },
    async list(folder, { next, limit = BLOBS_ON_PAGE } = {}) {
      requireBlobFolder(folder);
      const query = {
        "list-type": "2",
        prefix: prefix + folder,
        "max-keys": String(Math.min(limit, BLOBS_ON_PAGE)),
        ...(next !== undefined && { "continuation-token": next }),
      };
      const answer = await send({ method: "GET", query });
      return answer ? readPage(await listText(answer, timeoutMs), prefix) : { blobs: [] };
    },
    async delete(name) {
      const answer = await send({ method: "DELETE", key: keyOf(name) });
      await answer?.response.body?.cancel();
    },
  };
}

interface MeasuredBody extends AsyncDisposable {
  body: Uint8Array<ArrayBuffer> | Blob;
  sha256: string;
}

/** The server wants length and digest before the body, so a body that comes in pieces is written to a file first. */
async function measure(source: BlobSource, maxBytes: number | undefined): Promise<MeasuredBody> {
  const hash = createHash("sha256");
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  async function* hashed() {
    for await (const piece of boundedPieces(source, maxBytes)) {
      hash.update(piece);
      yield piece;
    }
  }
  if (source instanceof Uint8Array) {
    for await (const piece of hashed()) pieces.push(new Uint8Array(piece));
    const body = pieces[0] ?? new Uint8Array();
    return { body, sha256: hash.digest("hex"), [Symbol.asyncDispose]: async () => undefined };
  }
  const path = join(tmpdir(), `sallyport-blob-${randomUUID()}`);
  const remove = () => rm(path, { force: true });
  try {
    const file = await open(path, "wx", 0o600);
    await pipeline(hashed(), file.createWriteStream());
    return { body: await openAsBlob(path), sha256: hash.digest("hex"), [Symbol.asyncDispose]: remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

/** The pieces of an answer. Throws E3949 when it stops before its end, or is not what was put. */
async function* checkedPieces(
  answer: S3Answer,
  { name, timeoutMs }: { name: string; timeoutMs: number },
): AsyncGenerator<Uint8Array> {
  const hash = createHash("sha256");
  const reader = answer.response.body?.getReader();
  let isWhole = false;
  try {
    for (;;) {
      const timer = setTimeout(answer.abort, timeoutMs);
      const piece = await reader?.read().finally(() => clearTimeout(timer));
      if (piece?.value === undefined) break;
      hash.update(piece.value);
      yield piece.value;
    }
    isWhole = true;
  } catch {
    throw blobFailure(`The connection failed while ${name} was read.`);
  } finally {
    if (!isWhole) answer.abort();
  }
  const wanted = answer.response.headers.get(DIGEST_HEADER);
  if (wanted !== null && wanted !== hash.digest("hex"))
    throw blobFailure(`${name} is not what was put under this name.`, "Restore it from a copy.");
}

/** Unlike `ReadableStream.from`, it also ends the request when nothing was read of it. */
function streamOf(pieces: AsyncGenerator<Uint8Array>, cancel: () => void): ReadableStream<Uint8Array> {
  const pull = async (controller: ReadableStreamDefaultController<Uint8Array>) => {
    const { done, value } = await pieces.next();
    if (done) controller.close();
    else controller.enqueue(value);
  };
  return new ReadableStream({ pull, cancel }, { highWaterMark: 0 });
}

async function listText({ response, abort }: S3Answer, timeoutMs: number): Promise<string> {
  const timer = setTimeout(abort, timeoutMs);
  try {
    return await readText(response, LONGEST_LIST_BYTES);
  } catch {
    throw blobFailure("The connection failed while blobs were listed.");
  } finally {
    clearTimeout(timer);
  }
}

/** Objects under other names are not ours, and passed over. Throws E3949 for an answer that is no list. */
function readPage(xml: string, prefix: string): { blobs: BlobEntry[]; next?: string } {
  if (!/<\/ListBucketResult>\s*$/.test(xml)) throw blobFailure("The list of blobs is not whole.");
  const blobs: BlobEntry[] = [];
  for (const [, entry = ""] of xml.matchAll(/<Contents>(.*?)<\/Contents>/gs)) {
    const key = valueIn(entry, "Key") ?? "";
    const name = key.slice(prefix.length);
    if (!key.startsWith(prefix) || !BLOB_NAME.test(name)) continue;
    const changedAt = Date.parse(valueIn(entry, "LastModified") ?? "");
    blobs.push({ name, bytes: Number(valueIn(entry, "Size")), changedAt });
  }
  const next = valueIn(xml, "NextContinuationToken");
  return { blobs, ...(next !== undefined && { next }) };
}

const ENTITIES: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

function valueIn(xml: string, tag: string): string | undefined {
  const [, value] = new RegExp(`<${tag}>([^<]*)</${tag}>`).exec(xml) ?? [];
  return value?.replaceAll(/&(amp|lt|gt|quot|apos);/g, (_, name: string) => ENTITIES[name] ?? "");
}
