import {
  APICallError,
  InvalidResponseDataError,
  JSONParseError,
  TypeValidationError,
} from "@ai-sdk/provider";
import { defined, type Failure, failure, SallyportError } from "@sallyport/protocol";
import { readRetryAfter } from "../webhook/retry-after.ts";
import { ModelTrouble, type TroubleKind } from "./model-trouble.ts";
import { codeIn, member, oneLine, wordsIn } from "./provider-words.ts";

const SAID_SO_FAR = "What was said so far is kept.";

/** What a person can do about a trouble with a model. */
function adviceFor(trouble: Trouble): string {
  switch (trouble.kind) {
    case "refused":
      return `${byStatus(trouble)} ${SAID_SO_FAR}`;
    case "connection":
      return `Check that the provider runs and that its baseUrl is right. ${SAID_SO_FAR}`;
    case "timeout":
      return `Try again, or give the provider longer with idleSeconds. ${SAID_SO_FAR}`;
    case "protocol":
      return `Check the provider's kind and baseUrl: it does not speak what was expected. ${SAID_SO_FAR}`;
    case "cut":
      return `Send the message again. ${SAID_SO_FAR}`;
    case "aborted":
    case "unknown":
      return `Try again; if it stays, check the model's name, its key and its address. ${SAID_SO_FAR}`;
  }
}

function byStatus({ status, retryAfterMs, retryable }: Trouble): string {
  if (status === 401 || status === 403) return "Check the provider's key and what it may be used for.";
  if (status === 404)
    return "Check the model's name and the provider's baseUrl; a local model may have to be pulled first.";
  if (status === 413) return "Start a new conversation, or set the model's contextTokens.";
  if (status === 429 && !retryable) return "Check the plan and the balance of the provider's account.";
  if (retryAfterMs !== undefined) return `Try again in ${Math.ceil(retryAfterMs / 1_000)} s.`;
  if (retryable) return "Wait a little and try again.";
  return "The provider's own words say what it did not like.";
}

const MOST_CAUSES = 8;

/** An error and what caused it, outermost first. Bounded: causes may be cyclic. */
function errorChain(error: unknown): unknown[] {
  const chain: unknown[] = [];
  let current = error;
  while (current !== undefined && current !== null && chain.length < MOST_CAUSES) {
    chain.push(current);
    current = current instanceof Error ? current.cause : undefined;
  }
  return chain;
}

/** What Sallyport itself found, however deep a provider's code wrapped it. */
function troubleIn(chain: readonly unknown[]): ModelTrouble | undefined {
  return chain.find((link) => link instanceof ModelTrouble);
}

/** The first code of the system or of TLS in the chain, such as ECONNREFUSED. */
function systemCodeIn(chain: readonly unknown[]): string | undefined {
  for (const link of chain) {
    const code = link instanceof Error && "code" in link ? link.code : undefined;
    if (
      typeof code === "string" &&
      /^(E[A-Z_]+|UND_ERR_\w+|CERT_\w+|\w*SIGNED\w*|UNABLE_TO_\w+|ERR_(TLS|SSL)_\w+)$/.test(code)
    )
      return code;
  }
  return undefined;
}

/** What is known of a trouble with a provider, before it is put into words. */
export interface Trouble {
  kind: TroubleKind;
  /** Goes on from "The model's provider failed: ". */
  what: string;
  status?: number | undefined;
  /** The host that was asked. */
  host?: string | undefined;
  retryAfterMs?: number | undefined;
  retryable: boolean;
}

/**
 * Whatever a provider or its code threw, as E3959: one line, bounded, without secrets. `details` has `kind`, and where
 * they are known `status`, `host` and `retryAfterMs`. Total.
 */
export function modelFailure(error: unknown): Failure {
  if (error instanceof SallyportError) return error.failure;
  const trouble = troubleOf(error);
  const { kind, status, host, retryAfterMs, retryable } = trouble;
  const at = host ? ` at ${host}` : "";
  return failure("E3959", {
    message: `The model${at} could not answer: ${trouble.what}.`.replace(/[.…!?]\.$/, (end) =>
      end.slice(0, 1),
    ),
    advice: adviceFor(trouble),
    retryable,
    details: { kind, ...defined({ status, host, retryAfterMs }) },
  });
}

