import { type Failure, failure, type Priority } from "@sallyport/protocol";
import { namesIn } from "./agent-key.ts";
import { type Applicant, Lanes, type Waiter } from "./lanes.ts";

export type { Applicant } from "./lanes.ts";

export interface AdmissionLimits {
  /** Calls that run at once in this process. */
  total: number;
  /** Calls that run at once for one agent (L3-EXE-4). */
  perAgent: number;
  /** Calls that run at once of one tool. */
  perTool: number;
  /** For single tools; undefined: as for every tool. */
  perToolOf?: (tool: string) => number | undefined;
  /** Patient calls that run at once, so that a long queue leaves room for callers who wait for their answer. */
  patient: number;
  /** Impatient calls that may wait for a place. */
  queue: number;
  maxWaitMs: number;
  /** A waiting call gains one priority for each such span, so that none starves. */
  agingMs: number;
}

export const DEFAULT_ADMISSION: AdmissionLimits = {
  total: 64,
  perAgent: 4,
  perTool: 64,
  patient: 48,
  queue: 1_000,
  maxWaitMs: 10_000,
  agingMs: 1_000,
};

/** A place among the running calls; give it back exactly once. */
export interface Place {
  release(): void;
}

const RANK: Record<Priority, number> = { low: 2, normal: 1, high: 0 };

/** Decides how many calls run at once. A call that finds no place waits its turn, within bounds, or is refused. */
export class Admission {
  #limits: AdmissionLimits;
  readonly #now: () => number;
  readonly #agents = new Map<string, number>();
  readonly #tools = new Map<string, number>();
  readonly #patientAgents = new Map<string, number>();
  readonly #lanes = new Lanes<Place | Failure>();
  #running = 0;
  #patientRunning = 0;

  constructor(limits: Partial<AdmissionLimits> = {}, now: () => number = Date.now) {
    this.#limits = withRoom({ ...DEFAULT_ADMISSION, ...limits });
    this.#now = now;
  }

  get running(): number {
    return this.#running;
  }

  get waiting(): number {
    return this.#lanes.size;
  }

  /** New limits hold for whoever comes or waits from now on; nobody who runs is sent away. */
  adjust(limits: Partial<AdmissionLimits>): void {
    this.#limits = withRoom({ ...this.#limits, ...limits });
    this.#admitNext();
  }

  /** A place at once where there is one, otherwise a promise of a place or of the refusal. */
  enter(applicant: Applicant): Place | Promise<Place | Failure> {
    const nobodyIsPassedOver = this.#mostUrgent() === undefined;
    if (nobodyIsPassedOver && this.#fits(applicant)) return this.#take(applicant);
    if (!applicant.patient && this.#lanes.impatient >= this.#limits.queue)
      return Promise.resolve(this.#refusal(applicant, "queue full"));
    return this.#wait(applicant);
  }

  #wait(applicant: Applicant): Promise<Place | Failure> {
    return new Promise((resolve) => {
      const end = (result: Place | Failure) => {
        clearTimeout(timer);
        applicant.signal?.removeEventListener("abort", cancel);
        this.#lanes.leave(waiter);
        resolve(result);
      };
      const cancel = () => end(failure("E3906", { message: "Cancelled while waiting for a place." }));
      const waiter = this.#lanes.join(applicant, { since: this.#now(), settle: end });
      const timer = applicant.patient
        ? undefined
        : setTimeout(() => end(this.#refusal(applicant, "waited too long")), this.#limits.maxWaitMs);
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
      if (this.#lanes.size > 0) this.#admitNext();
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

  /** Only the head of a lane can be next: those behind it are the same, and later. */
  #mostUrgent(): Waiter<Place | Failure> | undefined {
    if (this.#lanes.size === 0) return undefined;
    let best: Waiter<Place | Failure> | undefined;
    let bestUrgency = Number.POSITIVE_INFINITY;
    const now = this.#now();
    for (const waiter of this.#lanes.heads()) {
      const urgency = RANK[waiter.priority] - Math.floor((now - waiter.since) / this.#limits.agingMs);
      const isEarlier = urgency === bestUrgency && best !== undefined && waiter.turn < best.turn;
      if ((urgency < bestUrgency || isEarlier) && this.#fits(waiter)) {
        best = waiter;
        bestUrgency = urgency;
      }
    }
    return best;
  }

  #fits({ agent, tool, patient }: Applicant): boolean {
    return (
      this.#running < this.#limits.total &&
      (!patient || this.#hasPatientRoom(agent)) &&
      (this.#agents.get(agent) ?? 0) < this.#limits.perAgent &&
      (this.#tools.get(tool) ?? 0) < this.#perTool(tool)
    );
  }

  /** Of an agent's own places, too, one is kept for calls it waits for. */
  #hasPatientRoom(agent: string): boolean {
    const { patient, perAgent } = this.#limits;
    const most = Math.max(1, perAgent - 1);
    return this.#patientRunning < patient && (this.#patientAgents.get(agent) ?? 0) < most;
  }

  #perTool(tool: string): number {
    return this.#limits.perToolOf?.(tool) ?? this.#limits.perTool;
  }

  #count({ agent, tool, patient }: Applicant, by: 1 | -1): void {
    this.#running += by;
    if (patient) {
      this.#patientRunning += by;
      addTo(this.#patientAgents, agent, by);
    }
    addTo(this.#agents, agent, by);
    addTo(this.#tools, tool, by);
  }

  #refusal({ agent, tool }: Applicant, why: string): Failure {
    const who = namesIn(agent);
    const details = { ...who, tool, running: this.#running, waiting: this.#lanes.size };
    const { perAgent } = this.#limits;
    if ((this.#agents.get(agent) ?? 0) >= perAgent) {
      const message = `Agent ${who.agent} already runs ${perAgent} ${perAgent === 1 ? "call" : "calls"} (${why}).`;
      return failure("E3106", { message, details });
    }
    return failure("E3910", { message: `No capacity for another call (${why}).`, details });
  }
}

/** However small the house is made, one patient call fits into it. */
function withRoom(limits: AdmissionLimits): AdmissionLimits {
  return { ...limits, patient: Math.max(1, Math.min(limits.patient, limits.total)) };
}

function addTo(counts: Map<string, number>, key: string, by: 1 | -1): void {
  const count = (counts.get(key) ?? 0) + by;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
}
