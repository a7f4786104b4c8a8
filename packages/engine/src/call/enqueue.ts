import { type Failure, failure, SallyportError } from "@sallyport/protocol";
import { encodeOrder } from "../approve/order.ts";
import type { QueuedCall } from "../ports/queue.ts";
import type { Conflict } from "../ports/store.ts";
import { intentOf } from "./call-record.ts";
import { abortUnstarted } from "./ending-steps.ts";
import type { House } from "./house.ts";
import { isOurs } from "./is-ours.ts";
import { orderOf } from "./kept-order.ts";
import { type Allowed, type Ending, Queued } from "./steps.ts";

/** Puts a call on record that may run, so that it can be acknowledged: whatever happens now, it has an outcome. */
export async function enqueue(at: Allowed, house: House): Promise<Queued | Ending> {
  if (!house.queue.reserve(at.attempt.facts)) return abortUnstarted(at, noRoom(house));
  const call = placeOf(at, house.clock.now());
  const problem = await putOnRecord(at, call, house);
  if (!problem) return new Queued(call);
  house.queue.unreserve(call);
  return abortUnstarted(at, problem);
}

function placeOf({ attempt, tool }: Allowed, queuedAt: number): QueuedCall {
  const { callId, tenant, agent } = attempt.facts;
  const priority = attempt.request.priority ?? "normal";
  return { callId, tenant, agent, tool: tool.manifest.id, priority, queuedAt };
}

async function putOnRecord(at: Allowed, call: QueuedCall, house: House): Promise<Failure | undefined> {
  const { attempt, tool, input } = at;
  const { idempotencyKey } = attempt.request;
  attempt.record("QUEUED", call.queuedAt);
  const events = attempt.takeEvents();
  try {
    const result = await house.store.commit({
      tenant: call.tenant,
      open: {
        ...intentOf(attempt, tool, house),
        ...(idempotencyKey !== undefined && { idempotencyKey }),
        phase: "queued",
      },
      enqueue: { ...call, order: encodeOrder(orderOf({ attempt, tool, input, attempts: 0 })) },
      events,
      outbox: [],
    });
    if (result.ok) return undefined;
    attempt.returnEvents(events);
    return refusal(result.conflict, call.callId);
  } catch (error) {
    house.errors.report({ error, code: "E3914", callId: call.callId, stage: "queue" });
    // What was given up as lost may have landed after all: then the journal's word counts.
    if (await isOurs(attempt, "queued", house)) return undefined;
    attempt.returnEvents(events);
    return error instanceof SallyportError ? error.failure : failure("E3914");
  }
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