function troubleOf(error: unknown): Trouble {
  const chain = errorChain(error);
  const call = chain.find((link) => APICallError.isInstance(link));
  const host = hostOf(call?.url);
  const own = troubleIn(chain);
  if (own)
    return {
      kind: own.kind,
      what: own.message,
      host,
      retryable: own.kind === "timeout" || own.kind === "cut",
    };
  if (call?.statusCode !== undefined && call.statusCode >= 400) return refusal(call, call.statusCode);
  const code = systemCodeIn(chain);
  if (code !== undefined) return { ...brokenConnection(code), host };
  return { ...other(error, chain), host };
}

function refusal(call: APICallError, status: number): Trouble {
  const words = oneLine(wordsIn(call.responseBody) ?? call.message);
  const headers = call.responseHeaders ?? {};
  const isOutOfMoney = codeIn(call.responseBody) === "insufficient_quota";
  return {
    kind: "refused",
    what: words ? `${status}, ${words}` : `${status}`,
    status,
    host: hostOf(call.url),
    retryAfterMs: retryAfterOf(headers),
    retryable: isTransientStatus(status) && !isOutOfMoney,
  };
}

function isTransientStatus(status: number): boolean {
  return status === 408 || status === 409 || status === 429 || status >= 500;
}

function retryAfterOf(headers: Record<string, string>): number | undefined {
  const exact = headers["retry-after-ms"];
  if (exact !== undefined && /^\d{1,9}$/.test(exact)) return Number(exact);
  return readRetryAfter(headers["retry-after"], Date.now());
}

const CERTIFICATE = /^(CERT_|UNABLE_TO_|ERR_TLS_|ERR_SSL_|\w*SIGNED)/;

function brokenConnection(code: string): Trouble {
  if (/TIMEOUT|TIMEDOUT/.test(code)) {
    return { kind: "timeout", what: `it did not answer in time (${code})`, retryable: true };
  }
  const isRefused = code === "ECONNREFUSED" || code === "ENOTFOUND" || code === "EAI_AGAIN";
  const what = isRefused ? "there is no connection" : "the connection broke";
  return { kind: "connection", what: `${what} (${code})`, retryable: !CERTIFICATE.test(code) };
}

function other(error: unknown, chain: readonly unknown[]): Trouble {
  if (chain.some((link) => link instanceof Error && link.name === "AbortError")) {
    return { kind: "aborted", what: "it was stopped", retryable: false };
  }
  if (chain.some(isUnreadable)) {
    return { kind: "protocol", what: "it sent something that is not its protocol", retryable: false };
  }
  if (InvalidResponseDataError.isInstance(error) && /without a finish reason/.test(error.message)) {
    return { kind: "cut", what: "the answer broke off before its end", retryable: true };
  }
  return spokenError(error);
}

/** The last is how the Anthropic provider says that it could not read the very first event. */
function isUnreadable(error: unknown): boolean {
  if (JSONParseError.isInstance(error) || TypeValidationError.isInstance(error)) return true;
  return error instanceof Error && error.message === "Expected a normalized Anthropic stream error";
}

/** Errors that a provider sends inside a stream are plain objects. */
function spokenError(error: unknown): Trouble {
  const said = typeof error === "string" ? error : member(error, "message");
  const words = typeof said === "string" ? oneLine(said) : "";
  const status = member(error, "statusCode");
  const code = member(error, "code") ?? member(error, "type");
  const isPlain = !(error instanceof Error);
  const isBusy = typeof code === "string" && /overload|rate_limit|server_error|timeout/.test(code);
  return {
    kind: isPlain ? "refused" : "unknown",
    what: words || "it did not say why",
    ...(typeof status === "number" && { status }),
    retryable: member(error, "isRetryable") === true || (isPlain && isBusy),
  };
}

function hostOf(address: string | undefined): string | undefined {
  return address === undefined ? undefined : URL.parse(address)?.host;
}
