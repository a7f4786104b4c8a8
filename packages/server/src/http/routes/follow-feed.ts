import type { NumberedNews } from "@sallyport/engine";
import { frame, HEARTBEAT, type NewsFrames } from "./event-frames.ts";
import type { Feed } from "./parts.ts";

/** Items are fetched by so many, so that a slow reader holds no more than these. */
const BATCH = 32;

interface Following {
  feed: Feed;
  frames: NewsFrames;
  /** What the reader has had already. */
  after: number;
  heartbeatMs: number;
  signal: AbortSignal;
  /** Asked at each heartbeat: false when the feed is not the call's any more. */
  isCurrent(): boolean;
}

/**
 * The news of a call as frames, one at a time: nothing is fetched before the reader wants more. What was dropped
 * meanwhile is told as an event. Ends after the last news, when the signal says so, or when the feed is not the call's
 * any more.
 */
export async function* followFeed(following: Following): AsyncGenerator<string, void> {
  const { feed, frames, signal } = following;
  let number = following.after;
  recall(feed, frames, number);
  while (!signal.aborted) {
    for (const news of feed.after(number).slice(0, BATCH)) {
      yield* missed(news, number, frames);
      yield* frames.of(news);
      number = news.number;
    }
    if (feed.last > number) continue;
    if (feed.ended) return;
    await untilNews(following, number);
    if (feed.last > number || signal.aborted) continue;
    if (!following.isCurrent()) return;
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

async function untilNews({ feed, signal, heartbeatMs }: Following, number: number): Promise<void> {
  const pause = new AbortController();
  const timer = setTimeout(() => pause.abort(), heartbeatMs);
  try {
    await feed.next(number, AbortSignal.any([signal, pause.signal]));
  } finally {
    clearTimeout(timer);
  }
}
