import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { type Failure, failure, isFailure, SallyportError } from "@sallyport/protocol";
import { forgetCookie, type Guard } from "../guard/index.ts";
import type { Principal } from "../principal.ts";
import type { Route } from "../route.ts";
import type { Answering } from "./answering.ts";
import type { Connections } from "./connections.ts";
import type { DoorSettings } from "./door-settings.ts";
import { Exchange } from "./exchange.ts";
import { Hosts } from "./hosts.ts";
import { type KnownPaths, missing, pathOf } from "./known-paths.ts";
import { isSafe, requestTrouble } from "./request-trouble.ts";
import { traceContext } from "./trace-context.ts";
import type { Watching } from "./watching.ts";

const READ_BY_PAGES = "Location, Retry-After, X-Request-Id, Preference-Applied, WWW-Authenticate, Link";
const SENT_BY_PAGES =
  "Authorization, Content-Type, Idempotency-Key, Last-Event-ID, Prefer, X-Request-Id, Traceparent, Tracestate";

/** What the browser says about the page behind a request. */
type Page =
  /** No page, or one of this door's own. */
  | { kind: "none" | "own" }
  /** A page of an origin that may call; its answer says so. */
  | { kind: "allowed"; origin: string };

const NONE: Page = { kind: "none" };
const OWN: Page = { kind: "own" };

/** Which pages may call: those of this door, and those of the origins in the configuration. */
class Origins {
  readonly #allowed: ReadonlySet<string>;
  readonly #scheme: string;

  constructor({ allowedOrigins, publicUrl, tls }: DoorSettings) {
    this.#allowed = new Set(allowedOrigins.map((origin) => origin.toLowerCase().replace(/\/$/, "")));
    this.#publicOrigin = publicUrl === undefined ? undefined : new URL(publicUrl).origin;
    this.#scheme = tls ? "https" : "http";
  }

  readonly #publicOrigin: string | undefined;

  /** The page behind a request whose Host was found to be ours; E3937 for a page that may not call. */
  pageOf(headers: IncomingHttpHeaders): Page | Failure {
    const { origin } = headers;
    if (origin === undefined) return isEmbedded(headers) ? foreign("another site") : NONE;
    const given = origin.toLowerCase();
    if (given === this.#publicOrigin || given === `${this.#scheme}://${headers.host?.toLowerCase()}`)
      return OWN;
    return this.#allowed.has(given) ? { kind: "allowed", origin } : foreign(origin.slice(0, 120));
  }
}

/** Whether another site's page has this loaded as one of its parts: only then is there no Origin to go by. */
function isEmbedded(headers: IncomingHttpHeaders): boolean {
  const site = headers["sec-fetch-site"];
  if (site !== "cross-site" && site !== "same-site") return false;
  return headers["sec-fetch-mode"] !== "navigate";
}

function foreign(origin: string): Failure {
  return failure("E3937", { message: `Pages of ${origin} may not call this server.` });
}

/** Lets the page read an answer. Never with credentials: a cookie of ours is for our own pages. */
function answerHeaders(page: Page): string[] {
  if (page.kind !== "allowed") return [];
  return [
    "access-control-allow-origin",
    page.origin,
    "access-control-expose-headers",
    READ_BY_PAGES,
    "vary",
    "Origin",
  ];
}

/** Answers a page that asks beforehand. */
function preflightHeaders(headers: IncomingHttpHeaders, allow: string): Record<string, string> {
  return {
    "access-control-allow-methods": allow,
    "access-control-allow-headers": SENT_BY_PAGES,
    "access-control-max-age": "600",
    ...(headers["access-control-request-private-network"] === "true" && {
      "access-control-allow-private-network": "true",
    }),
  };
}

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

  /** The exchange when it goes on, at once unless the guard has to ask the store; undefined when it has its answer. Never rejects. */
  enter(arrival: Arrival, route: Route | undefined): Exchange | undefined | Promise<Exchange | undefined> {
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
    const { method = "", url = "" } = arrival.request;
    this.#refuse(this.begin(arrival, this.#parts.paths.meant(method, pathOf(url))), failed);
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

  #admit(
    exchange: Exchange,
    { route, page }: { route: Route; page: Page },
  ): Exchange | undefined | Promise<Exchange | undefined> {
    const { request } = exchange;
    const { authorization, cookie } = request.headers;
    const principal = this.#parts.guard.identify({
      authorization,
      cookie,
      address: request.socket.remoteAddress ?? "",
      mayChange: !isSafe(request),
      fromOwnPage: page.kind === "own",
    });
    if (!(principal instanceof Promise)) return this.#letIn(exchange, { route, principal });
    return principal.then(
      (found) => this.#letIn(exchange, { route, principal: found }),
      (error: unknown) => this.#fail(exchange, error),
    );
  }

  #letIn(
    exchange: Exchange,
    { route, principal }: { route: Route; principal: Principal | Failure },
  ): Exchange | undefined {
    const { guard } = this.#parts;
    const { authorization, expect } = exchange.request.headers;
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

  /** The store could not be asked who it is. */
  #fail(exchange: Exchange, error: unknown): undefined {
    if (error instanceof SallyportError) return this.#refuse(exchange, error.failure);
    this.#parts.answering.defect(exchange, error);
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
