import type { ServerResponse } from "node:http";
import { pipeline, type Readable } from "node:stream";
import { type Failure, failure } from "@sallyport/protocol";
import type { Reply } from "../route.ts";
import type { DoorLog } from "./door-log.ts";
import type { Exchange } from "./exchange.ts";
import { codeOf } from "./failure-of.ts";
import { endAnswer } from "./linger.ts";
import { PROBLEM_TYPE, problemHeaders, problemOf, requestUrn } from "./problem.ts";
import { pageHeaders, securityHeaders } from "./security-headers.ts";
import { UnsentBytes } from "./unsent-bytes.ts";

const JSON_TYPE = "application/json; charset=utf-8";

export interface AnsweringOptions {
  tls: boolean;
  log: DoorLog;
  /** How long a client may take nothing of its answer. */
  stallMs: number;
  /** Whether connections end with their next answer. */
  isClosing: () => boolean;
}

interface StreamReply {
  status: number;
  headers: Readonly<Record<string, string>>;
  content: Readable;
}

/** Writes every answer of the door, so that none leaves without its headers. */
export class Answering {
  readonly #options: AnsweringOptions;
  readonly #headers: Readonly<Record<string, string>>;
  /** The headers of the usual answer, made once. */
  readonly #usual: readonly string[];
  readonly #unsent = new UnsentBytes();

  constructor(options: AnsweringOptions) {
    this.#options = options;
    this.#headers = securityHeaders(options);
    this.#usual = Object.entries({ ...this.#headers, "content-type": JSON_TYPE }).flat();
  }

  /** Sends what a handler answered. Throws only what `JSON.stringify` or a bad header throws, with nothing sent. */
  reply(exchange: Exchange, { status, headers, body, content, code }: Reply): void {
    exchange.code ??= code;
    if (typeof content === "object") {
      this.#stream(exchange, { status, headers: headers ?? {}, content });
      return;
    }
    const payload = content ?? (body === undefined ? undefined : JSON.stringify(body));
    const isUsual = headers === undefined && payload !== undefined;
    const list = isUsual ? [...this.#usual] : this.#listed(headers ?? {}, { isBare: payload === undefined });
    this.#send(exchange, { status, list, payload });
  }

  /** Sends a problem; the first refusal of an exchange counts. */
  problem(exchange: Exchange, failed: Failure, extra: Readonly<Record<string, string>> = {}): void {
    exchange.code ??= failed.code;
    const own = ownRefusal(exchange, failed);
    if (own) {
      const list = this.#listed({ ...own.headers, ...extra }, { isBare: false });
      this.#send(exchange, { status: own.status, list, payload: JSON.stringify(own.body) });
      return;
    }
    const problem = problemOf(failed, { instance: requestUrn(exchange.requestId) });
    const headers = { ...problemHeaders(failed), ...extra, "content-type": PROBLEM_TYPE };
    const list = this.#listed(headers, { isBare: false });
    this.#send(exchange, { status: problem.status, list, payload: JSON.stringify(problem) });
  }

  /** A defect: the log gets all of it, once, and the client a name to report it by. */
  defect(exchange: Exchange, error: unknown): void {
    const { requestId, route } = exchange;
    this.#options.log.error({ err: error, requestId, route: route?.id }, "A request failed by a defect");
    const advice = `Report this with the request id ${requestId}: it is a defect of Sallyport.`;
    if (exchange.isOpen) this.problem(exchange, failure("E3900", { advice, details: { requestId } }));
    else exchange.response.destroy();
  }

  #send(
    exchange: Exchange,
    { status, list, payload }: { status: number; list: string[]; payload: string | undefined },
  ): void {
    if (!exchange.isOpen) return;
    const { response } = exchange;
    this.#addOwn(list, exchange);
    const isBare = status === 204 || status === 304;
    if (!isBare) list.push("content-length", String(payload === undefined ? 0 : Buffer.byteLength(payload)));
    response.writeHead(status, list);
    endAnswer(exchange, isBare || exchange.request.method === "HEAD" ? undefined : payload);
    if (response.writableLength === 0) return;
    this.#unsent.add(response);
    watchStall(response, this.#options.stallMs);
  }

  #stream(exchange: Exchange, { status, headers, content }: StreamReply): void {
    const list = this.#listed(headers, { isBare: true });
    if (!exchange.isOpen || exchange.request.method === "HEAD") {
      content.destroy();
      this.#send(exchange, { status, list, payload: undefined });
      return;
    }
    const { response, requestId } = exchange;
    this.#addOwn(list, exchange);
    response.writeHead(status, list);
    response.flushHeaders();
    exchange.streams = true;
    watchStall(response, this.#options.stallMs);
    pipeline(content, response, (error) => {
      if (error && codeOf(error) !== "ERR_STREAM_PREMATURE_CLOSE")
        this.#options.log.warn({ err: error, requestId }, "An answer broke off");
    });
    // It was asked to end before there was a stream to end.
    if (this.#options.isClosing()) exchange.abort("The server is shutting down.");
  }

  /** How long an answer is, is not for a handler to say: it could say another length than it has. */
  #listed(headers: Readonly<Record<string, string>>, { isBare }: { isBare: boolean }): string[] {
    const own: Record<string, string> = {};
    for (const [name, value] of Object.entries(headers)) own[name.toLowerCase()] = value;
    delete own["content-length"];
    const type = own["content-type"] ?? (isBare ? undefined : JSON_TYPE);
    const all = { ...this.#headers, ...(type && { ...pageHeaders(type), "content-type": type }), ...own };
    return Object.entries(all).flat();
  }

  #addOwn(list: string[], exchange: Exchange): void {
    list.push("x-request-id", exchange.requestId, ...exchange.always);
    if (this.#options.isClosing()) list.push("connection", "close");
  }
}

/** A route may have a dialect of its own for refusals. */
function ownRefusal({ route, request, requestId, trace }: Exchange, failed: Failure): Reply | undefined {
  const { url = "" } = request;
  return route?.refusal?.(failed, { url, requestId, traceparent: trace?.traceparent });
}

/** Cuts off a client that takes nothing of what waits for it: its answer is held in memory, and so is its place. */
function watchStall(response: ServerResponse, stallMs: number): void {
  const { socket } = response;
  if (!socket) return;
  let taken = -1;
  const timer = setInterval(() => {
    const isWaiting = response.writableLength > 0 || socket.writableLength > 0;
    const hasTaken = socket.bytesWritten - socket.writableLength;
    if (isWaiting && hasTaken === taken) socket.destroy();
    taken = hasTaken;
  }, stallMs);
  timer.unref();
  response.once("close", () => clearInterval(timer));
}
