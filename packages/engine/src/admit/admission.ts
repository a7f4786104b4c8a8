import { type Failure, failure } from "@sallyport/protocol";

export type Priority = "low" | "normal" | "high";

export interface AdmissionLimits {
  /** Calls that run at once in this process. */
  total: number;
  /** Calls that run at once for one agent (L3-EXE-4). */
  perAgent: number;
  /** Calls that run at once of one tool. */
  perTool: number;
  /** Calls that may wait for a place. */
  queue: number;
  maxWaitMs: number;
  /** A waiting call gains one priority for each such span, so that none starves. */
  agingMs: number;
}

export const DEFAULT_ADMISSION: AdmissionLimits = {
  total: 64,
  perAgent: 4,
  perTool: 64,
  queue: 1_000,
  maxWaitMs: 10_000,
  agingMs: 1_000,
};

export interface Applicant {
  agent: string;
  tool: string;
  priority: Priority;
  signal: AbortSignal | undefined;
}

/** A place among the running calls; give it back exactly once. */
export interface Place {
  release(): void;
}

interface Waiter extends Applicant {
  since: number;
  settle(result: Place | Failure): void;
}

const RANK: Record<Priority, number> = { low: 2, normal: 1, high: 0 };

/** Decides how many calls run at once. A call that finds no place waits its turn, within bounds, or is refused. */
export class Admission {
  readonly #limits: AdmissionLimits;
  readonly #now: () => number;
  readonly #agents = new Map<string, number>();
  readonly #tools = new Map<string, number>();
  readonly #waiting = new Set<Waiter>();
  #running = 0;

  constructor(limits: Partial<AdmissionLimits> = {}, now: () => number = Date.now) {
    this.#limits = { ...DEFAULT_ADMISSION, ...limits };
    this.#now = now;
  }

  get running(): number {
    return this.#running;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  /** A place at once where there is one, otherwise a promise of a place or of the refusal. */
  enter(applicant: Applicant): Place | Promise<Place | Failure> {
    const nobodyIsPassedOver = this.#mostUrgent() === undefined;
    if (nobodyIsPassedOver && this.#fits(applicant)) return this.#take(applicant);
    if (this.#waiting.size >= this.#limits.queue)
      return Promise.resolve(this.#refusal(applicant, "queue full"));
    return this.#wait(applicant);
  }

  #wait(applicant: Applicant): Promise<Place | Failure> {
    return new Promise((resolve) => {
      const end = (result: Place | Failure) => {
        clearTimeout(timer);
        applicant.signal?.removeEventListener("abort", cancel);
        this.#waiting.delete(waiter);
        resolve(result);
      };
      const cancel = () => end(failure("E3906", { message: "Cancelled while waiting for a place." }));
      const waiter: Waiter = { ...applicant, since: this.#now(), settle: end };
      const timer = setTimeout(
        () => end(this.#refusal(applicant, "waited too long")),
        this.#limits.maxWaitMs,
      );
      this.#waiting.add(waiter);
      applicant.signal?.addEventListener("abort", cancel, { once: true });
      if (applicant.signal?.aborted) cancel();
    });
  }

  #take(applicant: Applicant): Place {
    this.#count(applicant, 1);
    let released = false;
    const release = () => {
      if (released) return;
      released = true;
      this.#count(applicant, -1);
      if (this.#waiting.size > 0) this.#admitNext();
    };
    return { release };
  }

  #admitNext(): void {
    for (;;) {
      const next = this.#mostUrgent();
      if (!next) return;
      next.settle(this.#take(next));
    }
  }

  #mostUrgent(): Waiter | undefined {
    if (this.#waiting.size === 0) return undefined;
    let best: Waiter | undefined;
    let bestUrgency = Number.POSITIVE_INFINITY;
    const now = this.#now();
    for (const waiter of this.#waiting) {
      const urgency = RANK[waiter.priority] - Math.floor((now - waiter.since) / this.#limits.agingMs);
      if (urgency < bestUrgency && this.#fits(waiter)) {
        best = waiter;
        bestUrgency = urgency;
      }
    }
    return best;
  }

  #fits({ agent, tool }: Applicant): boolean {
    return (
      this.#running < this.#limits.total &&
      (this.#agents.get(agent) ?? 0) < this.#limits.perAgent &&
      (this.#tools.get(tool) ?? 0) < this.#limits.perTool
    );
  }

  #count({ agent, tool }: Applicant, by: 1 | -1): void {
    this.#running += by;
    addTo(this.#agents, agent, by);
    addTo(this.#tools, tool, by);
  }

  #refusal({ agent, tool }: Applicant, why: string): Failure {
    const details = { agent, tool, running: this.#running, waiting: this.#waiting.size };
    if ((this.#agents.get(agent) ?? 0) >= this.#limits.perAgent) {
      const message = `Agent ${agent} already runs ${this.#limits.perAgent} calls (${why}).`;
      return failure("E3106", { message, details });
    }
    return failure("E3910", { message: `No capacity for another call (${why}).`, details });
  }
}

function addTo(counts: Map<string, number>, key: string, by: 1 | -1): void {
  const count = (counts.get(key) ?? 0) + by;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
}
