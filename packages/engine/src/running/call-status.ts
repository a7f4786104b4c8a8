import { type CallAnswer, type CallStatus, failure, isFailure } from "@sallyport/protocol";
import { withdrawQuestion } from "../approvals/suspended.ts";
import type { EngineContext } from "../context.ts";
import { claimAll } from "../fleet/claim-all.ts";
import { endQueued } from "../journal/recovery.ts";
import type { CallRecord } from "../ports/calls.ts";
import { TIMED_OUT, withTimeout } from "../timeouts.ts";
import { waitUntil } from "../wait-until.ts";
import { type RunningNow, runningNow, type ToolProgress } from "./running-calls.ts";

/** Whose call it is. */
interface Owned {
  of: { tenant: string; agent: string; tool: string };
  /** Absent while a call runs of which nothing has to be on record yet. */
  record?: CallRecord;
}

/** How a call stands right now. */
export type CallStanding = Owned &
  (
    | { status: "pending" }
    | { status: "running"; progress?: ToolProgress; now?: RunningNow }
    | { status: "unknown" }
    | { status: "pending_approval"; approvalId: string }
    | { status: CallStatus; answer: CallAnswer }
  );

/** How a call stands; undefined when there is none of that id. */
export async function standingOf(callId: string, context: EngineContext): Promise<CallStanding | undefined> {
  const running = context.inFlight.get(callId);
  const record = await context.store.calls.get(callId);
  if (record ? context.elsewhere.has(record) : !running)
    return await standingElsewhere(callId, record, context);
  const of = record ?? running;
  if (!of) return undefined;
  const { tenant, agent, tool } = of;
  const owned: Owned = { of: { tenant, agent, tool }, ...(record && { record }) };
  if (record?.closing) return { ...owned, status: record.closing.status, answer: record.closing.answer };
  if (record?.phase === "waiting") {
    const approval = await context.store.approvals.ofCall(callId);
    return { ...owned, status: "pending_approval", approvalId: approval?.approvalId ?? "" };
  }
  if (record?.phase === "queued") return { ...owned, status: "pending" };
  // A request that only asks for a call which another process executes is not that call.
  if (running && (!record || record.owner === context.owner)) {
    const { progress } = running;
    return { ...owned, status: "running", now: runningNow(running), ...(progress && { progress }) };
  }
  return { ...owned, status: "unknown" };
}

/** As its process says; one that is silent has not been judged, so that its call counts as running. */
async function standingElsewhere(
  callId: string,
  record: CallRecord | undefined,
  { elsewhere }: EngineContext,
): Promise<CallStanding | undefined> {
  const called = await elsewhere.describe(callId, record?.owner);
  const of = record ?? called?.of;
  if (!of) return undefined;
  const { tenant, agent, tool } = of;
  const { now, progress } = called ?? {};
  return {
    of: { tenant, agent, tool },
    status: "running",
    ...(record && { record }),
    ...(now && { now }),
    ...(progress && { progress }),
  };
}

/** What came of the wish to end a call. */
export interface Cancellation {
  cancelled: boolean;
  message: string;
  /** How the call stands now. */
  status: CallStatus | "unknown";
}

const BEFORE_IT_RAN: Cancellation = {
  cancelled: true,
  message: "Cancelled before it ran.",
  status: "cancelled",
};

const IN_PROGRESS: Cancellation = {
  cancelled: true,
  message: "Cancellation in progress.",
  status: "running",
};

function notCancelled(status: Cancellation["status"], message: string): Cancellation {
  return { cancelled: false, message, status };
}

/** How long the answer waits for the record; a store that is away longer does not hold it up. */
const ON_RECORD_MS = 2_000;
const LOOK_AGAIN_MS = 5;
const LOOK_ELSEWHERE_MS = 100;
/** How often a call is looked at again that moved on while it was being cancelled. */
const TRIES = 5;

/**
 * Ends a call wherever it stands. `cancelled: true` is said only once the call can no longer succeed: its end is on
 * record, or its attempt has taken the abort before the outcome was sent to the store. Asking again is safe.
 */
export async function cancelCall(
  callId: string,
  { reason }: { reason: string },
  context: EngineContext,
): Promise<Cancellation | undefined> {
  for (let tries = 0; tries < TRIES; tries += 1) {
    const standing = await standingOf(callId, context);
    if (!standing) return undefined;
    if (standing.status === "cancelled") return { ...BEFORE_IT_RAN, message: "Already cancelled." };
    if ("answer" in standing) return notCancelled(standing.status, `Already completed (${standing.status}).`);
    const done = await cancelStanding(standing, { callId, reason }, context);
    if (done) return done;
  }
  return notCancelled("running", "The call is moving on; ask again.");
}

