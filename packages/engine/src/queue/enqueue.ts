import { defined, type Failure, failure, SallyportError } from "@sallyport/protocol";
import { encodeOrder } from "../approvals/order.ts";
import type { EngineContext } from "../context.ts";
import { isUnanswered } from "../journal/bounded-store.ts";
import { conflictFailure } from "../journal/conflicts.ts";
import { intentOf } from "../journal/unit.ts";
import type { Attempt } from "../passage/attempt.ts";
import { type Allowed, abortBeforeStart, type Ending, Queued } from "../passage/steps.ts";
import type { QueuedCall } from "../ports/calls.ts";

/** Puts a call on record that may run, so that it can be acknowledged: whatever happens now, it has an outcome. */
export async function enqueue(at: Allowed, context: EngineContext): Promise<Queued | Ending> {
  const { queue, limits, clock } = context;
  const { attempt, tool } = at;
  const { callId, tenant, agent } = attempt.call;
  if (!queue.reserve({ tenant, agent })) {
    const { queued } = limits;
    const message = `${queued} accepted calls wait already.`;
    return abortBeforeStart(at, failure("E3910", { message, details: { queued } }));
  }
  const { priority = "normal" } = attempt.request;
  const call = { callId, tenant, agent, tool: tool.manifest.id, priority, queuedAt: clock.now() };
  const refused = await putOnRecord(at, call, context);
  if (!refused) return new Queued(call, at.progress);
  queue.unreserve(call);
  return abortBeforeStart(at, refused);
}

async function putOnRecord(
  { attempt, progress, tool, input }: Allowed,
  call: QueuedCall,
  context: EngineContext,
): Promise<Failure | undefined> {
  const { callId, queuedAt } = call;
  const { idempotencyKey } = attempt.request;
  const events = attempt.log.unit({ kind: "QUEUED", at: queuedAt, progress });
  try {
    const result = await context.store.commit({
      tenant: call.tenant,
      open: { ...intentOf(attempt, tool, context), ...defined({ idempotencyKey }), phase: "queued" },
      enqueue: {
        ...call,
        claimedBy: context.owner,
        order: encodeOrder(attempt, { progress, tool, input, attempts: 0 }),
      },
      audit: events.audit,
    });
    if (!result.ok && !(await wasAccepted(attempt, context)))
      return conflictFailure(result.conflict, { callId, what: "call", at: queuedAt });
    attempt.log.stored(events);
    return undefined;
  } catch (error) {
    context.errors.report({ error, code: "E3914", callId, stage: "queue" });
    if (isUnanswered(error)) return perhapsAccepted(attempt);
    return error instanceof SallyportError ? error.failure : failure("E3914");
  }
}

/** An earlier try of this very call put it on record, and the answer was lost. */
async function wasAccepted({ call, progress }: Attempt, { store, owner }: EngineContext): Promise<boolean> {
  const found = await store.calls.get(call.callId);
  return found?.phase === "queued" && found.owner === owner && found.startedAt === progress.startedAt;
}

/** Without a key or an id of its own the same request again would be a second call. */
function perhapsAccepted({ callId, request }: Attempt): Failure {
  return failure("E3914", {
    message: `The store did not say whether call ${callId} was accepted. If it was, it runs once.`,
    advice: `Look call ${callId} up, or make the same request again with the same idempotency key or id.`,
    retryable: (request.idempotencyKey ?? request.callId) !== undefined,
    details: { callId, unanswered: true },
  });
}
