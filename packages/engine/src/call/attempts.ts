import { setTimeout as sleep } from "node:timers/promises";
import {
  type Accepted,
  type CallAnswer,
  type CallStatus,
  entryOf,
  type Failure,
  failure,
} from "@sallyport/protocol";
import type { Place } from "../admit/admission.ts";
import { backoffMs, mayRetry, retryPolicy } from "../execute/retry.ts";
import type { CallSpan } from "../telemetry/index.ts";
import { afterAsking } from "./after-asking.ts";
import { Attempt, type Waits } from "./attempt.ts";
import { conclude, concludeDefect, concludeRefusal, concludeWaiting, errorOf } from "./conclude.ts";
import { endQueued, endRefused } from "./end-queued.ts";
import type { CallRequest, House } from "./house.ts";
import { isPassing } from "./passing.ts";
import { passage } from "./pipeline.ts";
import type { Received } from "./received.ts";
import { Asked, Queued, Refused } from "./steps.ts";
import { afterViolation } from "./violation.ts";

/** A call under way: the same through all its attempts. */
export interface Call {
  request: CallRequest;
  callId: string;
  received: Received;
  controller: AbortController;
  startedAt: number;
  /** Set when the journal holds it as waiting or queued. */
  waits?: Waits;
  /** The place it has among the running calls already, for its first attempt. */
  place?: Place;
  /** What a trace shows of it; absent where nobody traces. */
  span?: CallSpan;
  /** Attempts made before this process, or before a person was asked. */
  attemptsBefore?: number;
  /** Tells this time of going on from others. */
  run?: string;
}

/** Walks the passage until the call has an answer: again after a person has answered, or when a retry is due. */
export async function attempts(first: Call, house: House): Promise<CallAnswer | Accepted> {
  let call = first;
  let previous: Attempt | undefined;
  for (;;) {
    const attempt: Attempt = nextAttempt(call, previous, house);
    house.inFlight.attend(call.callId, attempt);
    try {
      const end = await passage.walk({ attempt }, house);
      if (end instanceof Refused) return await refused(end.error, attempt, house);
      if (end instanceof Queued) return await accept(end, attempt, house);
      if (end instanceof Asked) {
        attempt.leave();
        const next = await afterAsking(end.approval, { call, attempt }, house);
        if ("status" in next) return next;
        call = next;
        previous = attempt;
        continue;
      }
      if (attempt.violation) await afterViolation(attempt, house);
      const error = errorOf(end);
      const undone = end.life.state === "ROLLED_BACK";
      const wait = error && undone ? pauseBeforeRetry(error, attempt, house) : undefined;
      if (wait === undefined) return await leaveHooks(await conclude(end, attempt, house), attempt, house);
      if (error) await runAfterHooks(entryOf(error).status, attempt, house);
      attempt.leave();
      await pause(wait, call.controller.signal);
    } catch (thrown) {
      return await leaveHooks(await concludeDefect(thrown, attempt, house), attempt, house);
    } finally {
      attempt.leave();
    }
    previous = attempt;
  }
}

async function refused(error: Failure, attempt: Attempt, house: House): Promise<CallAnswer> {
  const { waits, request } = attempt;
  const ended = waits?.for === "room" && (await endRefused(attempt.callId, error, house));
  if (ended) return ended;
  // Nobody is going to ask for it again, so that it would wait until its approval expires.
  if (waits?.for === "approval" && request.unattended && !isPassing(error)) {
    attempt.approval ??= await house.store.approvals.get(waits.approvalId);
    return await concludeWaiting(error, attempt, house);
  }
  return await concludeRefusal(error, attempt, house);
}

/** On record: the queue has it from here on, and runs it when there is room. */
async function accept({ call }: Queued, attempt: Attempt, house: House): Promise<CallAnswer | Accepted> {
  const { callId, tool, queuedAt } = call;
  const { toolVersion: version, operation } = attempt.facts;
  house.feeds.open(callId).push({ kind: "state", state: "QUEUED", at: queuedAt });
  // Whoever cancelled it while it was written was told that it would not run.
  if (attempt.signal.aborted && !house.inFlight.closing) {
    house.queue.unreserve(call);
    const ended = await endQueued(callId, failure("E3906"), house);
    if (ended) return ended;
  } else {
    setImmediate(() => {
      house.queue.unreserve(call);
      house.queue.push(call);
    });
  }
  return { status: "pending", callId, tool, version, operation, acceptedAt: queuedAt };
}

/** Post hooks run once the end is settled, so that they see how it really ended (MCX-2). */
async function leaveHooks(answer: CallAnswer, attempt: Attempt, house: House): Promise<CallAnswer> {
  await runAfterHooks(answer.status, attempt, house);
  return answer;
}

async function runAfterHooks(status: CallStatus, { hooked }: Attempt, house: House): Promise<void> {
  if (hooked) await house.hooks?.after(hooked, { status });
}

function nextAttempt(call: Call, previous: Attempt | undefined, { clock }: House): Attempt {
  if (!previous) return new Attempt({ ...call, clock, number: (call.attemptsBefore ?? 0) + 1 });
  const { toolVersion: version, operation } = previous.facts;
  const request = { ...call.request, version, operation };
  // The first attempt has given its place back.
  const { place: _given, ...again } = call;
  const attempt = new Attempt({ ...again, clock, request, number: previous.number + 1 });
  attempt.follow(previous);
  return attempt;
}

/** How long to wait before the runtime tries again by itself; undefined when it must not. */
function pauseBeforeRetry(error: Failure, attempt: Attempt, house: House): number | undefined {
  const { tool, number } = attempt;
  // An approval is for one execution: what a person said yes to once is not run a second time.
  if (!tool || attempt.signal.aborted || attempt.approval) return undefined;
  const policy = retryPolicy(tool.manifest.retry, house.retry);
  if (!mayRetry({ error, idempotent: tool.conduct.idempotent, attempts: number }, policy)) return undefined;
  return backoffMs(number, policy, house.random);
}

/** Cut short by a cancellation: the next attempt then ends as cancelled, on record. */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => undefined);
}
