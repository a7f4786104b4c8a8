import type { CallStatus } from "@sallyport/protocol";
import { type CallNews, LiveFeed } from "./live-feed.ts";

/** How long the news of an ended call is kept at least, for readers whose connection broke. */
const KEEP_MS = 60_000;
/** Beyond so many ended calls, or so much kept output of theirs, the oldest are let go first. */
const MOST_ENDED = 10_000;
const MOST_BYTES = 64 * 1024 * 1024;

/** The feeds of calls that somebody may watch. A call without one pays for a look at a map. */
export class LiveFeeds {
  readonly #feeds = new Map<string, LiveFeed>();
  /** When which call ended, in that order. */
  readonly #ended = new Map<string, number>();
  #endedBytes = 0;
  #timer: NodeJS.Timeout | undefined;

  get(callId: string): LiveFeed | undefined {
    return this.#feeds.get(callId);
  }

  /** The call's feed, from here on. */
  open(callId: string): LiveFeed {
    const known = this.#feeds.get(callId);
    if (known) return known;
    const feed = new LiveFeed();
    this.#feeds.set(callId, feed);
    return feed;
  }

  tell(callId: string, news: CallNews): void {
    this.#feeds.get(callId)?.push(news);
  }

  /** The last news of a call; its feed is kept a little longer. */
  ended(callId: string, { status, at }: { status: CallStatus; at: number }): void {
    const feed = this.#feeds.get(callId);
    if (!feed || feed.ended) return;
    feed.push({ kind: "ended", status, at });
    this.#ended.set(callId, at);
    this.#endedBytes += feed.bytes;
    this.#forget(at - KEEP_MS);
  }

  #forget(before: number): void {
    for (const [callId, at] of this.#ended) {
      if (at >= before && this.#ended.size <= MOST_ENDED && this.#endedBytes <= MOST_BYTES) break;
      this.#endedBytes -= this.#feeds.get(callId)?.bytes ?? 0;
      this.#ended.delete(callId);
      this.#feeds.delete(callId);
    }
    this.#schedule();
  }

  /** What ended last is let go too, though nothing ends after it. */
  #schedule(): void {
    if (this.#timer || this.#ended.size === 0) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      const [oldest] = this.#ended.values();
      this.#forget(oldest === undefined ? 0 : oldest + 1);
    }, KEEP_MS).unref();
  }
}
