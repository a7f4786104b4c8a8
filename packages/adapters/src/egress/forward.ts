import { type ClientRequest, type IncomingMessage, request, type ServerResponse } from "node:http";
import { answerDenial } from "./answer.ts";
import { type Denial, isDenial, unreached } from "./denial.ts";
import { endToEnd, listed, valuesOf } from "./headers.ts";
import type { Lane } from "./lane.ts";
import type { Parts } from "./parts.ts";
import { type Prepared, prepare } from "./prepare.ts";
import type { Scrub } from "./scrub.ts";

/** One request and where its answer goes. */
export interface Exchange {
  req: IncomingMessage;
  res: ServerResponse;
}

/** Forwards one request; done when its answer has gone out, or the client is gone. */
export async function forward(parts: Parts, lane: Lane, { req, res }: Exchange): Promise<void> {
  const ended = new Promise<void>((done) => res.once("close", done));
  const prepared = await prepare(parts, lane, req);
  if (res.destroyed) return;
  if (isDenial(prepared)) {
    parts.refusals.record(prepared);
    answerDenial(res, prepared);
  } else sendOn(parts, lane, { prepared, req, res });
  await ended;
}

/** Begins a request upstream. Answers come as they are: a redirect is the client's business. */
export function beginRequest(
  { limits }: Parts,
  { upstream, path, headers }: Prepared,
  method: string,
): ClientRequest {
  upstream.begun += 1;
  const up = request({
    agent: upstream,
    method,
    path,
    headers,
    insecureHTTPParser: false,
    maxHeaderSize: limits.headerBytes,
  });
  // No header may be dropped in silence: the size of the head is what bounds them.
  up.maxHeadersCount = 0;
  return up;
}

function sendOn(parts: Parts, lane: Lane, { prepared, req, res }: Exchange & { prepared: Prepared }): void {
  const up = beginRequest(parts, prepared, req.method ?? "GET");
  up.once("response", (answer) => relay(parts, { answer, res, prepared }));
  up.once("error", (error: NodeJS.ErrnoException) => fail(lane, { prepared, res, why: error.code }));
  up.once("close", () => {
    req.unpipe(up).resume();
    // An upgrade nobody asked for ends a request without an error.
    if (!res.headersSent) fail(lane, { prepared, res, why: undefined });
  });
  res.once("close", () => {
    if (!res.writableFinished) up.destroy();
  });
  if (!prepared.hasBody) {
    up.end();
    return;
  }
  req.pipe(up);
  parts.dialler.meter.watch(req);
}

/** An answer, what it answers, and where it goes. */
export interface Answered {
  answer: IncomingMessage;
  res: ServerResponse;
  prepared: Prepared;
}

/** Passes an answer on as it comes, without the secret; one that breaks off breaks off for the client too. */
export function relay({ dialler }: Parts, { answer, res, prepared }: Answered): void {
  const { scrub } = prepared;
  // Node reports an answer that breaks off as an error.
  answer.on("error", () => res.destroy());
  if (scrub && isEncoded(answer)) {
    answer.destroy();
    answerDenial(res, unanswered(prepared, "it is compressed, so a secret in it could not be found"));
    return;
  }
  if (!beginAnswer(answer, res, scrub)) return;
  (scrub ? answer.pipe(scrub.stream()) : answer).pipe(res);
  dialler.meter.watch(answer);
}

/** Although it was asked not to be. */
function isEncoded({ rawHeaders }: IncomingMessage): boolean {
  return ["content-encoding", "transfer-encoding"]
    .flatMap((name) => valuesOf(rawHeaders, name).flatMap(listed))
    .some((coding) => coding !== "identity" && coding !== "chunked");
}

/** False when Node will not write such a head (a status of 99, say); then the connection is ended. */
function beginAnswer(
  { statusCode = 502, statusMessage = "", rawHeaders }: IncomingMessage,
  res: ServerResponse,
  scrub: Scrub | undefined,
) {
  res.sendDate = false;
  const clean = (text: string) => scrub?.text(text) ?? text;
  try {
    res.writeHead(statusCode, clean(statusMessage), endToEnd(rawHeaders, ["x-sallyport-code"]).map(clean));
    return true;
  } catch {
    res.destroy();
    return false;
  }
}

interface Failed {
  prepared: Prepared;
  res: ServerResponse;
  why: string | undefined;
}

/**
 * A kept connection that ends under a request is what the client would have seen itself; it knows whether to repeat.
 */
function fail(lane: Lane, { prepared, res, why }: Failed): void {
  if (prepared.upstream.begun > 1 || res.headersSent) lane.socket.destroy();
  else answerDenial(res, unanswered(prepared, why));
}

/** Says that upstream gave no answer that could be passed on. */
export function unanswered({ upstream: { way } }: Prepared, why = "it ended the connection"): Denial {
  return unreached(way.to, "E3304", {
    message: `${way.to.name}:${way.to.port} gave no usable answer (${why}).`,
  });
}
