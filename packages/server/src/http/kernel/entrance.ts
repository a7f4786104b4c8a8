import type { IncomingMessage, ServerResponse } from "node:http";
import { type Failure, failure, isFailure } from "@sallyport/protocol";
import { forgetCookie, type Guard } from "../guard/index.ts";
import type { Route } from "../route.ts";
import type { Answering } from "./answering.ts";
import type { Connections } from "./connections.ts";
import type { DoorSettings } from "./door-settings.ts";
import { Exchange } from "./exchange.ts";
import { Hosts } from "./hosts.ts";
import { type KnownPaths, missing, pathOf } from "./known-paths.ts";
import { answerHeaders, Origins, type Page, preflightHeaders } from "./origins.ts";
import { isSafe, requestTrouble } from "./request-trouble.ts";
import { traceContext } from "./trace-context.ts";
import type { Watching } from "./watching.ts";

export interface EntranceParts {
  settings: DoorSettings;
  guard: Guard;
  paths: KnownPaths;
  connections: Connections;
  answering: Answering;
  watching: Watching;
  isClosing: () => boolean;
}

/** A request as Node gives it, and the name it got. */
export interface Arrival {
  request: IncomingMessage;
  response: ServerResponse;
  requestId: string;
}

/** Lets a request in, or answers why not, before any of its body is read. */
export class Entrance {
  readonly #parts: EntranceParts;
  readonly #hosts: Hosts;
  readonly #origins: Origins;

  constructor(parts: EntranceParts) {
    this.#parts = parts;
    this.#hosts = new Hosts(parts.settings);
    this.#origins = new Origins(parts.settings);
  }

  /** The exchange when it goes on; undefined when it has its answer. */
  enter(arrival: Arrival, route: Route | undefined): Exchange | undefined {
    const exchange = this.begin(arrival, route);
    const page = this.#pageOf(exchange);
    if (isFailure(page)) return this.#refuse(exchange, page);
    if (page.kind === "allowed") exchange.always = answerHeaders(page);
    // The router takes the server as a whole (`*`) for its root.
    if (!route || arrival.request.url === "*") return this.#missing(exchange);
    return this.#admit(exchange, { route, page });
  }

  /** For what the router itself gave up on. */
  reject(arrival: Arrival, failed: Failure): void {
    this.#refuse(this.begin(arrival, undefined), failed);
  }

  /** Puts a request on record, for whatever becomes of it. */
  begin({ request, response, requestId }: Arrival, route: Route | undefined): Exchange {
    const exchange = new Exchange(request, response, requestId);
    exchange.route = route;
    exchange.hasPlace = this.#parts.connections.begin(exchange);
    exchange.trace = traceContext(request.headers.traceparent, request.headers.tracestate);
    this.#parts.watching.request(exchange);
    return exchange;
  }

  #pageOf(exchange: Exchange): Page | Failure {
    const { request, hasPlace } = exchange;
    if (this.#parts.isClosing()) return failure("E3942");
    if (!hasPlace) return failure("E3910", { message: "Too many requests wait on this connection." });
    return (
      requestTrouble(request, this.#parts.settings) ??
      this.#hosts.refuse(request.headers.host) ??
      this.#origins.pageOf(request.headers)
    );
  }

  #admit(exchange: Exchange, { route, page }: { route: Route; page: Page }): Exchange | undefined {
    const { guard } = this.#parts;
    const { request } = exchange;
    const { authorization, cookie, expect } = request.headers;
    const principal = guard.identify({
      authorization,
      cookie,
      address: request.socket.remoteAddress ?? "",
      mayChange: !isSafe(request),
      fromOwnPage: page.kind === "own",
    });
    if (isFailure(principal))
      return this.#refuse(exchange, principal, { byCookie: authorization === undefined });
    exchange.principal = principal;
    const mayFollow = principal.kind === "anyone" && route.tokenInBody !== undefined;
    const refusal = mayFollow ? undefined : guard.refuse(principal, route.access);
    if (refusal) return this.#refuse(exchange, refusal);
    exchange.withhold();
    if (expect !== undefined) exchange.response.writeContinue();
    return exchange;
  }

  #missing(exchange: Exchange): undefined {
    const { method = "", url = "", headers } = exchange.request;
    const path = pathOf(url);
    const allow = this.#parts.paths.allow(path);
    if (method !== "OPTIONS" || allow === undefined)
      return this.#refuse(exchange, missing(method, path, allow));
    const more = exchange.always.length > 0 ? preflightHeaders(headers, allow) : {};
    this.#parts.answering.reply(exchange, { status: 204, headers: { allow, ...more } });
  }

  #refuse(exchange: Exchange, failed: Failure, { byCookie = false } = {}): undefined {
    // A browser would go on showing a session that is over, and be refused even where none is needed.
    const forget = byCookie && failed.code === "E3939" ? forgetCookie(this.#parts.settings) : {};
    this.#parts.answering.problem(exchange, failed, forget);
  }
}
