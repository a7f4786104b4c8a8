import { type Readable, Transform } from "node:stream";

/** How much of the end of the error output is kept for a message. */
const KEPT_BYTES = 2048;

/** Counts what a process writes to stdout and stderr together; what is beyond the limit is not handed on. */
export class OutputMeter {
  readonly #limit: number;
  readonly #onExceeded: () => void;
  #bytes = 0;
  #lastError = Buffer.alloc(0);

  constructor(limit: number, onExceeded: () => void) {
    this.#limit = limit;
    this.#onExceeded = onExceeded;
  }

  get isExceeded(): boolean {
    return this.#bytes > this.#limit;
  }

  /** The end of the error output, for a sandbox that could not be made. */
  get lastError(): string {
    return this.#lastError.toString("utf8").trim();
  }

  /** The same stream, metered. */
  through(stream: Readable, kind: "stdout" | "stderr"): Readable {
    const metered = new Transform({
      transform: (chunk: Buffer, _encoding, done) => {
        if (kind === "stderr")
          this.#lastError = Buffer.concat([this.#lastError, chunk]).subarray(-KEPT_BYTES);
        done(null, this.#take(chunk));
      },
    });
    // The far end is gone: for whoever reads that is simply the end.
    stream.once("error", () => metered.end());
    return stream.pipe(metered);
  }

  #take(chunk: Buffer): Buffer {
    const room = Math.max(0, this.#limit - this.#bytes);
    const wasExceeded = this.isExceeded;
    this.#bytes += chunk.length;
    if (this.isExceeded && !wasExceeded) this.#onExceeded();
    return chunk.length <= room ? chunk : chunk.subarray(0, room);
  }
}
