import type { Decision } from "../ports/authority.ts";
import type { CallTimeline, DecisionMade, StageTime } from "../ports/calls.ts";

/** Shorter stages are left out: every byte of a call is written and synced. */
const SHORTEST_MS = 0.1;
const MAX_STAGES = 64;
const MAX_DECISIONS = 8;
const MAX_RULES = 16;
const MAX_CHARS = 200;

/** How a call came so far. Beyond its bounds the first stages and decisions are kept: they are those of the first attempts. */
export class TimelineLog {
  readonly #stages: StageTime[];
  readonly #decisions: DecisionMade[];
  readonly #ticks: () => number;
  #since: number;

  /** Goes on with the timeline of the attempt before; what lies between is waiting. */
  constructor(
    ticks: () => number,
    { previous, attempt }: { previous?: TimelineLog | undefined; attempt: number },
  ) {
    this.#ticks = ticks;
    this.#since = previous ? previous.#since : ticks();
    this.#stages = previous ? previous.#stages : [];
    this.#decisions = previous ? previous.#decisions : [];
    if (previous) this.reached("wait", attempt);
  }

  /** A stage is over; the next one begins now. */
  reached(stage: string, attempt: number): void {
    const now = this.#ticks();
    const ms = now - this.#since;
    this.#since = now;
    if (ms < SHORTEST_MS || this.#stages.length >= MAX_STAGES) return;
    this.#stages.push({ stage, attempt, ms: Math.round(ms * 10) / 10 });
  }

  decided({ outcome, reason, rules, policyVersion }: Decision, attempt: number): void {
    if (this.#decisions.length >= MAX_DECISIONS) return;
    const short = (text: string) => text.slice(0, MAX_CHARS);
    this.#decisions.push({
      ...{ attempt, outcome, reason: short(reason), policyVersion: short(policyVersion) },
      rules: rules.slice(0, MAX_RULES).map(short),
    });
  }

  get(): CallTimeline {
    return { stages: [...this.#stages], decisions: [...this.#decisions] };
  }
}
