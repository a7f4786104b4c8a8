import type { Priority } from "@sallyport/protocol";

/** What a call needs a slot for. */
export interface SlotRequest {
  tenant: string;
  agent: string;
  tool: string;
  priority: Priority;
  signal: AbortSignal | undefined;
  /** Waits as long as it takes: its call is on record and nobody holds a connection open for it. */
  background?: boolean;
}

export interface Waiter<Result> extends SlotRequest {
  since: number;
  /** Counts those who came, so that equals are served in their order. */
  turn: number;
  settle(result: Result): void;
}

/**
 * Requests that wait, in lanes of the same agent, tool, priority and kind. All requests of a lane need the same slot, so
 * only lane heads are compared: choosing the next one costs as much as there are lanes, however long they are.
 */
export class FairQueue<Result> {
  readonly #lanes = new Map<string, Set<Waiter<Result>>>();
  #size = 0;
  #interactive = 0;
  #turns = 0;

  get size(): number {
    return this.#size;
  }

  /** Requests whose callers wait for the answer. */
  get interactive(): number {
    return this.#interactive;
  }

  join(request: SlotRequest, waiting: Pick<Waiter<Result>, "since" | "settle">): Waiter<Result> {
    this.#turns += 1;
    const waiter = { ...request, ...waiting, turn: this.#turns };
    const key = laneOf(request);
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

  #count({ background }: SlotRequest, by: 1 | -1): void {
    this.#size += by;
    if (!background) this.#interactive += by;
  }
}

function laneOf(request: SlotRequest): string {
  const { tool, priority, background } = request;
  return `${background ? "background" : ""} ${priority} ${tool}\n${agentKey(request)}`;
}

/** One text for an agent and its tenant: agents of two tenants may have the same name. */
export function agentKey({ tenant, agent }: { tenant: string; agent: string }): string {
  return `${tenant.length} ${tenant} ${agent}`;
}
