import type { CallStatus, LifecycleState } from "@sallyport/protocol";

/** Something that happens to a call while somebody may be watching. */
export type CallNews =
  | { kind: "state"; state: LifecycleState | "QUEUED" | "WAITING"; at: number }
  | { kind: "progress"; percent: number; phase?: string; at: number }
  | { kind: "output"; stream: "stdout" | "stderr"; chunk: Uint8Array; at: number }
  /** The answer is on record. Always the last. */
  | { kind: "ended"; status: CallStatus; at: number };

/** One item of news with its number, counted from 1. */
export type NumberedNews = CallNews & { number: number };

/** What is kept of a call's news, at most: the oldest output goes first, then the oldest progress; states stay. */
const MOST_ITEMS = 2_000;
const MOST_BYTES = 512 * 1024;
/** An item of output holds at most so much, so that each fits into a message to another process. */
const ITEM_BYTES = 4_096;

/**
 * The news of one call, for any number of readers who each remember how far they have read. A slow reader costs
 * nothing: what it has not fetched in time is gone, and the numbers show the gap. Nothing here is ever on disk.
 */
export class LiveFeed {
  #items: NumberedNews[] = [];
  #bytes = 0;
  #last = 0;
  readonly #waiting = new Set<() => void>();
  /** Names the process that counts the news: the numbers of another one are others. */
  readonly epoch: string;

  constructor(epoch = "") {
    this.epoch = epoch;
  }

  /** How far it has come. */
  get last(): number {
    return this.#last;
  }

  /** Of output that is kept. */
  get bytes(): number {
    return this.#bytes;
  }

  get ended(): boolean {
    return this.#items.at(-1)?.kind === "ended";
  }

  push(news: CallNews): void {
    if (news.kind !== "output") {
      this.take({ ...news, number: this.#last + 1 });
      return;
    }
    for (let from = 0; from < news.chunk.byteLength; from += ITEM_BYTES) {
      const chunk = news.chunk.subarray(from, from + ITEM_BYTES);
      this.take({ ...news, chunk, number: this.#last + 1 });
    }
  }

  /** News that has its number already; nothing that came before it is taken any more. */
  protected take(news: NumberedNews): void {
    if (this.ended || news.number <= this.#last) return;
    this.#last = news.number;
    this.#items.push(news);
    this.#bytes += sizeOf(news);
    while (this.#items.length > MOST_ITEMS || this.#bytes > MOST_BYTES) this.#drop();
    this.wake();
  }

  /** Whether somebody waits for news. */
  get isAwaited(): boolean {
    return this.#waiting.size > 0;
  }

  /** Lets readers look whether this is still the call's feed. */
  wake(): void {
    for (const wake of [...this.#waiting]) wake();
  }

  /** What is kept beyond that number, oldest first. */
  after(number: number): readonly NumberedNews[] {
    const first = this.#items.findIndex((item) => item.number > number);
    return first < 0 ? [] : this.#items.slice(first);
  }

  /** Resolves when there is news beyond that number, or the signal says stop. */
  async next(number: number, signal: AbortSignal): Promise<void> {
    if (this.#last > number || signal.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const wake = () => resolve();
    const stop = this.onNews(wake);
    signal.addEventListener("abort", wake, { once: true });
    await promise;
    stop();
    signal.removeEventListener("abort", wake);
  }

  /** Calls back after each news; returns how to stop that. */
  onNews(wake: () => void): () => void {
    this.#waiting.add(wake);
    return () => this.#waiting.delete(wake);
  }

  #drop(): void {
    const oldest = (kind: CallNews["kind"]) => this.#items.findIndex((item) => item.kind === kind);
    const [output, progress] = [oldest("output"), oldest("progress")];
    const [dropped] = this.#items.splice(Math.max(0, output < 0 ? progress : output), 1);
    if (dropped) this.#bytes -= sizeOf(dropped);
  }
}

function sizeOf(news: CallNews): number {
  return news.kind === "output" ? news.chunk.byteLength : 0;
}

/** How long the news of an ended call is kept at least, for readers whose connection broke. */
const KEEP_MS = 60_000;
/** Beyond so many ended calls, or so much kept output of theirs, the oldest are let go first. */
const MOST_ENDED = 10_000;
const MOST_ENDED_BYTES = 64 * 1024 * 1024;

/** The feeds of calls that somebody may watch. A call without one pays for a look at a map. */
export class LiveFeeds {
  readonly #feeds = new Map<string, LiveFeed>();
  /** When which call ended, in that order. */
  readonly #ended = new Map<string, number>();
  #endedBytes = 0;
  #timer: NodeJS.Timeout | undefined;
  readonly #epoch: string;

  /** `epoch` names this process. */
  constructor(epoch: string) {
    this.#epoch = epoch;
  }

  get(callId: string): LiveFeed | undefined {
    return this.#feeds.get(callId);
  }

  /** The call's feed, from here on. */
  open(callId: string): LiveFeed {
    const known = this.#feeds.get(callId);
    if (known) return known;
    const feed = new LiveFeed(this.#epoch);
    this.#feeds.set(callId, feed);
    return feed;
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

  /** The call goes on, or has ended, in another process. */
  drop(callId: string): void {
    const feed = this.#feeds.get(callId);
    if (!feed || feed.ended) return;
    this.#feeds.delete(callId);
    feed.wake();
  }

  #forget(before: number): void {
    for (const [callId, at] of this.#ended) {
      if (at >= before && this.#ended.size <= MOST_ENDED && this.#endedBytes <= MOST_ENDED_BYTES) break;
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
