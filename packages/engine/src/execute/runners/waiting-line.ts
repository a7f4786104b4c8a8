import type { Job, RunResult } from "../../ports/runner.ts";
import type { ThreadSpec } from "./thread-spec.ts";

const LONGEST_TIMER_MS = 2_147_483_647;
const NO_USAGE = Object.freeze({ cpuMs: 0, memoryPeakBytes: 0 });

/** A job that has no thread yet. */
export interface Waiter {
  job: Job;
  spec: ThreadSpec;
  /** When it came, on the `performance.now()` clock. */
  since: number;
  settle: (result: RunResult) => void;
}

/**
 * Jobs in the order they came. A waiter leaves by its turn, by its own cancel, or when it has waited as long as
 * it may run; in the last two cases it gets its fault here.
 */
export class WaitingLine {
  readonly #waiters = new Map<Waiter, () => void>();

  get size(): number {
    return this.#waiters.size;
  }

  get head(): Waiter | undefined {
    return this.#waiters.keys().next().value;
  }

  join(waiter: Waiter): void {
    const cancel = () => this.#refuse(waiter, "cancelled");
    const { signal, timeoutMs } = waiter.job;
    const timer = setTimeout(() => this.#refuse(waiter, "timeout"), Math.min(timeoutMs, LONGEST_TIMER_MS));
    signal.addEventListener("abort", cancel);
    this.#waiters.set(waiter, () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", cancel);
    });
  }

  /** Takes a waiter out without an answer: its turn has come. */
  leave(waiter: Waiter): void {
    this.#waiters.get(waiter)?.();
    this.#waiters.delete(waiter);
  }

  /** Everybody goes home. */
  close(): void {
    for (const waiter of [...this.#waiters.keys()]) this.#refuse(waiter, "cancelled");
  }

  #refuse(waiter: Waiter, kind: "timeout" | "cancelled"): void {
    this.leave(waiter);
    waiter.settle({ ok: false, fault: { kind }, usage: NO_USAGE });
  }
}
