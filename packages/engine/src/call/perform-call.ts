import { type Accepted, type CallAnswer, type CallStatus, type Failure, failure } from "@sallyport/protocol";
import type { CallSpan } from "../telemetry/index.ts";
import { isAccepted, isLeftForLater, untilEnded } from "./accepted.ts";
import { failureAnswer } from "./answer.ts";
import { Attempt } from "./attempt.ts";
import { attempts, type Call } from "./attempts.ts";
import { requestProblem } from "./decode.ts";
import type { CallRequest, House } from "./house.ts";
import { acceptedBefore, answerOnce, duplicateId, refuse } from "./once.ts";
import { receive } from "./received.ts";
import { type GoingOn, pendingStill, waitingCall } from "./waiting-call.ts";

/** Takes one call through the passage, as often as its tool's retry policy allows. Never rejects. */
export async function performCall(given: CallRequest, house: House): Promise<CallAnswer> {
  const request = { ...ownCopy(given), asyncMode: false };
  const end = await perform(request, house);
  if (!isAccepted(end)) return end;
  // The same call was accepted before: its answer is this one's too.
  const { signal = new AbortController().signal } = request;
  const answer = await untilEnded(end.callId, signal, house).catch(() => undefined);
  return answer ?? (await notAwaited(end, request, house));
}

/** As `performCall`, but a call that may run is accepted, on record, and runs when there is room. Never rejects. */
export async function acceptCall(given: CallRequest, house: House): Promise<CallAnswer | Accepted> {
  return await perform({ ...ownCopy(given), asyncMode: true }, house);
}

async function perform(request: CallRequest, house: House): Promise<CallAnswer | Accepted> {
  const problem = requestProblem(request);
  const call: Call = {
    request,
    callId: request.callId ?? house.ids.next(),
    received: receive(request.input, house.limits.input),
    controller: new AbortController(),
    startedAt: house.clock.now(),
  };
  if (problem) return malformed(problem, call, house);
  const closing = house.inFlight.refusing;
  if (closing !== undefined) return malformed(failure("E3910", { message: closing }), call, house);
  return await observed(call, house);
}

/** Performs it in sight: counted once, and traced where somebody traces. */
async function observed(call: Call, house: House, perform?: typeof attempts): Promise<CallAnswer | Accepted> {
  const { tool, trace } = call.request;
  const span = house.telemetry.begin({ callId: call.callId, tool, trace });
  const answer = await inFlight(span ? inTrace(call, span) : call, house, perform);
  house.telemetry.ended(answer, span);
  return answer;
}

/** What the call leaves to be done later belongs to the same trace. */
function inTrace(call: Call, span: CallSpan): Call {
  const trace = span.context();
  return { ...call, span, ...(trace && { request: { ...call.request, trace } }) };
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
  perform: (call: Call, house: House) => Promise<CallAnswer | Accepted> = onceOnly,
): Promise<CallAnswer | Accepted> {
  const { callId, controller, request } = call;
  if (house.inFlight.get(callId)) {
    const pending = call.waits && (await pendingStill(callId, call, house));
    return pending ?? (await acceptedBefore(call, house)) ?? (await refuse(duplicateId(callId), call, house));
  }
  const cancel = () => controller.abort(request.signal?.reason);
  request.signal?.addEventListener("abort", cancel, { once: true });
  if (request.signal?.aborted) cancel();
  const { tenant, agent } = request.caller;
  const { tool, version, operation } = request;
  const { startedAt } = call;
  house.inFlight.enter(callId, { controller, tenant, agent, tool, version, operation, startedAt });
  let status: CallStatus = "error";
  try {
    const end = await perform(call, house);
    status = end.status;
    return end;
  } finally {
    house.inFlight.leave(callId);
    request.signal?.removeEventListener("abort", cancel);
    if (house.feeds.get(callId)) await settleFeed(callId, status, house);
  }
}

function onceOnly(call: Call, house: House): Promise<CallAnswer | Accepted> {
  return answerOnce(call, house, (due) => {
    const own = call.span && !due.span ? inTrace(due, call.span) : due;
    return own.callId === call.callId ? attempts(own, house) : inFlight(own, house, attempts);
  });
}

/** Goes on with a call that waits for approval, or answers how it stands. Never rejects. */
export async function resumeCall(
  callId: string,
  goingOn: GoingOn,
  house: House,
): Promise<CallAnswer | Failure> {
  try {
    const call = await waitingCall(callId, goingOn, house);
    if (!("controller" in call)) return call;
    const answer = await observed(call, house, attempts);
    return isAccepted(answer)
      ? failure("E3918", { message: `Call ${callId} is under way already.` })
      : answer;
  } catch (error) {
    house.errors.report({ error, code: "E3914", callId, stage: "resume" });
    return failure("E3914");
  }
}

/** Tells those who watch a call how it stands now; by the journal, because a request for it may end and it does not. */
async function settleFeed(callId: string, status: CallStatus, { store, feeds, clock }: House): Promise<void> {
  const at = clock.now();
  const record = await store.calls.get(callId).catch(() => "unknown" as const);
  if (record === "unknown") return;
  if (!record) feeds.ended(callId, { status, at });
  else if (record.closing) feeds.ended(callId, { status: record.closing.status, at });
  else if (record.phase === "unknown") feeds.ended(callId, { status: "error", at });
  else if (record.phase === "waiting") feeds.tell(callId, { kind: "state", state: "WAITING", at });
}

/** The caller gave up, the house closes, or nobody knows how the call ended. */
async function notAwaited({ callId }: Accepted, request: CallRequest, house: House): Promise<CallAnswer> {
  const error = await whyNotAwaited(callId, request, house);
  const received = receive(request.input, house.limits.input);
  const startedAt = house.clock.now();
  return await refuse(
    error,
    { request, callId, received, controller: new AbortController(), startedAt },
    house,
  );
}

async function whyNotAwaited(callId: string, { signal }: CallRequest, house: House): Promise<Failure> {
  if (signal?.aborted)
    return failure("E3906", { message: `Nobody waits for call ${callId} any more; it goes on by itself.` });
  const details = { callId };
  try {
    const record = await house.store.calls.get(callId);
    if (!record || !isLeftForLater(record, house))
      return failure("E3909", { message: `The outcome of call ${callId} is not known.`, details });
  } catch {
    return failure("E3914", { details });
  }
  return failure("E3910", {
    message: `The house is closing; call ${callId} stays queued and runs after the next start.`,
    details,
  });
}

const NOBODY = { tenant: "", agent: "" };
const NO_REQUEST: CallRequest = { tool: "", input: undefined, caller: NOBODY };

/** So malformed that nobody can be held to it: answered, not recorded. */
function malformed(problem: Failure, call: Call, house: House): CallAnswer {
  const caller = { ...NOBODY, ...call.request.caller };
  const request = { ...call.request, caller };
  const attempt = new Attempt({ ...call, clock: house.clock, request, number: 1 });
  return failureAnswer({ attempt, trail: [], completedAt: house.clock.now() }, problem);
}
