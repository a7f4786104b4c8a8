import { Readable } from "node:stream";
import { invocationParamsField } from "@sallyport/protocol";
import { defineRoute, type Reply, type Route, type RouteRequest } from "../route.ts";
import { invocationUrl } from "./addresses.ts";
import { CallEvents, type EventTiming, isAtEnd } from "./call-events.ts";
import { placeOf } from "./event-place.ts";
import type { InvocationParams } from "./invocations.ts";
import type { RouteContext } from "./parts.ts";
import { visibleCall } from "./visible-call.ts";

/** Little enough that frames are made only as fast as the client takes them. */
const BUFFERED_BYTES = 16 * 1024;

/**
 * Frames as a stream: the next one is made when the reader wants it. Destroying the stream ends the making of frames at
 * once, also while it waits for news.
 */
class EventStream extends Readable {
  readonly #frames: AsyncGenerator<string, void>;
  readonly #gone: AbortController;

  /** `begin` is given the signal that the making of frames has to heed. */
  constructor(begin: (signal: AbortSignal) => AsyncGenerator<string, void>, outer: AbortSignal) {
    super({ highWaterMark: BUFFERED_BYTES });
    this.#gone = new AbortController();
    this.#frames = begin(AbortSignal.any([outer, this.#gone.signal]));
  }

  override _read(): void {
    this.#frames.next().then(
      ({ done, value }) => this.push(done ? null : value),
      (error: unknown) => this.destroy(error instanceof Error ? error : new Error(String(error))),
    );
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#gone.abort();
    this.#frames.return().then(
      () => callback(error),
      () => callback(error),
    );
  }
}

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
export function eventRoutes(parts: RouteContext, timing: EventTiming = TIMING): Route[] {
  return [
    defineRoute({
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
  { params, principal, headers, signal, origin }: RouteRequest<InvocationParams, undefined, undefined>,
  parts: RouteContext,
  timing: EventTiming,
): Promise<Reply> {
  const { callId, standing } = await visibleCall(params.invocation_id, principal, parts);
  const place = placeOf(headers["last-event-id"]);
  if (await isAtEnd(parts, { callId, standing, place })) return { status: 204 };
  const resultUrl = `${invocationUrl(origin, params.invocation_id)}/result`;
  const holds = () => parts.holds?.(principal) ?? true;
  const content = new EventStream(
    (gone) =>
      whileItHolds(new CallEvents({ callId, resultUrl, place, timing, signal: gone }, parts).frames(), holds),
    signal,
  );
  return { status: 200, headers: HEADERS, content };
}

/** An answer that had to be read from the store is good for so long. */
const TRUSTED_MS = 1_000;

/**
 * Passes frames on for as long as whoever reads them may. It is asked before each one, so that nothing more is sent once a
 * token is revoked or a session over; a heartbeat is a frame too, so that a quiet stream ends soon as well.
 */
export async function* whileItHolds(
  frames: AsyncGenerator<string, void>,
  holds: () => boolean | Promise<boolean>,
): AsyncGenerator<string, void> {
  let trustedUntil = 0;
  for await (const frame of frames) {
    if (performance.now() >= trustedUntil) {
      const answer = holds();
      if (!(await answer)) return;
      if (answer instanceof Promise) trustedUntil = performance.now() + TRUSTED_MS;
    }
    yield frame;
  }
}
