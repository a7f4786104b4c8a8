import { timerMs } from "@sallyport/engine/host";

/** What a promise lost against the end of patience. */
export const OVER = Symbol("over");

/** One time limit over everything a delivery does, which others can cut short. */
export class Patience {
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
  async orOver<Value>(promise: Promise<Value>): Promise<Value | typeof OVER> {
    if (this.isOver) return OVER;
    let forget = () => {};
    const over = new Promise<typeof OVER>((done) => {
      forget = this.onOver(() => done(OVER));
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
