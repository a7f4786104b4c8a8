import { type Failure, failure, type Priority } from "@sallyport/protocol";
import { timerMs } from "../timeouts.ts";
import { agentKey, FairQueue, type SlotRequest, type Waiter } from "./fair-queue.ts";

export interface AdmissionLimits {
  /** Calls that run at once in this process. */
  total: number;
  /** Calls that run at once for one agent (L3-EXE-4). */
  perAgent: number;
  /** Calls that run at once of one tool. */
  perTool: number;
  /** For single tools; undefined: as for every tool. */
  perToolOf?: (tool: string) => number | undefined;
  /** Background calls that run at once, so that a long queue leaves slots for callers who wait for their answer. */
  background: number;
  /** Calls whose callers wait that may wait for a slot. */
  queue: number;
  maxWaitMs: number;
  /** A waiting call gains one priority for each such span, so that none starves. */
  agingMs: number;
}

export const DEFAULT_ADMISSION: AdmissionLimits = {
  total: 64,
  perAgent: 4,
  perTool: 64,
  background: 48,
  queue: 1_000,
  maxWaitMs: 10_000,
  agingMs: 1_000,
};

/** The right to run one call; give it back exactly once. */
export interface Slot {
  release(): void;
}

const RANK: Record<Priority, number> = { low: 2, normal: 1, high: 0 };

/** Decides how many calls run at once. A call that finds no slot waits its turn, within bounds, or is refused. */
export class Admission {
  #limits: AdmissionLimits;
  readonly #now: () => number;
  /** Running calls under each of their keys. */
  readonly #counts = new Map<string, number>();
  readonly #queue = new FairQueue<Slot | Failure>();

  constructor(limits: Partial<AdmissionLimits> = {}, now: () => number = Date.now) {
    this.#limits = withBackgroundSlot({ ...DEFAULT_ADMISSION, ...limits });
    this.#now = now;
  }

  get running(): number {
    return this.#counts.get(ALL) ?? 0;
  }

  get waiting(): number {
    return this.#queue.size;
  }

