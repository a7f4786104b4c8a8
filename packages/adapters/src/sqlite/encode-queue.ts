import type { UnitOfWork } from "@sallyport/engine";
import type { QueuedCells } from "./messages.ts";
import { wellFormedOrder } from "./well-formed-order.ts";

/**
 * The place in the queue that a unit gives to the call it opens; null when it gives none. Throws unless a call is opened
 * as queued and given its place by the same unit: one without the other is a mistake of the writer.
 */
export function encodeEnqueued({ open, enqueue }: UnitOfWork): QueuedCells | null {
  const queued = open?.phase === "queued" ? open.callId : undefined;
  if (enqueue === undefined) {
    if (queued === undefined) return null;
    throw new RangeError(`The unit opens the call ${queued} as queued and gives it no place in the queue.`);
  }
  const { callId, tenant, agent, tool, priority, queuedAt, order } = enqueue;
  if (callId === queued) return [callId, tenant, agent, tool, priority, queuedAt, wellFormedOrder(order)];
  throw new RangeError(`The unit queues the call ${callId} and does not open it as queued.`);
}
