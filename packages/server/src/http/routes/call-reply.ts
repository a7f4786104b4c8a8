import {
  type Accepted,
  acceptedResponse,
  CATALOGUE,
  type CallAnswer,
  entryOf,
  type Failure,
  invokeResponse,
  toolInvokeResponseField,
} from "@sallyport/protocol";
import { problemHeaders } from "../kernel/problem.ts";
import type { AnswerShape, Reply } from "../route.ts";
import { invocationUrl } from "./addresses.ts";

/** How long to wait before asking about a call that runs, in seconds. */
const LOOK_AGAIN = "1";
/** The same for one that waits for a person. */
const LOOK_LATER = "5";

/** A call's answer over HTTP. */
export function callReply(answer: CallAnswer, origin: string): Reply {
  const statusUrl = invocationUrl(origin, answer.callId);
  const status = answer.status === "success" ? 200 : httpStatusOf(answer.error);
  const headers = headersOf(answer, { status, statusUrl });
  const body = invokeResponse(answer, { statusUrl });
  // The usual answer has none of its own, and is sent without looking for any.
  return Object.keys(headers).length === 0 ? { status, body } : { status, headers, body };
}

/**
 * The catalogue's, but where a limit was met by what the call itself asked for: the server is not too busy for it, and asking
 * again changes nothing.
 */
function httpStatusOf(error: Failure): number {
  return error.code === "E3102" && !error.retryable ? UNPROCESSABLE : entryOf(error).http;
}

const UNPROCESSABLE = 422;

function headersOf(
  answer: CallAnswer,
  { status, statusUrl }: { status: number; statusUrl: string },
): Record<string, string> {
  return {
    ...(answer.status === "pending_approval" && { location: statusUrl, "retry-after": LOOK_LATER }),
    ...(answer.status !== "success" && askedByStatus(answer.error, status)),
    ...replayedHeader(answer),
    ...warnings(answer),
  };
}

const REPLAYED = { "idempotent-replayed": "true" };

/** Tells a caller that nothing ran this time. */
export function replayedHeader({ replayed }: CallAnswer): Record<string, string> {
  return replayed ? REPLAYED : {};
}

/** Says that a call is on record, and where its answer will be. */
export function acceptedReply(accepted: Accepted, origin: string): Reply {
  const statusUrl = invocationUrl(origin, accepted.callId);
  return {
    status: 202,
    headers: {
      location: statusUrl,
      "retry-after": LOOK_AGAIN,
      ...(accepted.replayed && REPLAYED),
    },
    body: acceptedResponse(accepted, { statusUrl }),
  };
}

export function isAccepted(end: CallAnswer | Accepted): end is Accepted {
  return "acceptedAt" in end;
}

/** As for a problem: when to come back, or how to show a credential. */
function askedByStatus(error: Failure, status: number): Record<string, string> {
  return status === entryOf(error).http ? problemHeaders(error) : {};
}

/** The codes alone: what they say about this call stands in its status. */
function warnings({ warnings: list }: CallAnswer): Record<string, string> {
  if (list.length === 0) return {};
  const codes = [...new Set(list.map(({ code }) => code))];
  return { "sallyport-warnings": codes.join(", ") };
}

/** What a route that performs a call can answer. */
export const CALL_ANSWERS: Readonly<Record<number, AnswerShape>> = {
  200: {
    description: "The call succeeded; `result` is what the tool gave back.",
    schema: toolInvokeResponseField,
    headers: {
      "Idempotent-Replayed": "`true` when the answer comes from the record and nothing ran this time.",
      "Sallyport-Warnings": "Codes of what the caller should know, such as E3003 for a deprecated version.",
    },
  },
  202: {
    description: "The call is on record and open: accepted to run, or waiting for a person's approval.",
    schema: toolInvokeResponseField,
    headers: {
      Location: "Where to ask how it stands.",
      "Retry-After": "Seconds to wait before asking.",
      "Preference-Applied": "`respond-async` when that was preferred.",
      "Idempotent-Replayed": "`true` when the same request was accepted before.",
    },
  },
  ...Object.fromEntries(
    failureStatuses().map((status) => [
      status,
      {
        description: "The call did not succeed; `error` says why.",
        schema: toolInvokeResponseField,
        ...(status === 401 && { headers: { "WWW-Authenticate": "How to show a credential." } }),
      },
    ]),
  ),
};

/** Those of codes that the door itself never refuses with: what it refuses never becomes a call. */
function failureStatuses(): number[] {
  const ofCalls = Object.entries(CATALOGUE).filter(([code]) => !/^E39[34]\d$/.test(code));
  const all = new Set(ofCalls.map(([, { http }]) => Number(http)));
  return [...all].filter((status) => status >= 400).sort((a, b) => a - b);
}
