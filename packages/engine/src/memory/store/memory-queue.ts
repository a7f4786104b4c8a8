import type { CallRecord } from "../../ports/calls.ts";
import type { QueuedCall } from "../../ports/queue.ts";
import type { UnitOfWork } from "../../ports/store.ts";

type Enqueued = NonNullable<UnitOfWork["enqueue"]>;

interface Place {
  position: number;
  call: QueuedCall;
  order: string;
}

/**
 * The accepted calls with their orders, in the order of their places in the journal: a call keeps that place when it
 * leaves the queue, so whoever reads page after page may go on behind it.
 */
export class MemoryQueue {
  readonly #places = new Map<string, Place>();
  readonly #positionOf: (callId: string) => number | undefined;

  constructor(positionOf: (callId: string) => number | undefined) {
    this.#positionOf = positionOf;
  }

  /** Its call is in the journal already. */
  put({ order, ...call }: Enqueued): void {
    const position = this.#positionOf(call.callId);
    if (position !== undefined) this.#places.set(call.callId, { position, call, order });
  }

  /** Forgets the place and the order; nothing happens when the call was not queued. */
  leave(callId: string): void {
    this.#places.delete(callId);
  }

  /** Nothing when `after` is not in the journal. */
  list({ after, limit }: { after?: string; limit: number }): QueuedCall[] {
    const behind = after === undefined ? 0 : this.#positionOf(after);
    if (behind === undefined) return [];
    const later = [...this.#places.values()].filter(({ position }) => position > behind);
    return later.slice(0, Math.max(0, limit)).map(({ call }) => ({ ...call }));
  }

  order(callId: string): string | undefined {
    return this.#places.get(callId)?.order;
  }
}

/** Throws unless a call is opened as queued and given its place by the same unit: one without the other is a mistake. */
export function requireQueuedTogether({ open, enqueue }: UnitOfWork): void {
  const queued = queuedId(open);
  if (queued === enqueue?.callId) return;
  if (enqueue === undefined) {
    throw new RangeError(`The unit opens the call ${queued} as queued and gives it no place in the queue.`);
  }
  throw new RangeError(`The unit queues the call ${enqueue.callId} and does not open it as queued.`);
}

function queuedId(open: CallRecord | undefined): string | undefined {
  return open?.phase === "queued" ? open.callId : undefined;
}
