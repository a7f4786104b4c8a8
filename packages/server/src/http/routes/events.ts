import { invocationParamsField } from "@sallyport/protocol";
import { type Asked, defineRoute, type Reply, type Route } from "../route.ts";
import { invocationUrl } from "./addresses.ts";
import { CallEvents, type EventTiming, isAtEnd } from "./call-events.ts";
import { placeOf } from "./event-place.ts";
import { EventStream } from "./event-stream.ts";
import type { InvocationParams } from "./invocations.ts";
import type { DoorParts } from "./parts.ts";
import { visibleCall } from "./visible-call.ts";
import { whileItHolds } from "./while-it-holds.ts";

const TIMING: EventTiming = { heartbeatMs: 15_000, lookAgainMs: 1_000 };

const HEADERS = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-store",
  "x-accel-buffering": "no",
};

const DESCRIPTION = `Server-sent events: \`state\`, \`progress\`, \`stdout\` and \`stderr\` as they happen, and \`ended\` as
the last; then the stream ends. After a broken connection \`Last-Event-ID\` goes on where it broke. \`omitted\` says that
news were dropped because they were not fetched in time, \`reset\` that the place is not known any more and everything
that is known follows from the beginning. Of a call that is over, the states on record are told. The stream ends early when
the token or the session that opened it does not hold any more.`;

/** `GET /v1/invocations/{id}/events`: a call as it happens. */
export function eventRoutes(parts: DoorParts, timing: EventTiming = TIMING): Route[] {
  return [
    defineRoute<InvocationParams, undefined, undefined>({
      id: "watchInvocation",
      method: "GET",
      path: "/v1/invocations/{invocation_id}/events",
      tag: "Invocations",
      summary: "Watch a call",
      description: DESCRIPTION,
      access: "caller",
      params: invocationParamsField,
      headers: { "Last-Event-ID": "The id of the last event that arrived." },
      answers: {
        200: { description: "The events.", content: "text/event-stream" },
        204: { description: "The client has had every event; there is no need to ask again." },
      },
      handle: (asked) => watch(asked, parts, timing),
    }),
  ];
}

async function watch(
  { params, principal, headers, signal, origin }: Asked<InvocationParams, undefined, undefined>,
  parts: DoorParts,
  timing: EventTiming,
): Promise<Reply> {
  const callId = params.invocation_id;
  const standing = await visibleCall(callId, principal, parts);
  const place = placeOf(headers["last-event-id"]);
  if (isAtEnd(parts, { callId, standing, place })) return { status: 204 };
  const resultUrl = `${invocationUrl(origin, callId)}/result`;
  const holds = () => parts.holds?.(principal) ?? true;
  const content = new EventStream(
    (gone) =>
      whileItHolds(new CallEvents({ callId, resultUrl, place, timing, signal: gone }, parts).frames(), holds),
    signal,
  );
  return { status: 200, headers: HEADERS, content };
}
