import type { JsonValue } from "@sallyport/protocol";
import type { Job, RunFault, RunResult, RunUsage } from "../../ports/runner.ts";
import { timerMs } from "../../timeouts.ts";

/** How a call went, before its usage is added. */
export type Outcome = { ok: true; output: JsonValue; text?: string } | { ok: false; fault: RunFault };

/** Why a tool's signal is aborted. */
export type StopReason = "timeout" | "cancelled";

export const NO_USAGE: RunUsage = Object.freeze({ cpuMs: 0, memoryPeakBytes: 0 });

/** The result of a call that never ran. */
export function refused(fault: RunFault): RunResult {
  return { ok: false, fault, usage: NO_USAGE };
}

/**
 * The first outcome of a call; later ones are ignored. It comes from whoever watches the tool, from the deadline, or from
 * a cancel. A cancelled tool may have a grace period, never past the deadline, and whatever comes in it means cancelled.
 */
export class OutcomeLatch {
  /** Called once, with the outcome. No timer and no listener is left then. */
  onOutcome: ((outcome: Outcome) => void) | undefined;
  /** Called at a cancel: tells the tool, and gives the milliseconds that it has left. Left out: none. */
  onCancel: (() => number) | undefined;
  /** Called when the time is over, before it counts: an outcome that has arrived by then still stands. */
  onLate: ((reason: StopReason) => void) | undefined;
  readonly #job: Pick<Job, "signal" | "timeoutMs">;
  #deadlineAt = Number.POSITIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;
  #outcome: Outcome | undefined;
  #cancelling = false;

  constructor(job: Pick<Job, "signal" | "timeoutMs">) {
    this.#job = job;
  }

  get outcome(): Outcome | undefined {
    return this.#outcome;
  }

  /** The time until the deadline. */
  get leftMs(): number {
    return this.#deadlineAt - performance.now();
  }

  /** From here on the deadline and a cancel count. */
  start(): void {
    this.#job.signal.addEventListener("abort", this.#onAbort);
    this.restart();
    if (this.#job.signal.aborted) this.cancel();
  }

  /** The whole time is left again. */
  restart(): void {
    this.#deadlineAt = performance.now() + this.#job.timeoutMs;
    if (this.#cancelling) return;
    if (this.#timer) this.#timer.refresh();
    else this.#expireAfter(this.#job.timeoutMs, "timeout");
  }

  settle(outcome: Outcome): void {
    if (this.#outcome !== undefined) return;
    this.#outcome = this.#cancelling ? { ok: false, fault: { kind: "cancelled" } } : outcome;
    this.release();
    this.onOutcome?.(this.#outcome);
  }

  fail(fault: RunFault): void {
    this.settle({ ok: false, fault });
  }

  /** At once, without any grace. */
  cancel(): void {
    if (this.#outcome !== undefined) return;
    this.onCancel?.();
    this.fail({ kind: "cancelled" });
  }

  /** Stops watching. */
  release(): void {
    clearTimeout(this.#timer);
    this.#job.signal.removeEventListener("abort", this.#onAbort);
  }

  readonly #onAbort = (): void => {
    if (this.#cancelling || this.#outcome !== undefined) return;
    const graceMs = Math.min(this.onCancel?.() ?? 0, this.leftMs);
    this.#cancelling = true;
    if (graceMs <= 0) this.fail({ kind: "cancelled" });
    else this.#expireAfter(graceMs, "cancelled");
  };

  #expireAfter(delayMs: number, kind: StopReason): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.onLate?.(kind);
      this.fail({ kind });
    }, timerMs(delayMs));
  }
}

/**
 * A tool's abort signal, made only when the tool looks at it. It is the same object each time, and one first looked at
 * after the abort is born aborted.
 */
export class CallSignal {
  #controller: AbortController | undefined;
  #reason: StopReason | undefined;

  get reason(): StopReason | undefined {
    return this.#reason;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#reason !== undefined) this.#controller.abort(errorFor(this.#reason));
    }
    return this.#controller.signal;
  }

  /** The first reason stays. */
  abort(reason: StopReason): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    this.#controller?.abort(errorFor(reason));
  }
}

function errorFor(reason: StopReason): DOMException {
  return reason === "timeout"
    ? new DOMException("the call's deadline has passed", "TimeoutError")
    : new DOMException("the call was cancelled", "AbortError");
}
