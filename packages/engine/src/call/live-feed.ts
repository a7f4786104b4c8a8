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

/** What is kept of a call's news, at most; older output goes first. */
const MOST_ITEMS = 2_000;
const MOST_BYTES = 512 * 1024;

/**
 * The news of one call, for any number of readers who each remember how far they have read. A slow reader costs
 * nothing: what it has not fetched in time is gone, and the numbers show the gap. Nothing here is ever on disk.
 */
export class LiveFeed {
  #items: NumberedNews[] = [];
  #bytes = 0;
  #last = 0;
  readonly #waiting = new Set<() => void>();

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
    if (this.ended) return;
    this.#last += 1;
    this.#items.push({ ...news, number: this.#last });
    this.#bytes += sizeOf(news);
    while (this.#items.length > MOST_ITEMS || this.#bytes > MOST_BYTES) this.#drop();
    for (const wake of [...this.#waiting]) wake();
  }

  /** What is kept beyond that number, oldest first. */
  after(number: number): readonly NumberedNews[] {
    const first = this.#items[0]?.number ?? 0;
    return this.#items.slice(Math.max(0, number + 1 - first));
  }

  /** Resolves when there is news beyond that number, or the signal says stop. */
  async next(number: number, signal: AbortSignal): Promise<void> {
    if (this.#last > number || signal.aborted) return;
    await new Promise<void>((resolve) => {
      const wake = () => {
        this.#waiting.delete(wake);
        signal.removeEventListener("abort", wake);
        resolve();
      };
      this.#waiting.add(wake);
      signal.addEventListener("abort", wake, { once: true });
    });
  }

  #drop(): void {
    const dropped = this.#items.shift();
    if (dropped) this.#bytes -= sizeOf(dropped);
  }
}

function sizeOf(news: CallNews): number {
  return news.kind === "output" ? news.chunk.byteLength : 0;
}
