import { setTimeout as sleep } from "node:timers/promises";
import {
  type Accepted,
  type CallAnswer,
  type CallStatus,
  entryOf,
  type Failure,
  failure,
  isFailure,
} from "@sallyport/protocol";
import { afterAsking, isHeldUp } from "../approvals/suspended.ts";
import type { EngineContext } from "../context.ts";
import { backoffMs, mayRetry, retryPolicy } from "../execute/index.ts";
import { conclude, concludeDefect, concludeRefusal, concludeWaiting } from "../journal/conclude.ts";
import { isTransient } from "../journal/conflicts.ts";
import { endQueued } from "../journal/recovery.ts";
import { timerMs } from "../timeouts.ts";
import { Attempt, type Call } from "./attempt.ts";
import { proveCaller } from "./call.ts";
import { passage } from "./pipeline.ts";
import { ApprovalPending, Ending, Queued, Refused } from "./steps.ts";

/** Walks the passage until the call has an answer: again after a person has answered, or when a retry is due. */
export async function attempts(first: Call, context: EngineContext): Promise<CallAnswer | Accepted> {
  let call = first;
  let previous: Attempt | undefined;
  let number = (first.attemptsBefore ?? 0) + 1;
  for (;;) {
    const known = proveCaller(call, context);
    const attempt: Attempt = new Attempt(call, { number, clock: context.clock, known, previous });
    context.inFlight.setAttempt(call.callId, attempt);
    try {
      const end = await passage.walk({ attempt, progress: attempt.progress }, context, attempt);
      if (end instanceof Refused) return await refused(end.error, attempt, context);
      if (end instanceof Queued) return await accept(end, attempt, context);
      if (end instanceof ApprovalPending) {
        attempt.leave();
        const next = await afterAsking(end.approval, { call, attempt }, context);
        if ("status" in next) return next;
        // Nothing has run, so that the number stays: what follows is the same execution.
        call = next;
        previous = attempt;
        continue;
      }
      const ending = attempt.violation ? await quarantined(end, attempt, context) : end;
      const pauseMs = pauseBeforeRetry(ending, attempt, context);
      if (pauseMs === undefined) {
        const answer = ending.answer ?? (await conclude(ending, attempt, context));
        if (attempt.hooked) await runAfterHooks(answer.status, attempt, context);
        return answer;
      }
      if (ending.progress.error) await runAfterHooks(entryOf(ending.progress.error).status, attempt, context);
      attempt.leave();
      attempt.settled = false;
      // Cut short by a cancellation: the next attempt then ends as cancelled, on record.
      await sleep(timerMs(pauseMs), undefined, { signal: attempt.signal }).catch(() => undefined);
    } catch (thrown) {
      const answer = await concludeDefect(thrown, attempt, context);
      await runAfterHooks(answer.status, attempt, context);
      return answer;
    } finally {
      attempt.leave();
    }
    previous = attempt;
    number += 1;
  }
}

async function refused(error: Failure, attempt: Attempt, context: EngineContext): Promise<CallAnswer> {
  const { waits, request } = attempt;
  if (!waits || isTransient(error)) return await concludeRefusal(error, attempt, context);
  if (waits.for === "room") {
    const ended = await endQueued(attempt.callId, error, context);
    if (ended) return ended;
  }
  // Nobody is going to ask for it again, so that it would wait until its approval expires.
  if (waits.for === "approval" && request.unattended) return await concludeWaiting(error, attempt, context);
  return await concludeRefusal(error, attempt, context);
}

/** On record: the queue has it from here on, and runs it when there is room. */
async function accept(
  { call }: Queued,
  attempt: Attempt,
  context: EngineContext,
): Promise<CallAnswer | Accepted> {
  const { callId, tool, queuedAt } = call;
  const { version, operation } = attempt.call;
  context.feeds.open(callId).push({ kind: "state", state: "QUEUED", at: queuedAt });
  // Whoever cancelled it while it was written was told that it would not run.
  if (attempt.signal.aborted && !context.inFlight.closing && !isHeldUp(attempt)) {
    context.queue.unreserve(call);
    const ended = await endQueued(callId, failure("E3906"), context);
    if (ended) return ended;
  } else {
    attempt.settled = true;
    setImmediate(() => {
      context.queue.unreserve(call);
      context.queue.push(call);
    });
  }
  return { status: "pending", callId, tool, version, operation, acceptedAt: queuedAt };
}

/** Post hooks run once the end is settled, so that they see how it really ended (MCX-2). */
async function runAfterHooks(status: CallStatus, { hooked }: Attempt, context: EngineContext): Promise<void> {
  if (hooked) await context.hooks?.after(hooked, { status });
}

/** How long to wait before the runtime tries again by itself; undefined when it must not. */
function pauseBeforeRetry(
  { life, progress }: Ending,
  { signal }: Attempt,
  { retry, random }: EngineContext,
): number | undefined {
  const { error, tool, number, question } = progress;
  // An approval is for one execution: what a person said yes to once is not run a second time.
  if (!error || life.state !== "ROLLED_BACK" || !tool || signal.aborted || question) return undefined;
  const policy = retryPolicy(tool.manifest.retry, retry);
  if (!mayRetry({ error, idempotent: tool.traits.idempotent, attempts: number }, policy)) return undefined;
  return backoffMs(number, policy, random);
}

/**
 * What follows a breach of a tool's bounds, besides its end and its rollback (R3-4): where the capability is a critical
 * one, nobody can call the tool again until a person has looked at it.
 */
async function quarantined(end: Ending, attempt: Attempt, context: EngineContext): Promise<Ending> {
  const { violation, tool, callId } = attempt;
  if (!violation || !tool || violation.details?.severity !== "critical") return end;
  const { id, version } = tool.manifest;
  try {
    const order = { reason: violation.message, by: "sallyport", callId };
    const kept = await context.quarantine(id, version, order);
    if (isFailure(kept)) context.errors.report({ error: kept, code: kept.code, callId, tool: id });
  } catch (error) {
    context.errors.report({ error, code: "E3914", callId, tool: id, stage: "quarantine" });
  }
  const message = `${id} ${version} broke its bounds and is kept apart until a person has looked at it.`;
  const warnings = [...end.progress.warnings, { code: "E3219", message }];
  return new Ending(end.life, { ...end.progress, warnings }, end.answer);
}
