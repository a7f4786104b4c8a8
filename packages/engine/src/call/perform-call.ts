import { setTimeout as sleep } from "node:timers/promises";
import { type CallAnswer, type CallStatus, entryOf, type Failure, failure } from "@sallyport/protocol";
import { backoffMs, mayRetry, retryPolicy } from "../execute/retry.ts";
import { afterAsking } from "./after-asking.ts";
import { failureAnswer } from "./answer.ts";
import { Attempt, type Waits } from "./attempt.ts";
import { conclude, concludeDefect, concludeRefusal, errorOf } from "./conclude.ts";
import { requestProblem } from "./decode.ts";
import type { CallRequest, House } from "./house.ts";
import { answerOnce, duplicateId, refuse } from "./once.ts";
import { passage } from "./pipeline.ts";
import { type Received, receive } from "./received.ts";
import { Asked, Refused } from "./steps.ts";
import { afterViolation } from "./violation.ts";
import { type GoingOn, pendingStill, waitingCall } from "./waiting-call.ts";

/** A call under way: the same through all its attempts. */
export interface Call {
  request: CallRequest;
  callId: string;
  received: Received;
  controller: AbortController;
  startedAt: number;
  /** Set when the journal holds it as waiting for approval. */
  waits?: Waits;
  /** Attempts made before this process, or before a person was asked. */
  attemptsBefore?: number;
  /** Tells this time of going on from others. */
  run?: string;
}

/** Takes one call through the passage, as often as its tool's retry policy allows. Never rejects. */
export async function performCall(given: CallRequest, house: House): Promise<CallAnswer> {
  const request = ownCopy(given);
  const problem = requestProblem(request);
  const call: Call = {
    request,
    callId: request.callId ?? house.ids.next(),
    received: receive(request.input, house.limits.input),
    controller: new AbortController(),
    startedAt: house.clock.now(),
  };
  if (problem) return malformed(problem, call, house);
  const answer = await inFlight(call, house);
  house.telemetry.ended(answer);
  return answer;
}

/** What the caller still holds must not change the call any more; what cannot be read is no request. */
function ownCopy(given: CallRequest): CallRequest {
  try {
    const { caller, limits } = given;
    return { ...given, caller: { ...caller }, ...(limits && { limits: { ...limits } }) };
  } catch {
    return NO_REQUEST;
  }
}

/** Holds the call id and listens for cancellation while the call is under way. */
async function inFlight(
  call: Call,
  house: House,
  perform: (call: Call, house: House) => Promise<CallAnswer> = onceOnly,
): Promise<CallAnswer> {
  const { callId, controller, request } = call;
  if (house.inFlight.get(callId)) {
    const pending = call.waits && (await pendingStill(callId, call, house));
    return pending ?? (await refuse(duplicateId(callId), call, house));
  }
  const cancel = () => controller.abort(request.signal?.reason);
  request.signal?.addEventListener("abort", cancel, { once: true });
  if (request.signal?.aborted) cancel();
  house.inFlight.enter(callId, { controller, tenant: request.caller.tenant });
  try {
    return await perform(call, house);
  } finally {
    house.inFlight.leave(callId);
    request.signal?.removeEventListener("abort", cancel);
  }
}

function onceOnly(call: Call, house: House): Promise<CallAnswer> {
  return answerOnce(call, house, (due) =>
    due.callId === call.callId ? attempts(due, house) : inFlight(due, house, attempts),
  );
}

/** Goes on with a call that waits for approval, or answers how it stands. Never rejects. */
export async function resumeCall(
  callId: string,
  goingOn: GoingOn,
  house: House,
): Promise<CallAnswer | Failure> {
  try {
    const call = await waitingCall(callId, goingOn, house);
    return "controller" in call ? await inFlight(call, house, attempts) : call;
  } catch (error) {
    house.errors.report({ error, code: "E3914", callId, stage: "resume" });
    return failure("E3914");
  }
}

/** Walks the passage until the call has an answer: again after a person has answered, or when a retry is due. */
async function attempts(first: Call, house: House): Promise<CallAnswer> {
  let call = first;
  let previous: Attempt | undefined;
  for (;;) {
    const attempt: Attempt = nextAttempt(call, previous);
    try {
      const end = await passage.walk({ attempt }, house);
      if (end instanceof Refused) return await concludeRefusal(end.error, attempt, house);
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

/** Post hooks run once the end is settled, so that they see how it really ended (MCX-2). */
async function leaveHooks(answer: CallAnswer, attempt: Attempt, house: House): Promise<CallAnswer> {
  await runAfterHooks(answer.status, attempt, house);
  return answer;
}

async function runAfterHooks(status: CallStatus, { hooked }: Attempt, house: House): Promise<void> {
  if (hooked) await house.hooks?.after(hooked, { status });
}

function nextAttempt(call: Call, previous: Attempt | undefined): Attempt {
  if (!previous) return new Attempt({ ...call, number: (call.attemptsBefore ?? 0) + 1 });
  const { toolVersion: version, operation } = previous.facts;
  const request = { ...call.request, version, operation };
  const attempt = new Attempt({ ...call, request, number: previous.number + 1 });
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

const NOBODY = { tenant: "", agent: "" };
const NO_REQUEST: CallRequest = { tool: "", input: undefined, caller: NOBODY };

/** So malformed that nobody can be held to it: answered, not recorded. */
function malformed(problem: Failure, call: Call, house: House): CallAnswer {
  const caller = { ...NOBODY, ...call.request.caller };
  const request = { ...call.request, caller };
  const attempt = new Attempt({ ...call, request, number: 1 });
  return failureAnswer({ attempt, trail: [], completedAt: house.clock.now() }, problem);
}
