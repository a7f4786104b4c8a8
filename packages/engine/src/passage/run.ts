import {
  type Accepted,
  type CallAnswer,
  type CallStatus,
  type Failure,
  failure,
  isFailure,
} from "@sallyport/protocol";
import { loadSuspended, pendingAnswerOf, type ResumeOptions } from "../approvals/suspended.ts";
import type { CallRequest, EngineContext } from "../context.ts";
import { NO_USAGE } from "../execute/index.ts";
import { failureAnswer } from "../journal/answer.ts";
import { duplicateId } from "../journal/conflicts.ts";
import { type Call, identityOf, receive } from "./attempt.ts";
import { attempts } from "./attempts.ts";
import { idFor, requestProblem, tenantId } from "./call.ts";
import { acceptedBefore, answerOnce, isAccepted, isLeftForLater, refuse, untilEnded } from "./idempotency.ts";
import { accessRefusal } from "./resolve.ts";

type End = CallAnswer | Accepted;

/** Takes one call through the passage, as often as its tool's retry policy allows. Never rejects. */
export function performCall(given: CallRequest, context: EngineContext): Promise<CallAnswer> {
  return enter(given, { asyncMode: false, otherwise: answerOfAccepted }, context);
}

/** As `performCall`, but a call that may run is accepted, on record, and runs when there is room. Never rejects. */
export function acceptCall(given: CallRequest, context: EngineContext): Promise<End> {
  return enter(given, { asyncMode: true, otherwise: async (accepted: Accepted) => accepted }, context);
}

const NOBODY = { tenant: "", agent: "" };

/** What the caller still holds must not change the call any more; what cannot be read is no request. */
function ownCopy(given: CallRequest, asyncMode: boolean): CallRequest {
  try {
    const { caller, limits } = given;
    const copy: CallRequest = { ...given, caller: { ...caller }, asyncMode };
    if (limits) copy.limits = { ...limits };
    return copy;
  } catch {
    return { tool: "", input: undefined, caller: NOBODY, asyncMode };
  }
}

interface Entering<OnAccepted> {
  asyncMode: boolean;
  /** What is answered when the call was accepted, now or before. */
  otherwise(accepted: Accepted, request: CallRequest, context: EngineContext): Promise<OnAccepted>;
}

async function enter<OnAccepted>(
  given: CallRequest,
  { asyncMode, otherwise }: Entering<OnAccepted>,
  context: EngineContext,
): Promise<CallAnswer | OnAccepted> {
  const request = ownCopy(given, asyncMode);
  try {
    const problem = requestProblem(request);
    if (problem) return unrecorded(problem, request, { callId: context.ids.next(), context });
    const call: Call = {
      request,
      callId: request.callId ?? context.ids.next(),
      received: receive(request.input, context.limits.input),
      controller: new AbortController(),
      startedAt: context.clock.now(),
    };
    const named = request.callId === undefined ? call : await withOwnId(call, context);
    const shut = notAdmitting(context);
    if (shut) return unrecorded(shut, request, { callId: call.callId, context });
    if (isFailure(named)) return await refuse(named, call, context);
    const traced = inTrace(named, context);
    const end = await inFlight(traced, context, onceOnly);
    context.telemetry.ended(end, traced.span);
    return isAccepted(end) ? await otherwise(end, request, context) : end;
  } catch (error) {
    context.errors.report({ error, code: "E3900", tool: request.tool, stage: "begin" });
    return unrecorded(failure("E3900"), request, { callId: "", context });
  }
}

/** Answered, not recorded: the request is so malformed that nobody can be held to it, or the engine closes. */
function unrecorded(
  error: Failure,
  request: CallRequest,
  given: { callId: string; context: EngineContext },
): CallAnswer {
  const { callId = given.callId } = request;
  const call = identityOf(callId, { ...request, caller: { ...NOBODY, ...request.caller } });
  const at = given.context.clock.now();
  const known = { call, executionId: callId, inputHash: "", number: 1, startedAt: at, usage: NO_USAGE };
  return failureAnswer({ ...known, warnings: [] }, { visits: [], completedAt: at }, error);
}

async function withOwnId(call: Call, context: EngineContext): Promise<Call | Failure> {
  try {
    return { ...call, callId: await idFor(call.callId, call.request.caller.tenant, context) };
  } catch (error) {
    context.errors.report({ error, code: "E3914", callId: call.callId, stage: "call id" });
    return failure("E3914");
  }
}

/** The call with a span of its own, where somebody traces: what it leaves to be done later belongs to the same trace. */
function inTrace(call: Call, context: EngineContext, { span }: Pick<Call, "span"> = {}): Call {
  const { tool, trace } = call.request;
  const shown = span ?? context.telemetry.begin({ callId: call.callId, tool, trace });
  if (!shown) return call;
  const within = shown.context();
  return { ...call, span: shown, request: within ? { ...call.request, trace: within } : call.request };
}

type Perform = (call: Call, context: EngineContext) => Promise<End>;