  /** Slots that background calls could have. */
  get free(): number {
    const { total, background } = this.#limits;
    const inBackground = background - (this.#counts.get(BACKGROUND) ?? 0);
    return Math.max(0, Math.min(total - this.running, inBackground));
  }

  /** New limits hold for calls that come or wait from now on; no running call is ended. */
  adjust(limits: Partial<AdmissionLimits>): void {
    this.#limits = withBackgroundSlot({ ...this.#limits, ...limits });
    this.#admitNext();
  }

  /** A slot at once where there is one, otherwise a promise of a slot or of the refusal. */
  enter(request: SlotRequest): Slot | Promise<Slot | Failure> {
    const overtakesNobody = this.#mostUrgent() === undefined;
    const keys = keysOf(request);
    if (overtakesNobody && this.#fits(request, keys)) return this.#take(keys);
    if (!request.background && this.#queue.interactive >= this.#limits.queue)
      return Promise.resolve(this.#refusal(request, "queue full"));
    return this.#wait(request);
  }

  #wait(request: SlotRequest): Promise<Slot | Failure> {
    const { signal, background } = request;
    return new Promise((resolve) => {
      const end = (result: Slot | Failure) => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", cancel);
        this.#queue.leave(waiter);
        resolve(result);
      };
      const cancel = () => end(failure("E3906", { message: "Cancelled while waiting for a slot." }));
      const giveUp = () => end(this.#refusal(request, "waited too long"));
      const waiter = this.#queue.join(request, { since: this.#now(), settle: end });
      const timer = background ? undefined : setTimeout(giveUp, timerMs(this.#limits.maxWaitMs));
      signal?.addEventListener("abort", cancel, { once: true });
      if (signal?.aborted) cancel();
    });
  }

  #take(keys: readonly string[]): Slot {
    this.#count(keys, 1);
    let released = false;
    const release = () => {
      if (released) return;
      released = true;
      this.#count(keys, -1);
      if (this.#queue.size > 0) this.#admitNext();
    };
    return { release };
  }

  #admitNext(): void {
    for (let next = this.#mostUrgent(); next; next = this.#mostUrgent())
      next.settle(this.#take(keysOf(next)));
  }

  /** Only the head of a lane can be next: those behind it are the same, and later. */
  #mostUrgent(): Waiter<Slot | Failure> | undefined {
    if (this.#queue.size === 0) return undefined;
    let best: Waiter<Slot | Failure> | undefined;
    let bestUrgency = Number.POSITIVE_INFINITY;
    const now = this.#now();
    for (const waiter of this.#queue.heads()) {
      const urgency = RANK[waiter.priority] - Math.floor((now - waiter.since) / this.#limits.agingMs);
      const isEarlier = urgency === bestUrgency && best !== undefined && waiter.turn < best.turn;
      if ((urgency < bestUrgency || isEarlier) && this.#fits(waiter)) {
        best = waiter;
        bestUrgency = urgency;
      }
    }
    return best;
  }

  #fits(request: SlotRequest, keys = keysOf(request)): boolean {
    const { total, perAgent, background } = this.#limits;
    // Of an agent's own slots, too, one is kept for calls it waits for.
    const inBackground = Math.max(1, perAgent - 1);
    const most = [total, perAgent, this.#toolLimit(request.tool), background, inBackground];
    return keys.every((key, index) => (this.#counts.get(key) ?? 0) < (most[index] ?? 0));
  }

  #count(keys: readonly string[], by: 1 | -1): void {
    for (const key of keys) {
      const count = (this.#counts.get(key) ?? 0) + by;
      if (count === 0) this.#counts.delete(key);
      else this.#counts.set(key, count);
    }
  }

  #refusal(request: SlotRequest, why: string): Failure {
    const { tenant, agent, tool } = request;
    const load = { running: this.running, waiting: this.#queue.size };
    const details = { tenant, agent, tool, ...load, retryAfterMs: this.#retryAfterMs() };
    const { perAgent } = this.#limits;
    if ((this.#counts.get(agentKey(request)) ?? 0) >= perAgent) {
      const message = `Agent ${agent} already runs ${countOf(perAgent)} (${why}).`;
      return failure("E3106", { message, details: { ...details, limit: "agent" } });
    }
    const most = this.#toolLimit(tool);
    const isToolFull = (this.#counts.get(toolKey(request)) ?? 0) >= most;
    const message = isToolFull
      ? `${tool} already runs ${countOf(most)} (${why}).`
      : `No capacity for another call (${why}).`;
    return failure("E3910", { message, details: { ...details, limit: isToolFull ? "tool" : "total" } });
  }

  #toolLimit(tool: string): number {
    const { perTool, perToolOf } = this.#limits;
    return perToolOf?.(tool) ?? perTool;
  }

  /** Who comes now would wait about as long as whoever waits longest has waited already. */
  #retryAfterMs(): number {
    const oldest = Math.min(...[...this.#queue.heads()].map(({ since }) => since));
    return Math.max(SHORTEST_RETRY_MS, Number.isFinite(oldest) ? Math.ceil(this.#now() - oldest) : 0);
  }
}

const SHORTEST_RETRY_MS = 1_000;

function countOf(calls: number): string {
  return `${calls} ${calls === 1 ? "call" : "calls"}`;
}

/** However small the limits are, one background call can run. */
function withBackgroundSlot(limits: AdmissionLimits): AdmissionLimits {
  return { ...limits, background: Math.max(1, Math.min(limits.background, limits.total)) };
}

const ALL = "all";
const BACKGROUND = "background";

function toolKey({ tool }: SlotRequest): string {
  return `tool ${tool}`;
}

/** Under which keys a call is counted while it runs, in the order of the limits in `#fits`. */
function keysOf(request: SlotRequest): string[] {
  const agent = agentKey(request);
  const keys = [ALL, agent, toolKey(request)];
  return request.background ? [...keys, BACKGROUND, `${BACKGROUND} ${agent}`] : keys;
}
