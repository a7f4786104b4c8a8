import type { ServerResponse } from "node:http";

/** What clients may leave unread, all together. */
const MOST_BYTES = 128 * 1024 * 1024;

/**
 * Answers that are not sent yet because their client does not read. Beyond a bound those that have waited longest are
 * cut off, so that clients who do not read cannot fill the memory of the server.
 */
export class UnsentBytes {
  readonly #most: number;
  /** Oldest first. */
  readonly #waiting = new Map<ServerResponse, number>();
  #bytes = 0;

  constructor(most: number = MOST_BYTES) {
    this.#most = most;
  }

  get bytes(): number {
    return this.#bytes;
  }

  add(response: ServerResponse): void {
    const bytes = response.writableLength;
    this.#waiting.set(response, bytes);
    this.#bytes += bytes;
    response.once("close", () => this.#forget(response));
    for (const [oldest] of this.#waiting) {
      if (this.#bytes <= this.#most) return;
      this.#forget(oldest);
      oldest.destroy();
    }
  }

  #forget(response: ServerResponse): void {
    this.#bytes -= this.#waiting.get(response) ?? 0;
    this.#waiting.delete(response);
  }
}
