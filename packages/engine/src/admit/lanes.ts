import type { Priority } from "@sallyport/protocol";

/** Who wants a place. */
export interface Applicant {
  /** Tells agents apart: an `agentKey`. */
  agent: string;
  tool: string;
  priority: Priority;
  signal: AbortSignal | undefined;
  /** Waits as long as it takes: its call is on record and nobody holds a connection open for it. */
  patient?: boolean;
}

export interface Waiter<Result> extends Applicant {
  since: number;
  /** Counts those who came, so that equals are served in their order. */
  turn: number;
  settle(result: Result): void;
}

/**
 * Those who wait, in lanes of the same agent, tool, priority and patience. Whether one of a lane fits, all of it do, so
 * that choosing the next one costs as much as there are lanes, however long they are.
 */
export class Lanes<Result> {
  readonly #lanes = new Map<string, Set<Waiter<Result>>>();
  #size = 0;
  #impatient = 0;
  #turns = 0;

  get size(): number {
    return this.#size;
  }

  get impatient(): number {
    return this.#impatient;
  }

  join(applicant: Applicant, waiting: Pick<Waiter<Result>, "since" | "settle">): Waiter<Result> {
    this.#turns += 1;
    const waiter = { ...applicant, ...waiting, turn: this.#turns };
    const key = laneOf(applicant);
    const lane = this.#lanes.get(key);
    if (lane) lane.add(waiter);
    else this.#lanes.set(key, new Set([waiter]));
    this.#count(waiter, 1);
    return waiter;
  }

  /** Safe to repeat. */
  leave(waiter: Waiter<Result>): void {
    const key = laneOf(waiter);
    const lane = this.#lanes.get(key);
    if (!lane?.delete(waiter)) return;
    if (lane.size === 0) this.#lanes.delete(key);
    this.#count(waiter, -1);
  }

  /** The first of each lane. */
  *heads(): Iterable<Waiter<Result>> {
    for (const lane of this.#lanes.values()) {
      const [head] = lane;
      if (head) yield head;
    }
  }

  #count({ patient }: Applicant, by: 1 | -1): void {
    this.#size += by;
    if (!patient) this.#impatient += by;
  }
}

function laneOf({ agent, tool, priority, patient }: Applicant): string {
  return `${patient ? "patient" : ""} ${priority} ${tool}\n${agent}`;
}
