import type { Job, RunFault, RunResult } from "../../ports/runner.ts";
import { Decision } from "./process-decision.ts";
import { liveThrough, NO_USAGE, type Started } from "./process-life.ts";

/** The kernel ends a process in milliseconds; one that is still there after this long is stuck. */
const LONGEST_END_MS = 5_000;

/** The calls of a runner that are under way, so that closing it leaves none behind. */
export class ConfinedCalls {
  readonly #running = new Map<Decision, Promise<RunResult>>();
  readonly #patienceMs: number;
  #closed = false;

  constructor(patienceMs: number = LONGEST_END_MS) {
    this.#patienceMs = patienceMs;
  }

  /** Never rejects. After `close` every call is cancelled at once. */
  async run(job: Job, start: (decision: Decision) => Promise<Started>): Promise<RunResult> {
    if (this.#closed || job.signal.aborted) return refusal({ kind: "cancelled" });
    const decision = new Decision(job, this.#patienceMs);
    const running = liveThrough(job, decision, start(decision));
    this.#running.set(decision, running);
    const result = await running;
    this.#running.delete(decision);
    return result;
  }

  /** Cancels what runs, and waits until it is gone. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const decision of this.#running.keys()) decision.cancel();
    await Promise.all(this.#running.values());
  }
}

/** The result of a call that never ran. */
export function refusal(fault: RunFault): Promise<RunResult> {
  return Promise.resolve({ ok: false, fault, usage: NO_USAGE });
}
