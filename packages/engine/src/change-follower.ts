import type { Changes } from "./ports/changes.ts";
import { timerMs } from "./timeouts.ts";

/**
 * Takes over what changes in a part of the store, by cursor. One read at a time, so that the cursor never goes back; a
 * hint that comes during a read is followed by another read, because the first may have begun too early.
 */
export class ChangeFollower<Changed> {
  readonly #read: (cursor?: string) => Promise<Changes<Changed>>;
  readonly #take: (changed: Changed[]) => void;
  #cursor: string | undefined;
  #current: Promise<void> | undefined;
  #next: Promise<void> | undefined;

  /** `take` may be told a change twice, and an older one after a newer one. */
  constructor(read: (cursor?: string) => Promise<Changes<Changed>>, take: (changed: Changed[]) => void) {
    this.#read = read;
    this.#take = take;
  }

  /** Resolves once everything that was committed before this call is taken over. Rejects when it cannot be read. */
  catchUp(): Promise<void> {
    if (!this.#current) {
      this.#current = this.#once().finally(() => {
        this.#current = undefined;
      });
      return this.#current;
    }
    this.#next ??= this.#current
      .catch(() => undefined)
      .then(() => {
        this.#next = undefined;
        return this.catchUp();
      });
    return this.#next;
  }

  async #once(): Promise<void> {
    const { changed, cursor } = await this.#read(this.#cursor);
    this.#take(changed);
    this.#cursor = cursor;
  }
}

/** Looks every so often, for what no hint told; never, when the time is infinite. Returns how to stop. */
export function everySoOften(followMs: number, look: () => void): () => void {
  if (!Number.isFinite(followMs)) return () => undefined;
  const timer = setInterval(look, timerMs(followMs)).unref();
  return () => clearInterval(timer);
}
