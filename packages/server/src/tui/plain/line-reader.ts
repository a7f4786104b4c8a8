import { createInterface, type Interface } from "node:readline";
import type { Readable } from "node:stream";
import { setImmediate } from "node:timers/promises";

/** Reads lines as they are entered. After the end of the input there are none. */
export class LineReader {
  readonly #lines: Interface;
  readonly #queue: string[] = [];
  #waiting: ((line: string | undefined) => void) | undefined;
  #ended = false;

  constructor(input: Readable) {
    this.#lines = createInterface({ input, terminal: false });
    this.#lines.on("line", (line) => this.#came(line));
    this.#lines.on("close", () => {
      this.#ended = true;
      this.#waiting?.(undefined);
    });
  }

  /** The next line; undefined at the end of the input, or when the signal aborts. */
  async next(signal: AbortSignal): Promise<string | undefined> {
    const queued = this.#queue.shift();
    if (queued !== undefined) return queued;
    if (this.#ended || signal.aborted) return undefined;
    return await new Promise((resolve) => {
      const done = (line: string | undefined) => {
        this.#waiting = undefined;
        signal.removeEventListener("abort", aborted);
        resolve(line);
      };
      const aborted = () => done(undefined);
      signal.addEventListener("abort", aborted, { once: true });
      this.#waiting = done;
    });
  }

  /**
   * Forgets what was entered before: it cannot have been meant for a question that comes now. What waited unread while
   * the machine was busy was entered before too, so it may come in first.
   */
  async forget(): Promise<void> {
    for (let turn = 0; turn < 2; turn += 1) await setImmediate();
    this.#queue.length = 0;
  }

  close(): void {
    this.#lines.close();
  }

  #came(line: string): void {
    if (this.#waiting === undefined) this.#queue.push(line);
    else this.#waiting(line);
  }
}
