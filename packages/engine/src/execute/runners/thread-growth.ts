import { availableParallelism } from "node:os";
import type { ToolThread } from "./tool-thread.ts";
import type { Waiter } from "./waiting-line.ts";

/** Loading takes processor time; a thread that still has not loaded after this long holds nobody up. */
const LONGEST_START_MS = 250;
/** While another thread of the same kind is at work, a job waits this long for it before it gets its own. */
export const GROW_AFTER_MS = 50;

/**
 * Decides when one more thread helps. Short calls are served fastest by few threads (2 processors, 64 callers:
 * 14,000 calls a second with 2 to 4 threads, 1,200 with 32), calls that wait or never end need one each. So a
 * tool's first thread starts at once, another one only for a job that has waited, and no more at the same time
 * than there are processors to load them.
 */
export class ThreadGrowth {
  readonly #starting = new Map<ToolThread, NodeJS.Timeout>();
  readonly #mostStarting = availableParallelism();
  readonly #onRoom: () => void;

  constructor(onRoom: () => void) {
    this.#onRoom = onRoom;
  }

  allows(waiter: Waiter, threads: Iterable<ToolThread>): boolean {
    if (this.#starting.size >= this.#mostStarting) return false;
    if (performance.now() - waiter.since >= GROW_AFTER_MS) return true;
    for (const thread of threads) if (thread.key === waiter.spec.key && thread.inService) return false;
    return true;
  }

  started(thread: ToolThread): void {
    const timer = setTimeout(() => this.settled(thread), LONGEST_START_MS);
    this.#starting.set(thread, timer.unref());
  }

  /** It has loaded, ended, or taken too long: others may start. */
  settled(thread: ToolThread): void {
    const timer = this.#starting.get(thread);
    if (timer === undefined) return;
    clearTimeout(timer);
    this.#starting.delete(thread);
    this.#onRoom();
  }
}
