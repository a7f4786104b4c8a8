import { setTimeout as sleep } from "node:timers/promises";
import type { CallStanding, NumberedNews } from "@sallyport/engine";
import { timerMs } from "@sallyport/engine/host";
import { type CallStatus, defined, type InvocationEvents } from "@sallyport/protocol";
import { type Place, RECORD_EPOCH } from "./event-place.ts";
import { wholePercent } from "./invocation-views.ts";
import { iso } from "./iso-time.ts";
import { OutputText, type Piece } from "./output-text.ts";
import type { Feed, RouteContext } from "./parts.ts";

/** Tells the client to come back soon when the connection breaks, and makes proxies pass the answer on at once. */
const OPENING = "retry: 1000\n: sallyport\n\n";

/** Keeps the connection alive; clients pass it over. */
const HEARTBEAT = ": still here\n\n";

/** One event as it goes over the wire. An id is where a client that was cut off goes on from. */
function frame<Name extends keyof InvocationEvents>(
  event: Name,
  data: InvocationEvents[Name],
  id?: string,
): string {
  const named = id === undefined ? "" : `id: ${id}\n`;
  return `${named}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}

/** Makes frames of a call's news, for one reader. */
class NewsFrames {
  readonly #epoch: string;
  readonly #resultUrl: string;
  readonly #texts = { stdout: new OutputText(), stderr: new OutputText() };

  constructor({ epoch, resultUrl }: { epoch: string; resultUrl: string }) {
    this.#epoch = epoch;
    this.#resultUrl = resultUrl;
  }

  /** Takes in what the reader has had before, so that a character split there is put together. */
  recall(news: NumberedNews): void {
    if (news.kind === "output") this.#texts[news.stream].push(news.chunk);
  }

  of(news: NumberedNews): string[] {
    const id = `${this.#epoch}.${news.number}`;
    const at = iso(news.at);
    switch (news.kind) {
      case "state":
        return [frame("state", { state: news.state, at }, id)];
      case "progress": {
        const percent = wholePercent(news.percent);
        return [frame("progress", { percent, ...defined({ phase: news.phase }), at }, id)];
      }
      case "output":
        return output(news.stream, this.#texts[news.stream].push(news.chunk), { at, id });
      case "ended":
        return [
          ...this.flush(news.at),
          frame("ended", { status: news.status, at, result_url: this.#resultUrl }, id),
        ];
    }
  }

  /** What was held back of the output, when its rest will not come any more. */
  flush(at: number): string[] {
    return (["stdout", "stderr"] as const).flatMap((stream) =>
      output(stream, this.#texts[stream].flush(), { at: iso(at) }),
    );
  }
}

function output(
  stream: "stdout" | "stderr",
  piece: Piece | undefined,
  { at, id }: { at: string; id?: string },
): string[] {
  return piece ? [frame(stream, { ...piece, at }, id)] : [];
}

/** Items are fetched by so many, so that a slow reader holds no more than these. */
const BATCH = 32;

interface Following {
  feed: Feed;
  frames: NewsFrames;
  /** What the reader has had already. */
  after: number;
  timing: EventTiming;
  signal: AbortSignal;
  /** Asked while there is no news: false when the feed is not the call's any more. */
  isCurrent(): Promise<boolean>;
}

/**
 * The news of a call as frames, one at a time: nothing is fetched before the reader wants more. What was dropped
 * meanwhile is told as an event. Ends after the last news, when the signal says so, or when the feed is not the call's
 * any more.
 */
export async function* followFeed(following: Following): AsyncGenerator<string, void> {
  const { feed, frames, signal, timing } = following;
  let number = following.after;
  let quietMs = 0;
  recall(feed, frames, number);
  while (!signal.aborted) {
    for (const news of feed.after(number).slice(0, BATCH)) {
      yield* missed(news, number, frames);
      yield* frames.of(news);
      number = news.number;
      quietMs = 0;
    }
    if (feed.last > number) continue;
    if (feed.ended) return;
    await untilNews(following, number);
    if (feed.last > number || signal.aborted) continue;
    if (!(await following.isCurrent())) return;
    quietMs += timing.lookAgainMs;
    if (quietMs < timing.heartbeatMs) continue;
    quietMs = 0;
    yield HEARTBEAT;
  }
}

function recall(feed: Feed, frames: NewsFrames, upTo: number): void {
  if (upTo === 0) return;
  for (const news of feed.after(0)) if (news.number <= upTo) frames.recall(news);
}

function missed(news: NumberedNews, number: number, frames: NewsFrames): string[] {
  const count = news.number - number - 1;
  return count > 0 ? [...frames.flush(news.at), frame("omitted", { count })] : [];
}

async function untilNews({ feed, signal, timing }: Following, number: number): Promise<void> {
  const pause = new AbortController();
  const timer = setTimeout(() => pause.abort(), timerMs(timing.lookAgainMs));
  try {
    await feed.next(number, AbortSignal.any([signal, pause.signal]));
  } finally {
    clearTimeout(timer);
  }
}

export interface EventTiming {
  /** A comment is sent after so long without news. */
  heartbeatMs: number;
  /** How often a call is looked at of which there is no news. */
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
 *   feed of the process that has the call → its news → ended
 *   no feed, call open → its state, looked at again and again until there is a feed or an end
 *   no feed, call over → the states on record → ended
 */
export class CallEvents {
  readonly #watched: Watched;
  readonly #parts: RouteContext;
  #place: Place | undefined;
  #shown: string | undefined;
  #quietMs = 0;

  constructor(watched: Watched, parts: RouteContext) {
    this.#watched = watched;
    this.#parts = parts;
    this.#place = watched.place;
  }

  async *frames(): AsyncGenerator<string, void> {
    const { callId, signal } = this.#watched;
    yield OPENING;
    while (!signal.aborted) {
      const feed = await this.#parts.engine.watch(callId);
      const isOver: boolean = feed ? yield* this.#live(feed) : yield* this.#onRecord();
      if (isOver) return;
    }
  }

  async *#live(feed: Feed): AsyncGenerator<string, boolean> {
    const { engine } = this.#parts;
    const { epoch } = feed;
    const { callId, resultUrl, signal, timing } = this.#watched;
    const place = this.#place;
    const isIn = place !== undefined && place.epoch === epoch && place.number <= feed.last;
    if (place && !isIn) yield anew();
    yield* followFeed({
      feed,
      frames: new NewsFrames({ epoch, resultUrl }),
      after: isIn ? place.number : 0,
      timing,
      signal,
      isCurrent: async () => (await engine.watch(callId, feed)) === feed,
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
export async function isAtEnd(
  { engine }: RouteContext,
  { callId, standing, place }: { callId: string; standing: CallStanding; place: Place | undefined },
): Promise<boolean> {
  if (!place) return false;
  if (place.epoch === RECORD_EPOCH) return isOver(standing) && place.number === lengthOnRecord(standing);
  const feed = await engine.watch(callId);
  return feed?.ended === true && feed.epoch === place.epoch && feed.last === place.number;
}

function isOver(standing: CallStanding): boolean {
  return "answer" in standing || standing.status === "unknown";
}

/** How many events the record makes: its states, and the end. */
function lengthOnRecord(standing: CallStanding): number {
  return ("answer" in standing ? standing.answer.lifecycle.length : 0) + 1;
}
