import type { IncomingMessage } from "node:http";
import { type Failure, failure } from "@sallyport/protocol";
import { type DoorSettings, FIXED_BOUNDS } from "./door-settings.ts";
import { bodyTooLarge, malformed } from "./failure-of.ts";

/** Headers of which two readers could each believe another one. */
const SINGLE = new Set([
  "host",
  "authorization",
  "content-type",
  "content-length",
  "origin",
  "expect",
  "idempotency-key",
  "last-event-id",
]);
const LENGTHS = new Set([...SINGLE].map((name) => name.length));

/** E3935 for too many headers, E3903 for two of a kind where only one may be. */
function headerTrouble({ rawHeaders }: IncomingMessage): Failure | undefined {
  if (rawHeaders.length > 2 * FIXED_BOUNDS.headers)
    return failure("E3935", { message: `A request may have ${FIXED_BOUNDS.headers} headers.` });
  let seen: string[] | undefined;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? "";
    if (!LENGTHS.has(name.length)) continue;
    const lower = name.toLowerCase();
    if (!SINGLE.has(lower)) continue;
    seen ??= [];
    if (seen.includes(lower)) return twice(lower);
    seen.push(lower);
  }
  return undefined;
}

function twice(name: string): Failure {
  return failure("E3903", {
    message: `The request has more than one ${name} header.`,
    advice: `Send ${name} once.`,
  });
}

/** What is wrong with a request whatever it is for; undefined when nothing is. */
export function requestTrouble(request: IncomingMessage, settings: DoorSettings): Failure | undefined {
  if (request.httpVersionMajor !== 1) return malformed("Only HTTP/1.1 and HTTP/1.0 are spoken here.");
  return targetTrouble(request.url ?? "") ?? headerTrouble(request) ?? bodyTrouble(request, settings);
}

/** Whether its method promises to change nothing. */
export function isSafe({ method }: IncomingMessage): boolean {
  return method === "GET" || method === "HEAD" || method === "OPTIONS";
}

/** A target that names a server itself could name another one than the Host header does. */
function targetTrouble(url: string): Failure | undefined {
  if (url.length > FIXED_BOUNDS.urlChars) return failure("E3934");
  if (url.startsWith("/") ? url.includes("#") : url !== "*")
    return malformed("The request target is not a path with an optional query.");
  return undefined;
}

function bodyTrouble(request: IncomingMessage, { bodyBytes }: DoorSettings): Failure | undefined {
  const { headers } = request;
  const coding = headers["transfer-encoding"];
  const length = headers["content-length"];
  if (coding === undefined && (length === undefined || length === "0")) return noBody(request);
  if (request.method === "GET" || request.method === "HEAD") return malformed("A GET request has no body.");
  if (coding !== undefined && coding.toLowerCase() !== "chunked")
    return malformed("The only transfer coding that is taken is chunked.");
  if (Number(length) > bodyBytes) return bodyTooLarge();
  const encoding = headers["content-encoding"];
  if (encoding !== undefined && encoding.toLowerCase() !== "identity")
    return failure("E3932", { message: "Bodies are taken without a content encoding." });
  return expectTrouble(headers.expect);
}

/** Some clients name a type for a body that they do not send. */
function noBody({ headers }: IncomingMessage): Failure | undefined {
  if (headers["content-type"] !== undefined) delete headers["content-type"];
  return expectTrouble(headers.expect);
}

function expectTrouble(expect: string | undefined): Failure | undefined {
  return expect === undefined || expect.toLowerCase() === "100-continue" ? undefined : failure("E3944");
}
