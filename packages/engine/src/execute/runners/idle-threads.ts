import type { ToolThread } from "./tool-thread.ts";

/**
 * Threads kept warm. Each has one timer for life, restarted whenever it comes back, so that a busy thread costs
 * no timers; a timer that fires while its thread is out does nothing. No timer keeps the process alive.
 */
export class IdleThreads {
  /** The one that has been here longest comes first. */
  readonly #threads: ToolThread[] = [];
  readonly #timers = new Map<ToolThread, NodeJS.Timeout>();
  readonly #idleMs: number;
  readonly #onTooLong: (thread: ToolThread) => void;

  constructor(idleMs: number, onTooLong: (thread: ToolThread) => void) {
    this.#idleMs = idleMs;
    this.#onTooLong = onTooLong;
  }

  get size(): number {
    return this.#threads.length;
  }

  add(thread: ToolThread): void {
    this.#threads.push(thread);
    const timer = this.#timers.get(thread);
    if (timer) timer.refresh();
    else this.#timers.set(thread, setTimeout(() => this.#expire(thread), this.#idleMs).unref());
  }

  /** The thread of that key that was used last, if one is here and in service. */
  take(key: string): ToolThread | undefined {
    const thread = this.#threads.findLast((candidate) => candidate.key === key && candidate.inService);
    if (thread) this.#remove(thread);
    return thread;
  }

  takeOldest(): ToolThread | undefined {
    return this.#threads.shift();
  }

  /** The thread is never coming back. */
  forget(thread: ToolThread): void {
    this.#remove(thread);
    clearTimeout(this.#timers.get(thread));
    this.#timers.delete(thread);
  }

  #expire(thread: ToolThread): void {
    if (this.#remove(thread)) this.#onTooLong(thread);
  }

  #remove(thread: ToolThread): boolean {
    const index = this.#threads.indexOf(thread);
    if (index >= 0) this.#threads.splice(index, 1);
    return index >= 0;
  }
}
