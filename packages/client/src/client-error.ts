import { type ErrorCode, type Failure, type FailureContext, failure } from "@sallyport/protocol";

/**
 * Why there is no answer. `code` is a word of GATEWAY_ERROR_CODES for a run that failed, else a code of the error catalogue:
 * the server's, or this client's own when the server could not be reached or did not make sense.
 */
export interface ClientError extends Omit<Failure, "code"> {
  code: string;
  /** The HTTP status; absent when no answer came. */
  status?: number;
  /** How long to wait before another try, where the server said so (Retry-After). */
  retryAfterMs?: number;
  /** The call that the error is about, for `client.status`; absent when there is none. */
  callId?: string;
}

/**
 * Failures are values, as everywhere in Sallyport: a failed run is an ordinary ending, and no answer can be read before `ok`
 * was looked at. Only wrong use of the client throws (a TypeError).
 */
export type Result<T> = { ok: true; value: T } | { ok: false; error: ClientError };

const UNKNOWN_OUTCOME =
  "It is not known whether the tool ran: look for the call at the server before you repeat it.";

type Unusable = FailureContext & { status?: number };

/** After a POST, a missing or unusable answer leaves open whether the tool ran: that must not be retried blindly. */
export function unusable(
  { method }: { method: "GET" | "POST" },
  code: ErrorCode,
  { status, ...context }: Unusable,
): ClientError {
  const open = method === "POST" && { retryable: false, advice: UNKNOWN_OUTCOME };
  return { ...failure(code, { ...context, ...open }), ...(status !== undefined && { status }) };
}
