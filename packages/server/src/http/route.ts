import type { Readable } from "node:stream";
import type { ErrorCode, Failure, Field } from "@sallyport/protocol";
import type { Principal } from "./principal.ts";

/**
 * Who may use a route. `public`: anybody who can reach the door. `caller`: an agent with a capability token, an operator,
 * or, where the door trusts whoever reaches it, anybody. `operator`: people who run this server. `approver`: an operator,
 * or a person with the token for one approval.
 */
export type Access = "public" | "caller" | "operator" | "approver";

export type Method = "GET" | "POST" | "DELETE";

/** A request that was let in and whose parts have the promised shape. */
export interface RouteRequest<Params = unknown, Query = unknown, Body = unknown> {
  params: Params;
  query: Query;
  body: Body;
  principal: Principal;
  /** By lower-case name; one that came several times is joined by commas. */
  headers: Readonly<Record<string, string | undefined>>;
  /** Aborted when the client is gone before it has its answer. */
  signal: AbortSignal;
  /** Such as `http://127.0.0.1:7420`, for links in answers. */
  origin: string;
  /** Names this request in logs and problem details. */
  requestId: string;
}

/** What is known of a request that is refused; nothing of it may have been read. */
export interface Refused {
  url: string;
  requestId: string;
  /** A well-formed one. */
  traceparent?: string | undefined;
}

export interface Reply {
  status: number;
  headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  body?: unknown;
  /** Of a refusal in a dialect of its own: why, for the record. */
  code?: ErrorCode;
  /** Sent as it is, instead of a body; the headers say what it is. */
  content?: string | Readable;
}

/** What an answer of a route looks like, for the description of the API. */
export interface AnswerShape {
  description: string;
  /** Left out with `content`, or when there is no body. */
  schema?: Field<unknown>;
  /** The media type, when it is not JSON. */
  content?: string;
  headers?: Readonly<Record<string, string>>;
}

/** One route, complete: the server is built from these, and so is its description. */
// biome-ignore lint/suspicious/noExplicitAny: a list of routes holds every shape; `defineRoute` ties each one's parts together
export interface Route<Params = any, Query = any, Body = any> {
  /** The operation's name in the description of the API, such as `invokeTool`. */
  id: string;
  method: Method;
  /** As in OpenAPI, such as `/v1/tools/{tool_id}`. */
  path: string;
  tag: string;
  summary: string;
  description?: string;
  access: Access;
  params?: Field<Params>;
  query?: Field<Query>;
  body?: Field<Body>;
  /** Request headers it reads, by name, with what they mean. */
  headers?: Readonly<Record<string, string>>;
  /** Where the body may carry the capability token, for callers that send it in no header. */
  tokenInBody?(body: Body): string | null | undefined;
  /** By status. Problems need no mention: every route can answer with those. */
  answers: Readonly<Record<number, AnswerShape>>;
  handle(asked: RouteRequest<Params, Query, Body>): Reply | Promise<Reply>;
  /** How a request that fits this route is refused; as a problem when left out. */
  refusal?(failed: Failure, asked: Refused): Reply;
}

/** Ties the shapes of a route's parts to its handler. A failure it throws as `SallyportError` becomes a problem answer. */
export function defineRoute<Params = undefined, Query = undefined, Body = undefined>(
  route: Route<Params, Query, Body>,
): Route {
  return route;
}
