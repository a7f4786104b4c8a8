import { hash } from "node:crypto";
import type { CallRequest } from "@sallyport/engine";
import {
  callFromMcx,
  decodeMcxRequest,
  entryOf,
  type Failure,
  type Field,
  fieldOf,
  isFailure,
  isJsonObject,
  type McxRequest,
  type McxStamp,
  mcxError,
  mcxErrorField,
  mcxRequestField,
  mcxResponse,
  mcxResponseField,
  SallyportError,
} from "@sallyport/protocol";
import { problemHeaders } from "../kernel/problem.ts";
import type { Principal } from "../principal.ts";
import { defineRoute, type Reply, type Route, type RouteRequest } from "../route.ts";
import { invocationUrl } from "./addresses.ts";
import { replayedHeader } from "./call-reply.ts";
import { type CallPlaces, callRequestOf } from "./call-request.ts";
import type { RouteContext } from "./parts.ts";

/** Where a message cannot be read. */
const SOURCE = "sallyport";

/** A message has no place for a tenant, so a token in it has to be what its sender is known by. */
const PLACES: CallPlaces = {
  token: "/payload/security/token",
  unnamed: {
    place: "/payload/security/token",
    reason:
      "does not count when the request has another credential, and the message cannot say for which tenant it is",
  },
};

/** Described as a request, and taken as it comes: what is wrong with it is answered in the envelope's own words. */
const body: Field<unknown> = fieldOf(mcxRequestField.schema, (_value): _value is unknown => true);

/** `POST /v1/messages`: the MCX envelope, both ways. */
export function messageRoutes(parts: RouteContext): Route[] {
  return [
    defineRoute({
      id: "sendMessage",
      method: "POST",
      path: "/v1/messages",
      tag: "Messages",
      summary: "Run a tool by an MCX message",
      description:
        "A request envelope in, a response envelope out; an execution that failed is a response too. What cannot be taken as a request is answered with an `error` message and the HTTP status of its code.",
      // Whoever may not send one is told so in the envelope's own words.
      access: "public",
      body,
      headers: { traceparent: "W3C trace context; the call becomes a part of the trace." },
      answers: {
        200: {
          description: "The execution has ended.",
          schema: mcxResponseField,
          headers: {
            "Content-Location": "The call that the message became.",
            "Idempotent-Replayed": "`true` when the answer comes from the record and nothing ran this time.",
          },
        },
        202: {
          description:
            "The execution waits for a person's approval: its status is `failure`, and its error has `details.pending`.",
          schema: mcxResponseField,
          headers: { Location: "Where to ask how it stands." },
        },
        400: { description: "The message is no request.", schema: mcxErrorField },
        401: {
          description: "The message needs a token.",
          schema: mcxErrorField,
          headers: { "WWW-Authenticate": "How to show one." },
        },
      },
      handle: (asked) => exchange(asked, parts),
    }),
  ];
}

async function exchange(
  asked: RouteRequest<undefined, undefined, unknown>,
  parts: RouteContext,
): Promise<Reply> {
  const decoded = decodeMcxRequest(asked.body);
  if (!decoded.ok) return refusal(decoded.failure, asked.body, parts);
  const { request } = decoded;
  const principal = senderOf(request, asked.principal, parts);
  if (isFailure(principal)) return refusal(principal, asked.body, parts);
  const { headers, signal } = asked;
  const sent = { principal, headers, signal, places: PLACES };
  const call = refusable(() => callRequestOf(callFromMcx(request), sent, parts));
  if (isFailure(call)) return refusal(call, asked.body, parts);
  const answer = await parts.engine.call({ ...call, callId: callIdOf(request, call) });
  const message = mcxResponse(answer, request, stampOf(parts, request.header.destination));
  const location = invocationUrl(asked.origin, answer.callId);
  const replayed = replayedHeader(answer);
  if (answer.status !== "pending_approval")
    return { status: 200, headers: { "content-location": location, ...replayed }, body: message };
  return { status: 202, headers: { location, "retry-after": "5", ...replayed }, body: message };
}

/**
 * A message's id is its sender's own: two agents may use the same, and neither is to learn so. The same message of the same
 * agent is the same call.
 */
function callIdOf({ header }: McxRequest, { caller }: CallRequest): string {
  return `mcx-${hash("sha256", JSON.stringify([caller.tenant, caller.agent, header.messageId]))}`;
}

/** Who showed nothing in the headers may have put a token into the message. */
function senderOf({ payload }: McxRequest, shown: Principal, parts: RouteContext): Principal | Failure {
  const token = payload.security?.token;
  return shown.kind === "anyone" && token ? parts.recognise(token) : shown;
}

function refusable<Value extends object>(make: () => Value): Value | Failure {
  try {
    return make();
  } catch (error) {
    if (error instanceof SallyportError) return error.failure;
    throw error;
  }
}

function refusal(failed: Failure, sent: unknown, parts: RouteContext): Reply {
  const header = isJsonObject(sent) && isJsonObject(sent.header) ? sent.header : {};
  const { messageId, source, destination: addressed } = header;
  const destination = typeof source === "string" ? { destination: source } : {};
  const requestId = typeof messageId === "string" ? messageId : undefined;
  const headers = problemHeaders(failed);
  return {
    status: entryOf(failed).http,
    code: failed.code,
    ...(Object.keys(headers).length > 0 && { headers }),
    body: mcxError(failed, { ...stampOf(parts, addressed), ...destination }, requestId),
  };
}

/** The answer comes from the server that the request is addressed to, under the name the request has for it. */
function stampOf({ ids, clock }: RouteContext, addressed: unknown): McxStamp {
  const source = typeof addressed === "string" && addressed !== "" ? addressed : SOURCE;
  return { messageId: ids.next(), timestamp: new Date(clock.now()).toISOString(), source };
}
