import { setTimeout as sleep } from "node:timers/promises";
import { failure, SallyportError } from "@sallyport/protocol";
import { blobFailure } from "./body.ts";

export interface S3Credentials {
  accessKeyId: string;
  secretAccessKey: string;
  /** Only with credentials that end by themselves. */
  sessionToken?: string | undefined;
}

export interface S3ClientOptions {
  /** Such as `https://s3.eu-central-1.amazonaws.com`; plain HTTP only with `plainHttp`. */
  endpoint: string;
  region: string;
  bucket: string;
  /** The bucket in the path (the default), or else in the host's name. */
  pathStyle?: boolean;
  /** Send signed requests and bodies to this endpoint without TLS (D-16). */
  plainHttp?: boolean;
  /** Asked for each request, so that credentials can change. */
  credentials(): S3Credentials | Promise<S3Credentials>;
  /** How long the server may be silent. A body gets a second more for every 256 KiB. */
  timeoutMs?: number;
  now?: () => number;
}

/** One request about the bucket or an object in it. */
export interface S3Request {
  method: "GET" | "PUT" | "DELETE";
  key?: string;
  query?: Record<string, string>;
  headers?: Record<string, string>;
  body?: Uint8Array<ArrayBuffer> | Blob;
  /** SHA-256 of the body in hexadecimal. It is signed, so the server refuses another body. */
  sha256?: string;
}

/** A successful answer whose body is not read yet; `abort` ends it. */
export interface S3Answer {
  response: Response;
  abort(): void;
}

/** Sends requests; undefined when there is no such object. Rejects with E3949, never with a credential in the words. */
export type S3Client = (request: S3Request) => Promise<S3Answer | undefined>;

const EMPTY_SHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
export const DEFAULT_TIMEOUT_MS = 10_000;
const BYTES_A_SECOND = 256 * 1024;
/** All requests can be repeated: each has the same effect once or often. */
const MOST_TRIES = 4;
const FIRST_WAIT_MS = 100;
const LONGEST_ERROR_BYTES = 64 * 1024;

/** Throws E3919 when the options cannot be used. The signer is loaded with the first request. */
export function createS3Client(options: S3ClientOptions): S3Client {
  const base = baseUrl(options);
  const place = `The bucket ${options.bucket} at ${base.origin}`;
  return async (request) => {
    for (let tries = 1; ; tries += 1) {
      const tried = await tryOnce(request, { options, base });
      if ("response" in tried) return tried;
      if (tried.code === "NoSuchKey") return undefined;
      if (!tried.isTransient || tries === MOST_TRIES)
        throw blobFailure(`${place} ${tried.words}.`, tried.advice);
      await sleep(Math.random() * FIRST_WAIT_MS * 2 ** tries);
    }
  };
}

function baseUrl({ endpoint, bucket, pathStyle = true, plainHttp }: S3ClientOptions): URL {
  const url = URL.parse(endpoint);
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password || url.search || url.hash)
    throw unusable("The endpoint of the bucket is no plain URL.");
  if (url.protocol === "http:" && plainHttp !== true)
    throw unusable(`${url.origin} has no TLS. Use https, or allow plain HTTP for this endpoint (plainHttp).`);
  if (!/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(bucket)) throw unusable("The name of the bucket is none.");
  if (pathStyle) url.pathname = `${url.pathname.replace(/\/$/, "")}/${bucket}/`;
  else url.hostname = `${bucket}.${url.hostname}`;
  return url;
}

function unusable(message: string): SallyportError {
  return new SallyportError(failure("E3919", { message }));
}

/** Why a request failed, in words that follow the name of the place. */
interface Refusal {
  code: string;
  words: string;
  advice?: string;
  isTransient: boolean;
}

