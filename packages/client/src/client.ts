import {
  type Domain,
  type DomainTools,
  domainField,
  domainToolsField,
  type Field,
  failure,
  type JsonObject,
  type JsonValue,
  type RunResponse,
  runResponseField,
  type ToolInvokeRequest,
  type ToolInvokeResponse,
  type ToolStatusResponse,
  toolInvokeResponseField,
  toolStatusResponseField,
} from "@sallyport/protocol";
import type { Result } from "./client-error.ts";
import { type Connection, exchange, type Fetch, isAnswer } from "./exchange.ts";
import { invokeError, type Reading, read, runError } from "./read-answer.ts";

export interface ClientOptions {
  /** Where the server is, such as `https://tools.example.com`; with a path when it is behind one. */
  url: string;
  /** Sent as a bearer token. It is in no error. */
  token?: string;
  /** The web's `fetch` when left out. */
  fetch?: Fetch;
  /** How long to wait for a whole answer; 120 s when left out. */
  timeoutMs?: number;
  /** Larger answers are refused; 16 MiB when left out. */
  maxAnswerBytes?: number;
}

export interface RequestOptions {
  signal?: AbortSignal;
  /** Instead of the client's own. */
  timeoutMs?: number;
}

/** A run that succeeded. */
export type RunSuccess = RunResponse & { ok: true; output: JsonValue };

/** What can be asked of a server. Every method makes one request and never repeats it; none throws. */
export interface Client {
  /** The server's address without a slash at the end: part of the key of a cache. */
  readonly url: string;
  /** Which domain a gateway serves, and in which version. */
  domain(options?: RequestOptions): Promise<Result<Domain>>;
  /** The tools of a gateway's domain. */
  tools(options?: RequestOptions): Promise<Result<DomainTools>>;
  /** Runs a tool of a gateway. A call that waits for approval is an error with its `callId`. */
  run(toolId: string, input: JsonObject, options?: RequestOptions): Promise<Result<RunSuccess>>;
  /** Runs a tool of any server (tool.invoke). The value is a success, or a call that is accepted or running. */
  invoke(request: ToolInvokeRequest, options?: RequestOptions): Promise<Result<ToolInvokeResponse>>;
  /** How a call stands (tool.status). */
  status(callId: string, options?: RequestOptions): Promise<Result<ToolStatusResponse>>;
}

const TIMEOUT_MS = 120_000;
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;

/** A client for one server. Throws a TypeError for options that cannot be used. */
export function createClient(options: ClientOptions): Client {
  const connection: Connection = {
    url: baseUrl(options.url),
    token: checkToken(options.token),
    fetch: options.fetch ?? ((url, init) => fetch(url, init)),
    maxAnswerBytes: options.maxAnswerBytes ?? MAX_ANSWER_BYTES,
  };
  const ask = asker(connection, checkTimeout(options.timeoutMs ?? TIMEOUT_MS));
  return {
    url: connection.url,
    domain: (given) => ask({ path: "/v1/domain", field: domainField }, given),
    tools: (given) => ask({ path: "/v1/tools", field: domainToolsField }, given),
    run: (toolId, input, given) =>
      ask({ path: `/v1/tools/${inPath(toolId)}:run`, body: { input }, ...RUN }, given),
    invoke: (request, given) => ask({ path: "/v1/tools/invoke", body: request, ...INVOKE }, given),
    status: async (callId, given) => {
      // As a part of an address these lead elsewhere.
      if (/^\.{0,2}$/.test(callId)) return { ok: false, error: failure("E3917") };
      return await ask({ path: `/v1/invocations/${inPath(callId)}`, field: toolStatusResponseField }, given);
    },
  };
}

interface Question<Wire> extends Omit<Reading<Wire>, "method"> {
  path: string;
  /** Present: a POST. */
  body?: unknown;
}

const RUN: Pick<Question<RunSuccess>, "field" | "errorIn"> = {
  field: runResponseField as Field<RunSuccess>,
  errorIn: runError,
};

const INVOKE: Pick<Question<ToolInvokeResponse>, "field" | "errorIn"> = {
  field: toolInvokeResponseField,
  errorIn: invokeError,
};

function asker(connection: Connection, defaultMs: number) {
  return async <Wire>(question: Question<Wire>, options: RequestOptions = {}): Promise<Result<Wire>> => {
    const { path, body, ...reading } = question;
    const method = body === undefined ? "GET" : "POST";
    const timeoutMs = checkTimeout(options.timeoutMs ?? defaultMs);
    const answer = await exchange(connection, { method, path, body, timeoutMs, signal: options.signal });
    if (!isAnswer(answer)) return { ok: false, error: answer };
    return read(answer, { method, ...reading });
  };
}

function inPath(id: string): string {
  return encodeURIComponent(id.toWellFormed());
}

function baseUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol)) throw new TypeError("url is no http or https address");
  // The address is shown and kept in caches; what is in these parts is often secret.
  if (url.username || url.password || url.search || url.hash) {
    throw new TypeError("url has a user, a password, a query or a fragment; a credential goes into token");
  }
  return url.origin + url.pathname.replace(/\/+$/, "");
}

/** What a header does not take would be quoted by the exception of `fetch`. */
function checkToken(token: string | undefined): string | undefined {
  if (token === undefined || /^[\x21-\x7e]+$/.test(token)) return token;
  throw new TypeError("token is empty or has characters that a header does not take");
}

function checkTimeout(ms: number): number {
  if (Number.isInteger(ms) && ms > 0 && ms < 2 ** 31) return ms;
  throw new TypeError("timeoutMs is a whole number of milliseconds, from 1 to 2147483647");
}