/** Holds the call id and listens for cancellation while the call is under way. */
async function inFlight(call: Call, context: EngineContext, perform: Perform): Promise<End> {
  const { callId, controller, request, startedAt } = call;
  const { caller, signal, tool, version, operation } = request;
  const { tenant, agent } = caller;
  const holder = context.inFlight.get(callId);
  // Another tenant's call, or this tenant's own under its second id, has come since the id was looked for.
  if (request.callId === callId && !call.waits) {
    const own = tenantId(callId, tenant);
    const isForeign = holder !== undefined && holder.tenant !== tenant;
    if (isForeign || context.inFlight.get(own))
      return await inFlight({ ...call, callId: own }, context, perform);
  }
  if (holder) return await underWay(call, context);
  const cancel = signal && (() => controller.abort(signal.reason));
  if (cancel) {
    signal.addEventListener("abort", cancel, { once: true });
    if (signal.aborted) cancel();
  }
  context.inFlight.enter(callId, { controller, tenant, agent, tool, version, operation, startedAt });
  let status: CallStatus = "error";
  try {
    const end = await perform(call, context);
    status = end.status;
    return end;
  } finally {
    context.inFlight.leave(callId);
    context.elsewhere.ended(callId);
    if (cancel) signal.removeEventListener("abort", cancel);
    if (context.feeds.get(callId)) await settleFeed(callId, status, context);
  }
}

/** What is said to whoever asks for a call that is under way here. */
async function underWay(call: Call, context: EngineContext): Promise<End> {
  const { callId, request, waits } = call;
  const refused = accessRefusal({ request, waits }, context);
  if (refused) return await refuse(refused, call, context);
  const known =
    (waits && (await pendingAnswerOf(callId, call, context))) ?? (await acceptedBefore(call, context));
  return known ?? (await refuse(duplicateId(callId), call, context));
}

function onceOnly(call: Call, context: EngineContext): Promise<End> {
  return answerOnce(call, context, (due) => {
    if (due.callId === call.callId) return underOwnId(due, context);
    return inFlight(call.span && !due.span ? inTrace(due, context, call) : due, context, attempts);
  });
}

/**
 * The attempts of a call. Another process may have put a call of another tenant on record under the same id since it was
 * looked for: nothing of this one is on record then, nor has it changed anything, and it is done under its second id.
 */
async function underOwnId(call: Call, context: EngineContext): Promise<End> {
  const end = await attempts(call, context);
  const { callId, request, waits } = call;
  if (!("error" in end) || end.error.code !== "E3905" || waits || request.callId !== callId) return end;
  const { tenant } = request.caller;
  const holder = await context.store.calls.get(callId).catch(() => undefined);
  if (!holder || holder.tenant === tenant) return end;
  return await inFlight({ ...call, callId: tenantId(callId, tenant) }, context, attempts);
}

/** Goes on with a call that waits for approval, or answers how it stands. Never rejects. */
export async function resumeCall(
  callId: string,
  options: ResumeOptions,
  context: EngineContext,
): Promise<CallAnswer | Failure> {
  const shut = notAdmitting(context);
  if (shut) return shut;
  try {
    const call = await loadSuspended(callId, options, context);
    if (!("controller" in call)) return call;
    // The engine may have closed while the order was read: then the call goes on waiting.
    const shutSince = notAdmitting(context);
    if (shutSince) return shutSince;
    const traced = inTrace(call, context);
    const answer = await inFlight(traced, context, attempts);
    context.telemetry.ended(answer, traced.span);
    return isAccepted(answer)
      ? failure("E3918", { message: `Call ${callId} is under way already.` })
      : answer;
  } catch (error) {
    context.errors.report({ error, code: "E3914", callId, stage: "resume" });
    return failure("E3914");
  }
}

/** Why no call is taken: the engine closes, or others may count this process as gone. */
function notAdmitting({ inFlight: { refusing }, membership }: EngineContext): Failure | undefined {
  return refusing === undefined ? membership.refusal : failure("E3910", { message: refusing });
}

/** Tells those who watch a call how it stands now; by the journal, because a request for it may end and it does not. */
async function settleFeed(
  callId: string,
  status: CallStatus,
  { store, feeds, clock, elsewhere }: EngineContext,
): Promise<void> {
  const at = clock.now();
  const record = await store.calls.get(callId).catch(() => "unknown" as const);
  if (record === "unknown") return;
  if (!record) feeds.ended(callId, { status, at });
  else if (elsewhere.has(record)) feeds.drop(callId);
  else if (record.closing) feeds.ended(callId, { status: record.closing.status, at });
  else if (record.phase === "unknown") feeds.ended(callId, { status: "error", at });
  else if (record.phase === "waiting") feeds.get(callId)?.push({ kind: "state", state: "WAITING", at });
}

/** The answer of a call that was accepted before, when the same is asked for by somebody who waits. */
async function answerOfAccepted(
  { callId }: Accepted,
  request: CallRequest,
  context: EngineContext,
): Promise<CallAnswer> {
  const { signal = new AbortController().signal } = request;
  const answer = await untilEnded(callId, signal, context).catch(() => undefined);
  if (answer) return answer;
  // The caller gave up, the engine closes, or nobody knows how the call ended.
  const error = await whyNotAwaited(callId, request, context);
  const received = receive(request.input, context.limits.input);
  const startedAt = context.clock.now();
  const call = { request, callId, received, controller: new AbortController(), startedAt };
  return await refuse(error, call, context);
}

async function whyNotAwaited(
  callId: string,
  { signal }: CallRequest,
  context: EngineContext,
): Promise<Failure> {
  if (signal?.aborted)
    return failure("E3906", { message: `Nobody waits for call ${callId} any more; it goes on by itself.` });
  const details = { callId };
  try {
    const record = await context.store.calls.get(callId);
    if (!record || !isLeftForLater(record, context))
      return failure("E3909", { message: `The outcome of call ${callId} is not known.`, details });
  } catch {
    return failure("E3914", { details });
  }
  const message = `The engine is closing; call ${callId} goes on in another process or after the next start.`;
  return failure("E3910", { message, details });
}