async function tryOnce(
  request: S3Request,
  { options, base }: { options: S3ClientOptions; base: URL },
): Promise<S3Answer | Refusal> {
  const { timeoutMs = DEFAULT_TIMEOUT_MS } = options;
  const { body } = request;
  const length = body instanceof Blob ? body.size : (body?.byteLength ?? 0);
  const { url, headers } = await sign(request, { options, base });
  const controller = new AbortController();
  const abort = () => controller.abort();
  const timer = setTimeout(abort, timeoutMs + (length / BYTES_A_SECOND) * 1_000);
  try {
    const response = await fetch(url, {
      method: request.method,
      headers,
      ...(body && { body }),
      redirect: "manual",
      signal: controller.signal,
    });
    return response.ok ? { response, abort } : await refusalOf(response);
  } catch (error) {
    const { code, name } = Object((error as { cause?: unknown }).cause) as { code?: unknown; name?: unknown };
    // Who waited once for nothing does not wait again.
    const isSilent = controller.signal.aborted;
    const reason = isSilent ? "no answer in time" : String(code ?? name ?? "connection failed");
    return { code: "", words: `cannot be reached: ${reason}`, isTransient: !isSilent };
  } finally {
    clearTimeout(timer);
  }
}

async function sign(
  { method, key = "", query, headers, sha256 = EMPTY_SHA256 }: S3Request,
  { options, base }: { options: S3ClientOptions; base: URL },
) {
  const { AwsV4Signer } = await loadSigner();
  const url = new URL(base.pathname + key, base);
  url.search = new URLSearchParams(query).toString();
  const { accessKeyId, secretAccessKey, sessionToken } = await options.credentials();
  const signer = new AwsV4Signer({
    ...{ method, url: url.href, service: "s3", region: options.region, accessKeyId, secretAccessKey },
    ...(sessionToken !== undefined && { sessionToken }),
    headers: { ...headers, "x-amz-content-sha256": sha256 },
    ...(options.now && { datetime: new Date(options.now()).toISOString().replaceAll(/[:-]|\.\d{3}/g, "") }),
  });
  const signed = await signer.sign();
  // Not signed: what is stored is what was put, and a proxy may change the header.
  signed.headers.set("accept-encoding", "identity");
  return signed;
}

/** The signer is an optional dependency: it is loaded where a bucket is configured. */
async function loadSigner() {
  try {
    return await import("aws4fetch");
  } catch {
    const advice = "Run this where Sallyport is installed: npm install aws4fetch";
    throw blobFailure("A bucket is configured, and the package aws4fetch is not installed.", advice);
  }
}

const TRANSIENT_CODES = ["SlowDown", "RequestTimeout", "InternalError", "ServiceUnavailable"];
const CREDENTIAL_CODES = [
  ...["AccessDenied", "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken"],
  ...["AuthorizationHeaderMalformed", "Forbidden"],
];

/** Only the status and the code are passed on: the text of an answer can hold the request and its signature. */
async function refusalOf(response: Response): Promise<Refusal> {
  const { status } = response;
  const [, code = ""] = /<Code>([A-Za-z0-9]{1,64})<\/Code>/.exec(await readText(response)) ?? [];
  const isTransient = status === 429 || status >= 500 || TRANSIENT_CODES.includes(code);
  const answer = [status, code].filter(Boolean).join(" ");
  const refusal = (words: string, advice?: string): Refusal => {
    return { code, words: `${words} (${answer})`, isTransient, ...(advice !== undefined && { advice }) };
  };
  if (status >= 300 && status < 400)
    return refusal("redirects elsewhere, which is not followed", "Correct the endpoint and the region.");
  if (code === "NoSuchBucket") return refusal("does not exist", "Create the bucket, or correct its name.");
  if (code === "RequestTimeTooSkewed")
    return refusal("sees another time than this machine", "Set the clock of this machine.");
  if (CREDENTIAL_CODES.includes(code) || status === 401 || status === 403)
    return refusal("refuses the credentials", "Check the key, its rights on the bucket, and the region.");
  return refusal("does not do what it is asked");
}

/** The text of a short answer; what is too long is cut. */
export async function readText(response: Response, maxBytes = LONGEST_ERROR_BYTES): Promise<string> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of response.body ?? []) {
    pieces.push(piece);
    bytes += piece.byteLength;
    if (bytes > maxBytes) break;
  }
  return Buffer.concat(pieces).toString("utf8", 0, maxBytes);
}
