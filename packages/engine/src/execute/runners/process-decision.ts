import type { JsonValue } from "@sallyport/protocol";
import type { Job, RunFault } from "../../ports/runner.ts";
import { monotonicMs } from "./thread-frames.ts";

const LONGEST_TIMER_MS = 2_147_483_647;

/** What a call came to, before its usage is added. */
export type Verdict = { ok: true; output: JsonValue } | { ok: false; fault: RunFault };

const CANCELLED: Verdict = { ok: false, fault: { kind: "cancelled" } };

/**
 * The first word about a call that runs in a process; later ones do not count. It comes from whoever watches the
 * process, from the deadline, or from a cancel: that one may leave the tool a grace, and whatever is said in it means
 * cancelled. A process whose call is decided has nothing more to do and is ended.
 */
export class Decision {
  /** How long the result waits, once decided, for the process to end or the sandbox to be made (FR-EXE-05). */
  readonly patienceMs: number;
  /** On the monotonic clock. */
  readonly deadlineAt: number;
  readonly #made = Promise.withResolvers<void>();
  readonly #signal: AbortSignal;
  #timer: NodeJS.Timeout;
  #grace: (() => number) | undefined;
  #verdict: Verdict | undefined;
  #cancelling = false;

  constructor({ signal, timeoutMs }: Pick<Job, "signal" | "timeoutMs">, patienceMs: number) {
    this.patienceMs = patienceMs;
    this.#signal = signal;
    this.deadlineAt = monotonicMs() + timeoutMs;
    this.#timer = this.#after(timeoutMs, { ok: false, fault: { kind: "timeout" } });
    signal.addEventListener("abort", this.#onAbort);
    if (signal.aborted) this.cancel();
  }

  get verdict(): Verdict | undefined {
    return this.#verdict;
  }

  /** Resolves when there is a verdict; perhaps never. */
  get made(): Promise<void> {
    return this.#made.promise;
  }

  /** Asked at a cancel: tells the tool, and how many milliseconds it has left. */
  set grace(ask: (() => number) | undefined) {
    this.#grace = ask;
  }

  decide(verdict: Verdict): void {
    if (this.#verdict !== undefined) return;
    this.#verdict = this.#cancelling ? CANCELLED : verdict;
    this.release();
    this.#made.resolve();
  }

  /** At once, without any grace. */
  cancel(): void {
    this.decide(CANCELLED);
  }

  /** No timer and no listener is left. */
  release(): void {
    clearTimeout(this.#timer);
    this.#signal.removeEventListener("abort", this.#onAbort);
  }

  readonly #onAbort = (): void => {
    const graceMs = this.#grace?.() ?? 0;
    this.#cancelling = true;
    clearTimeout(this.#timer);
    if (graceMs <= 0) this.cancel();
    else this.#timer = this.#after(graceMs, CANCELLED);
  };

  #after(delayMs: number, verdict: Verdict): NodeJS.Timeout {
    return setTimeout(() => this.decide(verdict), Math.min(delayMs, LONGEST_TIMER_MS));
  }
}
