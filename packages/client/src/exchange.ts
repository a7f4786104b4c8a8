import { failure, type JsonValue, parseUnambiguousJson } from "@sallyport/protocol";
import { type ClientError, unusable } from "./client-error.ts";

/** The web's `fetch`, or something that behaves like it. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** Where a client sends, and what it waits for. */
export interface Connection {
  /** Without a slash at the end. */
  url: string;
  fetch: Fetch;
  token: string | undefined;
  maxAnswerBytes: number;
}

export interface RequestOrder {
  method: "GET" | "POST";
  path: string;
  body?: unknown;
  timeoutMs: number;
  signal: AbortSignal | undefined;
}

/** What came back, whole. */
export interface HttpAnswer {
  status: number;
  contentType: string;
  retryAfterMs: number | undefined;
  /** Undefined when it is no JSON. */
  body: JsonValue | undefined;
}

const NODE_ERROR = /^[A-Z][A-Z0-9_]{2,40}$/;
/** The request has not reached anybody. */
const NOT_SENT = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "UND_ERR_CONNECT_TIMEOUT"]);

/** One request and its answer; nothing is sent twice, and no redirect is followed. Throws only for a body that is no JSON. */
export async function exchange(to: Connection, order: RequestOrder): Promise<HttpAnswer | ClientError> {
  const timeout = AbortSignal.timeout(order.timeoutMs);
  const signal = order.signal ? AbortSignal.any([timeout, order.signal]) : timeout;
  const request = requestOf(to, order, signal);
  try {
    const response = await to.fetch(to.url + order.path, request);
    if (isRedirect(response)) return await refuseRedirect(response, to.url + order.path);
    const text = await readText(response, to.maxAnswerBytes);
    const { status } = response;
    if (typeof text !== "string") return unusable(order, "E3509", { message: text.problem, status });
    return answerOf(response, withoutToken(text, to.token));
  } catch (error) {
    return lost(order, { error, timeout, url: to.url });
  }
}

export function isAnswer(answer: HttpAnswer | ClientError): answer is HttpAnswer {
  return "contentType" in answer;
}

function requestOf({ token }: Connection, { method, body }: RequestOrder, signal: AbortSignal): RequestInit {
  return {
    method,
    headers: {
      accept: "application/json, application/problem+json",
      ...(body !== undefined && { "content-type": "application/json" }),
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    redirect: "manual",
    credentials: "omit",
    cache: "no-store",
    signal,
  };
}

/** In browsers a redirect shows nothing but its type. */
function isRedirect({ type, status }: Response): boolean {
  return type === "opaqueredirect" || (status >= 300 && status < 400);
}

/** A redirect could carry the token, or the input of a tool, to another place. */
async function refuseRedirect(response: Response, asked: string): Promise<ClientError> {
  await response.body?.cancel();
  const { status } = response;
  const message = `The server redirects${targetOf(response, asked)}; redirects are not followed.`;
  const advice = "Give the client the address that the server is really at.";
  return { ...failure("E3308", { message, advice }), ...(status > 0 && { status }) };
}

/** Only the origin: the rest of an address can hold secrets. */
function targetOf({ headers }: Response, asked: string): string {
  const location = headers.get("location") ?? "";
  if (location === "" || !URL.canParse(location, asked)) return "";
  return ` to ${new URL(location, asked).origin.slice(0, 300)}`;
}

async function readText(response: Response, maxBytes: number): Promise<string | { problem: string }> {
  const reader = response.body?.getReader();
  const decoder = new TextDecoder("utf-8");
  let [text, size] = ["", 0];
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true };
    if (done || !value) return text + decoder.decode();
    size += value.byteLength;
    if (size > maxBytes) {
      await reader?.cancel();
      return { problem: `The answer is larger than ${maxBytes} bytes, so it was not read to its end.` };
    }
    text += decoder.decode(value, { stream: true });
  }
}

/** A server may repeat what it was sent; results and errors are often logged. A short word is no secret, and occurs anywhere. */
function withoutToken(text: string, token: string | undefined): string {
  if (token === undefined || token.length < 8) return text;
  return text.replaceAll(JSON.stringify(token).slice(1, -1), "[token]");
}

function answerOf({ status, headers }: Response, text: string): HttpAnswer {
  return {
    status,
    contentType: (headers.get("content-type") ?? "no content type").slice(0, 100),
    retryAfterMs: retryAfter(headers.get("retry-after")),
    body: parseUnambiguousJson(text),
  };
}

/** Seconds, or a date (RFC 9110). */
function retryAfter(value: string | null): number | undefined {
  if (value === null) return undefined;
  const wait = /^\d{1,9}$/.test(value) ? Number(value) * 1_000 : Date.parse(value) - Date.now();
  return Number.isNaN(wait) ? undefined : Math.max(0, wait);
}

interface Loss {
  error: unknown;
  timeout: AbortSignal;
  url: string;
}

/** No answer came. What an exception says is not repeated: it can quote headers. */
function lost(order: RequestOrder, { error, timeout, url }: Loss): ClientError {
  if (order.signal?.aborted) {
    return unusable(order, "E3906", { message: "The request was aborted before its answer came." });
  }
  if (timeout.aborted) {
    return unusable(order, "E3306", { message: `${url} did not answer within ${order.timeoutMs} ms.` });
  }
  const reason = reasonOf(error);
  const message = `${url} cannot be reached${reason && ` (${reason})`}.`;
  const advice = "Check the address, and that the server runs.";
  if (NOT_SENT.has(reason)) return failure("E3304", { message, advice });
  return unusable(order, "E3304", { message, advice });
}

function reasonOf(error: unknown): string {
  const cause = error instanceof Error && isCoded(error.cause) ? error.cause : error;
  return isCoded(cause) && NODE_ERROR.test(cause.code) ? cause.code : "";
}

function isCoded(value: unknown): value is { code: string } {
  return typeof value === "object" && value !== null && "code" in value && typeof value.code === "string";
}
