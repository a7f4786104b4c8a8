import { type Failure, failure } from "@sallyport/protocol";
import { encodeOrder } from "../approve/order.ts";
import type { QueuedCall } from "../ports/queue.ts";
import type { Conflict } from "../ports/store.ts";
import { intentOf } from "./call-record.ts";
import { abortUnstarted } from "./ending-steps.ts";
import type { House } from "./house.ts";
import { orderOf } from "./kept-order.ts";
import { type Allowed, type Ending, Queued } from "./steps.ts";

/** Puts a call on record that may run, so that it can be acknowledged: whatever happens now, it has an outcome. */
export async function enqueue(at: Allowed, house: House): Promise<Queued | Ending> {
  if (house.queue.isFull) return abortUnstarted(at, noRoom(house));
  const { attempt, tool, input } = at;
  const { idempotencyKey, priority } = attempt.request;
  const { callId, tenant, agent } = attempt.facts;
  const queuedAt = house.clock.now();
  const call: QueuedCall = {
    callId,
    tenant,
    agent,
    tool: tool.manifest.id,
    priority: priority ?? "normal",
    queuedAt,
  };
  attempt.record("QUEUED", queuedAt);
  const events = attempt.takeEvents();
  const result = await house.store.commit({
    tenant,
    open: {
      ...intentOf(attempt, tool, house),
      ...(idempotencyKey !== undefined && { idempotencyKey }),
      phase: "queued",
    },
    enqueue: { ...call, order: encodeOrder(orderOf({ attempt, tool, input, attempts: 0 })) },
    events,
    outbox: [],
  });
  if (result.ok) return new Queued(call);
  attempt.returnEvents(events);
  return abortUnstarted(at, refusal(result.conflict, callId));
}

function noRoom({ limits }: House): Failure {
  const message = `${limits.queued} accepted calls wait already.`;
  return failure("E3910", { message, details: { queued: limits.queued } });
}

function refusal(conflict: Conflict, callId: string): Failure {
  if (conflict.kind === "duplicate_call") {
    return failure("E3905", { message: `There is already a call ${callId}.` });
  }
  if (conflict.kind === "idempotency") {
    return failure("E3904", { details: { callId: conflict.existing.callId } });
  }
  return failure("E3908", { message: `The journal refused the call (${conflict.kind}).` });
}