/** Undefined when the call has moved on and has to be looked at again. */
async function cancelStanding(
  standing: Exclude<CallStanding, { answer: CallAnswer }>,
  { callId, reason }: { callId: string; reason: string },
  context: EngineContext,
): Promise<Cancellation | undefined> {
  switch (standing.status) {
    case "pending_approval":
      return await withdrawn(standing.approvalId, { reason, context });
    case "pending":
      return await unqueued(callId, { reason, context });
    case "running":
      if (!standing.record ? !context.inFlight.get(callId) : context.elsewhere.has(standing.record))
        return await cancelElsewhere(standing.record, { callId, reason }, context);
      if (!context.inFlight.cancel(callId, reason)) return await tooLate(callId, context);
      return IN_PROGRESS;
    case "unknown":
      return notCancelled(
        "unknown",
        standing.record?.phase === "executing"
          ? "Nothing runs it any more, and its end is not on record yet; ask again in a few seconds."
          : "Nobody knows whether it still runs or how it ended; a person has to close it.",
      );
  }
}

/** Whoever is told that a queued call is cancelled must not find that it has run, whatever happens to this process. */
async function unqueued(
  callId: string,
  { reason, context }: { reason: string; context: EngineContext },
): Promise<Cancellation | undefined> {
  const over = context.queue.cancel(callId, reason);
  if (!over) {
    const error = failure("E3906", { message: `Cancelled before it ran: ${reason}` });
    return (await endQueued(callId, error, context)) && BEFORE_IT_RAN;
  }
  if ((await withTimeout(over, ON_RECORD_MS)) === TIMED_OUT) {
    return notCancelled("pending", "The cancellation is not on record yet; ask again.");
  }
  const standing = await standingOf(callId, context);
  return standing?.status === "cancelled" ? BEFORE_IT_RAN : undefined;
}

async function withdrawn(
  approvalId: string,
  { reason, context }: { reason: string; context: EngineContext },
): Promise<Cancellation | undefined> {
  const error = failure("E3906", { message: `Cancelled while it waited for approval: ${reason}` });
  const closed = await withdrawQuestion(approvalId, { reason, error }, context);
  return isFailure(closed) ? undefined : BEFORE_IT_RAN;
}

/**
 * The wish is on record before the process that has the call is told of it, so that it finds it also when no message
 * comes through.
 */
async function cancelElsewhere(
  record: CallRecord | undefined,
  { callId, reason }: { callId: string; reason: string },
  { store, elsewhere }: EngineContext,
): Promise<Cancellation | undefined> {
  if (record && !(await store.commit({ tenant: record.tenant, cancel: { callId, reason } })).ok)
    return undefined;
  if (await elsewhere.cancel(callId, reason, record?.owner)) return IN_PROGRESS;
  if (!record) return notCancelled("running", "The process that runs it did not answer; ask again.");
  const isOver = await waitUntil(
    async () => ((await store.calls.get(callId))?.phase === "executing" ? undefined : true),
    {
      everyMs: LOOK_ELSEWHERE_MS,
      hint: (wake) => elsewhere.onEnd(callId, wake),
      signal: AbortSignal.timeout(ON_RECORD_MS),
    },
  );
  return isOver ? undefined : notCancelled("running", "Its process is to end it and has not yet; ask again.");
}

/** Ends what other processes have asked this one to end, for those whose message was lost. */
export async function cancelClaimed(context: EngineContext): Promise<void> {
  if (!context.store.isShared || context.inFlight.size === 0) return;
  for await (const { callId, cancelReason } of claimAll("cancel", context))
    context.inFlight.cancel(callId, cancelReason ?? "");
}

/** The attempt is past the point where it looks at its signal: waits for what it puts on record. */
async function tooLate(callId: string, { inFlight }: EngineContext): Promise<Cancellation | undefined> {
  const signal = AbortSignal.timeout(ON_RECORD_MS);
  const isOver = await waitUntil(() => !inFlight.get(callId) || undefined, {
    everyMs: LOOK_AGAIN_MS,
    signal,
  });
  return isOver ? undefined : notCancelled("running", "Too late: its outcome is being recorded.");
}
