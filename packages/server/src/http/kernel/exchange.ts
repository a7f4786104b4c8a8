import type { IncomingMessage, ServerResponse } from "node:http";
import { type ErrorCode, entryOf, type Failure } from "@sallyport/protocol";
import type { Principal } from "../principal.ts";
import type { Route } from "../route.ts";
import type { TraceContext } from "./trace-context.ts";

const ANYONE: Principal = { kind: "anyone" };

/** One request and its answer, from the moment its headers are there until its last byte is out or its client gone. */
export class Exchange {
  readonly requestId: string;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly startedAt = performance.now();
  /** Undefined while no route is found for it, or none exists. */
  route: Route | undefined;
  principal: Principal = ANYONE;
  /** Unset when its connection has too many under way already. */
  hasPlace = false;
  /** Headers every answer to this request carries, name after value. */
  always: readonly string[] = [];
  trace: TraceContext | undefined;
  /** Set when it was refused. */
  code: ErrorCode | undefined;
  /** Whether its answer goes on until somebody ends it. */
  streams = false;
  #wireStatus = 0;
  #abort: AbortController | undefined;
  #reason: Error | undefined;

  constructor(request: IncomingMessage, response: ServerResponse, requestId: string) {
    this.request = request;
    this.response = response;
    this.requestId = requestId;
  }

  /** Made only for a handler that looks: most never do. */
  get signal(): AbortSignal {
    this.#abort ??= new AbortController();
    if (this.#reason) this.#abort.abort(this.#reason);
    return this.#abort.signal;
  }

  /** Whether an answer can still be begun. */
  get isOpen(): boolean {
    const { response } = this;
    return !response.headersSent && !response.destroyed && !this.request.socket.destroyed;
  }

  /** What it was answered with; 0 while it has no answer. */
  get status(): number {
    return this.response.headersSent ? this.response.statusCode : this.#wireStatus;
  }

  /** Notes that its sender was answered past the response, because the rest of it made no sense. */
  refusedOnWire(failed: Failure): void {
    this.code = failed.code;
    this.#wireStatus = entryOf(failed).http;
  }

  /**
   * As the request's own, which would cost a copy; only, once it is let in, without what a handler does not need and
   * could write somewhere: credentials, and trace headers that do not hold.
   */
  get headers(): Readonly<Record<string, string | undefined>> {
    return this.request.headers as Record<string, string | undefined>;
  }

  /** Leaves in the headers only what a handler may have. */
  withhold(): void {
    const { headers } = this.request;
    if (headers.authorization !== undefined) headers.authorization = undefined;
    if (headers.cookie !== undefined) headers.cookie = undefined;
    if (headers["set-cookie"] !== undefined) headers["set-cookie"] = undefined;
    const { traceparent, tracestate } = this.trace ?? {};
    if (headers.traceparent !== traceparent) headers.traceparent = traceparent;
    if (headers.tracestate !== tracestate) headers.tracestate = tracestate;
  }

  /** Tells the handler that nobody waits any more. */
  abort(reason: string): void {
    this.#reason ??= new Error(reason);
    this.#abort?.abort(this.#reason);
  }
}
