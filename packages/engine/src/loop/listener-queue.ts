import type { LoopEvent } from "./loop-events.ts";

export type Listener = (event: LoopEvent) => void | Promise<void>;

/** A joined chunk grows no longer than this, so that a queue is bounded in bytes too (NFR-PERF-04). */
export const LONGEST_JOINED_CHARS = 64 * 1024;

/**
 * What waits for one listener, which is told one thing at a time, in order. While it is busy, text that follows text
 * of the same kind and call is joined to it. The listener is told within `put` when it is not busy.
 */
export class ListenerQueue {
  readonly #listener: Listener;
  readonly #capacity: number;
  readonly #broke: (error: unknown) => void;
  #waiting: LoopEvent[] = [];
  #isBusy = false;
  #isClosed = false;
  #room: (() => void)[] = [];
  #idle: (() => void)[] = [];

  constructor(listener: Listener, options: { capacity: number; broke(error: unknown): void }) {
    this.#listener = listener;
    this.#capacity = Math.max(1, options.capacity);
    this.#broke = options.broke;
  }

  /**
   * Takes the event in any case. A promise means that there is no room for more until it resolves: whoever waits for
   * it keeps the queue within its capacity.
   */
  put(event: LoopEvent): void | Promise<void> {
    if (this.#isClosed) return;
    if (!this.#join(event)) this.#waiting.push(event);
    if (!this.#isBusy) void this.#work();
    if (this.#waiting.length >= this.#capacity) return new Promise((resolve) => this.#room.push(resolve));
  }

  /** Resolves once nothing waits and the listener is done. */
  settled(): void | Promise<void> {
    if (this.#isBusy) return new Promise((resolve) => this.#idle.push(resolve));
  }

  /** Nobody listens any more; whoever waited goes on. */
  close(): void {
    this.#isClosed = true;
    this.#waiting = [];
    release(this.#room);
    release(this.#idle);
  }

  #join(event: LoopEvent): boolean {
    const last = this.#waiting.at(-1);
    const joined = last && joinedText(last, event);
    if (joined) this.#waiting[this.#waiting.length - 1] = joined;
    return joined !== undefined;
  }

  async #work(): Promise<void> {
    this.#isBusy = true;
    try {
      for (let event = this.#waiting.shift(); event && !this.#isClosed; event = this.#waiting.shift()) {
        if (this.#waiting.length < this.#capacity) release(this.#room);
        const busy = this.#listener(event);
        if (busy) await busy;
      }
    } catch (error) {
      this.close();
      this.#broke(error);
    }
    this.#isBusy = false;
    release(this.#idle);
  }
}

/** Both as one event; undefined where they are not pieces of the same text, or would become too long. */
export function joinedText(last: LoopEvent, next: LoopEvent): LoopEvent | undefined {
  if (last.kind === "text" || last.kind === "reasoning") {
    if (next.kind !== last.kind || isTooLong(last.delta, next.delta)) return undefined;
    return { kind: last.kind, delta: last.delta + next.delta };
  }
  if (last.kind !== "stdout" && last.kind !== "stderr") return undefined;
  if (next.kind !== last.kind || next.index !== last.index || next.id !== last.id) return undefined;
  return isTooLong(last.chunk, next.chunk) ? undefined : { ...last, chunk: last.chunk + next.chunk };
}

function isTooLong(one: string, two: string): boolean {
  return one.length + two.length > LONGEST_JOINED_CHARS;
}

function release(waiters: (() => void)[]): void {
  for (const resolve of waiters.splice(0)) resolve();
}
