import { setTimeout as sleep } from "node:timers/promises";
import type { CallStanding } from "@sallyport/engine";
import type { CallStatus } from "@sallyport/protocol";
import { frame, HEARTBEAT, NewsFrames, OPENING } from "./event-frames.ts";
import { type Place, RECORD_EPOCH } from "./event-place.ts";
import { followFeed } from "./follow-feed.ts";
import { iso } from "./iso-time.ts";
import type { DoorParts, Feed } from "./parts.ts";

export interface EventTiming {
  /** A comment is sent after so long without news. */
  heartbeatMs: number;
  /** How often an open call is looked at that has no feed here. */
  lookAgainMs: number;
}

export interface Watched {
  callId: string;
  resultUrl: string;
  /** Where the client left off. */
  place: Place | undefined;
  timing: EventTiming;
  signal: AbortSignal;
}

/**
 * Everything that happens to a call from where the client left off, as frames, until it has ended.
 *
 *   feed in this process → its news → ended
 *   no feed, call open   → its state, looked at again and again until there is a feed or an end
 *   no feed, call over   → the states on record → ended
 */
export class CallEvents {
  readonly #watched: Watched;
  readonly #parts: DoorParts;
  #place: Place | undefined;
  #shown: string | undefined;
  #quietMs = 0;

  constructor(watched: Watched, parts: DoorParts) {
    this.#watched = watched;
    this.#parts = parts;
    this.#place = watched.place;
  }

  async *frames(): AsyncGenerator<string, void> {
    const { callId, signal } = this.#watched;
    yield OPENING;
    while (!signal.aborted) {
      const feed = this.#parts.engine.watch(callId);
      const isOver: boolean = feed ? yield* this.#live(feed) : yield* this.#onRecord();
      if (isOver) return;
    }
  }

  async *#live(feed: Feed): AsyncGenerator<string, boolean> {
    const { engine, epoch } = this.#parts;
    const { callId, resultUrl, signal, timing } = this.#watched;
    const place = this.#place;
    const isIn = place !== undefined && place.epoch === epoch && place.number <= feed.last;
    if (place && !isIn) yield anew();
    yield* followFeed({
      feed,
      frames: new NewsFrames({ epoch, resultUrl }),
      after: isIn ? place.number : 0,
      heartbeatMs: timing.heartbeatMs,
      signal,
      isCurrent: () => engine.watch(callId) === feed,
    });
    // Should the call get another feed, its numbers are others.
    this.#place = NOWHERE;
    return feed.ended;
  }

  async *#onRecord(): AsyncGenerator<string, boolean> {
    const standing = await this.#parts.engine.standing(this.#watched.callId);
    if (!standing) return true;
    if ("answer" in standing || standing.status === "unknown") {
      yield* this.#past(standing);
      return true;
    }
    yield* this.#present(standing.status);
    const { lookAgainMs } = this.#watched.timing;
    await sleep(lookAgainMs, undefined, { signal: this.#watched.signal }).catch(() => undefined);
    this.#quietMs += lookAgainMs;
    return false;
  }

  *#past(standing: CallStanding): Generator<string> {
    const place = this.#place;
    const all = pastFrames(standing, { resultUrl: this.#watched.resultUrl, now: this.#parts.clock.now() });
    const isIn = place?.epoch === RECORD_EPOCH && place.number <= all.length;
    if (place && !isIn) yield anew();
    yield* isIn ? all.slice(place.number) : all;
  }

  *#present(status: CallStatus): Generator<string> {
    const state = STATES[status];
    const isNews = state !== undefined && state !== this.#shown;
    if (!isNews && this.#quietMs < this.#watched.timing.heartbeatMs) return;
    this.#quietMs = 0;
    this.#shown = state;
    yield isNews ? frame("state", { state, at: iso(this.#parts.clock.now()) }) : HEARTBEAT;
  }
}

/** A place that no feed and no record has. */
const NOWHERE: Place = { epoch: "", number: 0 };

const STATES: Partial<Record<CallStatus, "QUEUED" | "WAITING">> = {
  pending: "QUEUED",
  pending_approval: "WAITING",
};

function anew(): string {
  return frame("reset", { reason: "Where you left off is not known here any more; this starts anew." });
}

/** What the record says of a call that is over; of one whose outcome nobody knows, only that. */
function pastFrames(
  standing: CallStanding,
  { resultUrl, now }: { resultUrl: string; now: number },
): string[] {
  const answer = "answer" in standing ? standing.answer : undefined;
  const states = answer?.lifecycle ?? [];
  const ended = {
    status: answer?.status ?? "error",
    at: iso(answer?.completedAt ?? now),
    result_url: resultUrl,
  };
  const id = (number: number) => `${RECORD_EPOCH}.${number}`;
  return [
    ...states.map(({ state, at }, index) => frame("state", { state, at: iso(at) }, id(index + 1))),
    frame("ended", ended, id(states.length + 1)),
  ];
}

/** Whether a client has read everything there will ever be. */
export function isAtEnd(
  { engine, epoch }: DoorParts,
  { callId, standing, place }: { callId: string; standing: CallStanding; place: Place | undefined },
): boolean {
  if (place?.epoch === RECORD_EPOCH) return isOver(standing) && place.number === lengthOnRecord(standing);
  if (place?.epoch !== epoch) return false;
  const feed = engine.watch(callId);
  return feed?.ended === true && feed.last === place.number;
}

function isOver(standing: CallStanding): boolean {
  return "answer" in standing || standing.status === "unknown";
}

/** How many events the record makes: its states, and the end. */
function lengthOnRecord(standing: CallStanding): number {
  return ("answer" in standing ? standing.answer.lifecycle.length : 0) + 1;
}
