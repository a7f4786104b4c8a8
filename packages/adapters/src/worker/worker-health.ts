import type { WorkerHealth } from "@sallyport/protocol";

/*
 * What is known of one worker, from calls that reached it and from probes:
 *
 *   unknown      – nothing has come from it yet.
 *   up           – it answers, and nothing has failed for a while.
 *   degraded     – it answers, but something has failed within that while: a reset, a status that is no 200, an answer
 *                  that came late or broke the envelope. What a worker reports in the envelope is no failure of its own.
 *   rate_limited – it has answered 429, and neither was the time it asked for over nor has it answered well since.
 *   down         – no connection could be made, or a probe failed. Calls fail at once; every now and then one is let
 *                  through to try. Anything that comes from the worker ends this state, and whoever answers well after
 *                  it is up at once: what failed while it was down is not held against it.
 *
 * Which state it is follows from a few moments; no timer runs, and nothing has to be released.
 */

/** What a call or a probe has shown. */
export type Sign =
  | { kind: "good" }
  | { kind: "bad"; why: string }
  | { kind: "limited"; forMs: number | undefined }
  | { kind: "unreached"; why: string };

export interface HealthRules {
  /** How long a failure is held against a worker that answers. */
  memoryMs: number;
  /** While a worker is down, one call in so much time is let through. */
  retryMs: number;
  now: () => number;
}

/** How a worker stands, for people and for metrics. */
export interface WorkerReport {
  baseUrl: string;
  state: WorkerHealth;
  /** What failed last, while that counts. */
  why?: string;
  /** When something was last heard of it, in milliseconds since 1970. */
  at?: number;
}

/** In force for a 429 that names no time. */
const DEFAULT_LIMITED_MS = 5_000;
const LONGEST_LIMITED_MS = 60_000;

export class WorkerRecord {
  readonly #rules: HealthRules;
  #at: number | undefined;
  #failedAt = Number.NEGATIVE_INFINITY;
  #limitedUntil = Number.NEGATIVE_INFINITY;
  /** Set while it is down: when the next call may try. */
  #nextTryAt: number | undefined;
  #why = "";

  constructor(rules: HealthRules) {
    this.#rules = rules;
  }

  note(sign: Sign): void {
    const now = this.#rules.now();
    this.#at = now;
    if (sign.kind === "unreached") {
      this.#nextTryAt = now + this.#rules.retryMs;
      this.#why = sign.why;
      return;
    }
    if (this.#nextTryAt !== undefined) this.#failedAt = Number.NEGATIVE_INFINITY;
    this.#nextTryAt = undefined;
    if (sign.kind === "good") this.#limitedUntil = Number.NEGATIVE_INFINITY;
    else if (sign.kind === "limited") this.#limitedUntil = now + limitedMs(sign.forMs);
    else {
      this.#failedAt = now;
      this.#why = sign.why;
    }
  }

  /** How long a call should wait before it tries; 0: it may go. While the worker is down, asking takes the one try. */
  claimTry(): number {
    const now = this.#rules.now();
    if (this.#nextTryAt === undefined) return 0;
    if (now < this.#nextTryAt) return this.#nextTryAt - now;
    this.#nextTryAt = now + this.#rules.retryMs;
    return 0;
  }

  report(baseUrl: string): WorkerReport {
    const state = this.#state();
    const hasFailed = state === "down" || state === "degraded";
    return {
      baseUrl,
      state,
      ...(hasFailed && { why: this.#why }),
      ...(this.#at !== undefined && { at: this.#at }),
    };
  }

  #state(): WorkerHealth {
    const now = this.#rules.now();
    if (this.#at === undefined) return "unknown";
    if (this.#nextTryAt !== undefined) return "down";
    if (now < this.#limitedUntil) return "rate_limited";
    return now - this.#failedAt < this.#rules.memoryMs ? "degraded" : "up";
  }
}

function limitedMs(asked: number | undefined): number {
  return Math.min(asked ?? DEFAULT_LIMITED_MS, LONGEST_LIMITED_MS);
}
