import { Readable } from "node:stream";

/** Little enough that frames are made only as fast as the client takes them. */
const BUFFERED_BYTES = 16 * 1024;

/**
 * Frames as a stream: the next one is made when the reader wants it. Destroying the stream ends the making of frames at
 * once, also while it waits for news.
 */
export class EventStream extends Readable {
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
