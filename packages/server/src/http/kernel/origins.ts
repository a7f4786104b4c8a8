import type { IncomingHttpHeaders } from "node:http";
import { type Failure, failure } from "@sallyport/protocol";
import type { DoorSettings } from "./door-settings.ts";

const READ_BY_PAGES = "Location, Retry-After, X-Request-Id, Preference-Applied, WWW-Authenticate, Link";
const SENT_BY_PAGES =
  "Authorization, Content-Type, Idempotency-Key, Last-Event-ID, Prefer, X-Request-Id, Traceparent, Tracestate";

/** What the browser says about the page behind a request. */
export type Page =
  /** No page, or one of this door's own. */
  | { kind: "none" | "own" }
  /** A page of an origin that may call; its answer says so. */
  | { kind: "allowed"; origin: string };

const NONE: Page = { kind: "none" };
const OWN: Page = { kind: "own" };

/** Which pages may call: those of this door, and those of the origins in the configuration. */
export class Origins {
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
export function answerHeaders(page: Page): string[] {
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
export function preflightHeaders(headers: IncomingHttpHeaders, allow: string): Record<string, string> {
  return {
    "access-control-allow-methods": allow,
    "access-control-allow-headers": SENT_BY_PAGES,
    "access-control-max-age": "600",
    ...(headers["access-control-request-private-network"] === "true" && {
      "access-control-allow-private-network": "true",
    }),
  };
}
