import { type ErrorCode, type Failure, failure } from "@sallyport/protocol";
import type { Destination } from "./destination.ts";

/** Why a request goes no further, for both protocols; never holds a secret. */
export interface Denial {
  failure: Failure;
  /** Of the HTTP answer. */
  status: number;
  /** Of the SOCKS answer. */
  reply: number;
  /** Where it was to go, when that could be read. */
  to: Destination | undefined;
}

/** What a SOCKS5 server says (RFC 1928). */
export const REPLY = {
  done: 0,
  failed: 1,
  forbidden: 2,
  unreachable: 4,
  refused: 5,
  unknownCommand: 7,
  unknownAddress: 8,
} as const;

const UNSAFE_STATUS = 400;

/** Tells a denial from what was asked for. */
export function isDenial(answer: object): answer is Denial {
  return "failure" in answer && "reply" in answer;
}

/** The network policy says no (E3104). */
export function forbidden(to: Destination | undefined, message: string, advice: string): Denial {
  return { failure: failure("E3104", { message, advice }), status: 403, reply: REPLY.forbidden, to };
}

/** A limit is reached (E3102). */
export function exhausted(to: Destination | undefined, message: string): Denial {
  return { failure: failure("E3102", { message }), status: 503, reply: REPLY.failed, to };
}

/** The request itself cannot be forwarded safely (E3901). */
export function malformed(message: string, status = UNSAFE_STATUS): Denial {
  const advice = "Send one complete, unambiguous HTTP/1.1 request for a proxy, or SOCKS5.";
  return { failure: failure("E3901", { message, advice }), status, reply: REPLY.failed, to: undefined };
}

/** What should have answered did not, or not as it should. */
export function unreached(
  to: Destination,
  code: ErrorCode,
  { message, status = 502, reply = REPLY.unreachable }: { message: string; status?: number; reply?: number },
): Denial {
  return { failure: failure(code, { message }), status, reply, to };
}

/** A name that could not be read, made safe to show. */
export function quoted(text: string): string {
  return JSON.stringify(text.slice(0, 100)).replace(/[^\x20-\x7e]/g, "?");
}
