import { type IncomingMessage, request } from "node:http";
import type { Upstream } from "../egress/upstream.ts";
import type { Deadline } from "./deadline.ts";

/** A request that is ready to be sent. */
export interface WebhookRequest {
  path: string;
  headers: Record<string, string>;
  body: string;
}

/** The answer, as far as it is looked at, or what came instead. */
export type Reply =
  | { kind: "answered"; status: number; retryAfter: string | undefined; whole: boolean }
  | { kind: "broken"; why: string };

const HEADER_BYTES = 16 * 1024;
/** Read so that the connection can be used again; more ends it. Nothing of it is kept. */
const MOST_BYTES = 64 * 1024;

/** Sends a request and waits for the whole answer; the deadline closes the connection. */
export async function post(upstream: Upstream, request: WebhookRequest, deadline: Deadline): Promise<Reply> {
  const forget = deadline.onOver(() => upstream.close());
  try {
    return await exchange(upstream, request);
  } finally {
    forget();
  }
}

function exchange(agent: Upstream, { path, headers, body }: WebhookRequest): Promise<Reply> {
  return new Promise((done) => {
    const out = request({
      agent,
      method: "POST",
      path,
      headers,
      insecureHTTPParser: false,
      maxHeaderSize: HEADER_BYTES,
    });
    let answered = false;
    out.once("response", (answer) => {
      answered = true;
      void readOff(answer).then((whole) => done(reply(answer, whole)));
    });
    out.on("error", ({ code }: NodeJS.ErrnoException) => {
      if (!answered) done({ kind: "broken", why: code ?? "ECONNRESET" });
    });
    // An upgrade nobody asked for ends a request without an error.
    out.once("close", () => {
      if (!answered) done({ kind: "broken", why: "ECONNRESET" });
    });
    out.end(body);
  });
}

function reply({ statusCode = 0, headers }: IncomingMessage, whole: boolean): Reply {
  return { kind: "answered", status: statusCode, retryAfter: headers["retry-after"], whole };
}

/** Whether it came to its end within bounds. */
function readOff(answer: IncomingMessage): Promise<boolean> {
  let bytes = 0;
  answer.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > MOST_BYTES) answer.destroy();
  });
  answer.on("error", () => undefined);
  return new Promise((done) => {
    answer.once("close", () => done(answer.complete && bytes <= MOST_BYTES));
  });
}
