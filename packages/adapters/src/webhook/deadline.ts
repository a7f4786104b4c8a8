import { timerMs } from "@sallyport/engine/host";

/** Answer of `orOver` when the deadline came first. */
export const TIMED_OUT = Symbol("timed out");

/** One time limit over everything a delivery does, which others can cut short. */
export class Deadline {
  readonly #over = new AbortController();
  readonly #signals: AbortSignal[];
  readonly #timer: NodeJS.Timeout;
  readonly #cut = () => this.#end("it was stopped");
  /** Why it is over. */
  why = "";

  constructor(ms: number, signals: readonly (AbortSignal | undefined)[]) {
    this.#signals = signals.filter((signal) => signal !== undefined);
    this.#timer = setTimeout(() => this.#end(`there was no answer within ${ms} ms`), timerMs(ms));
    for (const signal of this.#signals) {
      signal.addEventListener("abort", this.#cut);
      if (signal.aborted) this.#cut();
    }
  }

  get isOver(): boolean {
    return this.#over.signal.aborted;
  }

  /** Calls back once, when it is over; gives how to take that back. */
  onOver(callback: () => void): () => void {
    const { signal } = this.#over;
    signal.addEventListener("abort", callback, { once: true });
    return () => signal.removeEventListener("abort", callback);
  }

  /** What comes first; the promise goes on by itself when it loses. */
  async orOver<Value>(promise: Promise<Value>): Promise<Value | typeof TIMED_OUT> {
    if (this.isOver) return TIMED_OUT;
    let forget = () => {};
    const over = new Promise<typeof TIMED_OUT>((done) => {
      forget = this.onOver(() => done(TIMED_OUT));
    });
    try {
      return await Promise.race([promise, over]);
    } finally {
      forget();
    }
  }

  /** Lets go of the timer and the signals. */
  end(): void {
    clearTimeout(this.#timer);
    for (const signal of this.#signals) signal.removeEventListener("abort", this.#cut);
  }

  #end(why: string): void {
    if (!this.isOver) this.why = why;
    this.#over.abort();
  }
}
