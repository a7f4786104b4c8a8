import { setTimeout as sleep } from "node:timers/promises";
import {
  type Accepted,
  type CallAnswer,
  defined,
  type Failure,
  failure,
  isFailure,
} from "@sallyport/protocol";
import { loadSuspended, pendingAnswerOf } from "../approvals/suspended.ts";
import type { CallRequest, EngineContext } from "../context.ts";
import { replayed } from "../journal/answer.ts";
import { concludeRefusal } from "../journal/conclude.ts";
import { duplicateId } from "../journal/conflicts.ts";
import { requestDigest } from "../journal/unit.ts";
import type { CallRecord } from "../ports/calls.ts";
import { TIMED_OUT, withTimeout } from "../timeouts.ts";
import { waitUntil } from "../wait-until.ts";
import { Attempt, type Call, uniqueSuffix } from "./attempt.ts";
import { proveCaller } from "./call.ts";
import { accessRefusal } from "./resolve.ts";

type End = CallAnswer | Accepted;

/** Performs the call it is given, which may be an earlier one that waits. */
type Perform = (call: Call) => Promise<End>;

interface Once {
  context: EngineContext;
  perform: Perform;
}

/** How long a missed hint can delay an answer. */
const LOOK_AGAIN_MS = 250;
/** The same where the call runs in another process. */
const LOOK_ELSEWHERE_MS = 1_000;
/** A process that is gone for so long is not going to be judged by another one: there is none. */
const UNJUDGED_MS = 60_000;

/**
 * Makes sure that a request is performed at most once: a call id is used once, and an idempotency key stands for one
 * request, also when two arrive at the same time and after a restart.
 */
export function answerOnce(call: Call, context: EngineContext, perform: Perform): Promise<End> {
  const { request, received } = call;
  const key = keyOf(request);
  if (key === undefined && request.callId === undefined) return perform(call);
  const digest = key === undefined ? undefined : requestDigest(request, received.inputHash);
  const underWay = key === undefined ? undefined : context.inFlight.keyed(key);
  if (underWay && digest !== undefined)
    return share(call, { ...underWay, asked: digest }, { context, perform });
  const answer = recallOrPerform(call, digest, { context, perform });
  if (key !== undefined && digest !== undefined) context.inFlight.hold(key, { digest, answer });
  return answer;
}

/** A key belongs to the agent that uses it. */
function keyOf({ caller, idempotencyKey }: CallRequest): string | undefined {
  return idempotencyKey === undefined
    ? undefined
    : JSON.stringify([caller.tenant, caller.agent, idempotencyKey]);
}

/**
 * Waits for the identical request that is already running. Returns early when the caller cancels, or when that request
 * waits for approval and this caller does not. When the other caller cancels before anything ran, this one's turn comes.
 */
async function share(
  call: Call,
  { answer, digest, asked }: { answer: Promise<End>; digest: string; asked: string },
  { context, perform }: Once,
): Promise<End> {
  const { request, controller } = call;
  const refused = accessRefusal({ request, waits: undefined }, context);
  if (refused) return await refuse(refused, call, context);
  if (asked !== digest) return await refuse(otherBody(request.idempotencyKey), call, context);
  for (;;) {
    const shared = await withTimeout(answer, LOOK_AGAIN_MS);
    if (shared !== TIMED_OUT) {
      if (isAccepted(shared)) return { ...shared, replayed: true };
      if (shared.status === "cancelled" && (await isKeyFree(request, context)))
        return await answerOnce(call, context, perform);
      return replayed(copyOf(shared));
    }
    if (controller.signal.aborted) return await refuse(failure("E3906"), call, context);
    if (request.onApproval === "wait") continue;
    const pending = await pendingByKey(call, digest, context).catch(() => undefined);
    if (pending) return pending;
  }
}

/** By way of its text, as the journal keeps it: that copies whatever could be recorded. */
function copyOf(answer: CallAnswer): CallAnswer {
  return JSON.parse(JSON.stringify(answer));
}

async function pendingByKey(call: Call, digest: string, context: EngineContext): Promise<End | undefined> {
  const record = await holderOfKey(call.request, context);
  if (record?.phase !== "waiting" || record.requestDigest !== digest) return undefined;
  return await pendingAnswerOf(record.callId, call, context);
}

function holderOfKey({ caller, idempotencyKey: key = "" }: CallRequest, { store }: EngineContext) {
  return store.calls.byIdempotencyKey({ ...caller, key });
}

/** Whether no call on record has the key; false when that cannot be found out. */
async function isKeyFree(request: CallRequest, context: EngineContext): Promise<boolean> {
  try {
    return (await holderOfKey(request, context)) === undefined;
  } catch {
    return false;
  }
}

async function recallOrPerform(call: Call, digest: string | undefined, once: Once): Promise<End> {
  const known = await fromJournal(call, digest, once);
  if (known) return known;
  const answer = await once.perform(call);
  if (digest === undefined || !("error" in answer)) return answer;
  const { code } = answer.error;
  // The same request has come to another process at the same time, and has its id as well where that was given.
  const lostTheRace =
    code === "E3904" || (code === "E3905" && !(await isKeyFree(call.request, once.context)));
  return lostTheRace ? ((await fromJournal(call, digest, once)) ?? answer) : answer;
}

/** What is said to a request whose key or id a call in the journal has; undefined when both are free. */
async function fromJournal(call: Call, digest: string | undefined, once: Once): Promise<End | undefined> {
  const { request, callId } = call;
  const { context } = once;
  let stage = "idempotency";
  try {
    const holder = digest === undefined ? undefined : await holderOfKey(request, context);
    stage = "call id";
    const record =
      holder ?? (request.callId === undefined ? undefined : await context.store.calls.get(callId));
    // Another tenant's call has come to this id since it was looked for: this one gets another when it is put on record.
    if (!record || record.tenant !== request.caller.tenant) return undefined;
    const stranger = accessRefusal({ request, waits: undefined }, context);
    if (stranger) return await refuse(stranger, call, context);
    // Asking again for the same thing goes on with the call.
    if (holder ? holder.requestDigest === digest : isSame(record, call)) {
      if (record.phase === "waiting") return await resumeExisting(record.callId, call, { digest, once });
      if (isUnderWay(record, context)) return acceptedOf(record);
    }
    return holder
      ? await byKey(holder, call, { digest, context })
      : await refuse(duplicateId(callId), call, context);
  } catch (error) {
    context.errors.report({ error, code: "E3914", callId, stage });
    return await refuse(failure("E3914"), call, context);
  }
}

/** The recorded answer of the call that holds the key, or why there can be none. */
async function byKey(
  record: CallRecord,
  call: Call,
  { digest, context }: { digest: string | undefined; context: EngineContext },
): Promise<CallAnswer> {
  if (record.requestDigest !== digest) return await refuse(otherBody(record.idempotencyKey), call, context);
  if (record.closing) return replayed(record.closing.answer);
  // A call whose outcome nobody knows is never run again by asking once more.
  const message = `Call ${record.callId} holds this key and its outcome is not known.`;
  const details = { callId: record.callId, phase: record.phase };
  const refused = await refuse(failure("E3909", { message, details }), call, context);
  // The call that holds the key can be looked up; the id of this request leads nowhere.
  return { ...refused, callId: record.callId };
}

async function resumeExisting(
  callId: string,
  call: Call,
  { digest, once }: { digest: string | undefined; once: Once },
): Promise<End> {
  const { context, perform } = once;
  const { caller, token, onApproval, disclosure } = call.request;
  const { controller } = call;
  const options = { signal: controller.signal, caller, ...defined({ token, onApproval, disclosure }) };
  const due = await loadSuspended(callId, options, context);
  // Whoever cancels the request cancels the call that answers it.
  const end = "controller" in due ? await perform({ ...due, controller }) : due;
  const isTaken = isFailure(end)
    ? await isAnswered(callId, context)
    : onApproval === "wait" && end.status === "pending_approval" && !controller.signal.aborted;
  // Another process has the answer of the person: it begins the call, or gives the answer back.
  if (isTaken) await sleep(LOOK_AGAIN_MS, undefined, { signal: controller.signal }).catch(() => undefined);
  const known = isTaken ? await fromJournal(call, digest, once) : undefined;
  if (known) return known;
  if (isFailure(end)) return await refuse(end, call, context);
  return end.status === "pending_approval" ? replayed(end) : end;
}

async function isAnswered(callId: string, context: EngineContext): Promise<boolean> {
  const record = await context.store.calls.get(callId);
  return record !== undefined && (record.closing !== undefined || isUnderWay(record, context));
}

/** The call is under way already: asked for again, it is the same call. Undefined when it is another. */
export async function acceptedBefore(call: Call, context: EngineContext): Promise<Accepted | undefined> {
  const record = await context.store.calls.get(call.callId).catch(() => undefined);
  if (!record || !isSame(record, call) || !isUnderWay(record, context)) return undefined;
  const { request, waits } = call;
  return accessRefusal({ request, waits }, context) ? undefined : acceptedOf(record);
}

/** The same caller asking for the same thing. */
function isSame(record: CallRecord, { request, received }: Call): boolean {
  return (
    record.tenant === request.caller.tenant &&
    record.agent === request.caller.agent &&
    record.tool === request.tool &&
    (request.operation === undefined || record.operation === request.operation) &&
    record.inputHash === received.inputHash
  );
}

/** Answers a call that must not be performed; the refusal is on record. */
export function refuse(error: Failure, call: Call, context: EngineContext): Promise<CallAnswer> {
  const known = proveCaller(call, context);
  const attempt = new Attempt(call, { known, clock: context.clock, refused: uniqueSuffix(context) });
  return concludeRefusal(error, attempt, context);
}

function otherBody(key: string | undefined): Failure {
  return failure("E3904", { message: `The idempotency key "${key ?? ""}" was used for another request.` });
}

export function isAccepted(end: End): end is Accepted {
  return "acceptedAt" in end;
}

/** What is said of a call that was accepted before, whoever asks for it again. */
function acceptedOf({ callId, tool, version, operation, startedAt, phase }: CallRecord): Accepted {
  const status = phase === "queued" ? "pending" : "running";
  return { status, callId, tool, version, operation, acceptedAt: startedAt, replayed: true };
}

/** The call is queued, or a process has it: then its answer or a verdict comes, and there is no second run. */
function isUnderWay(record: CallRecord, { inFlight, elsewhere, owner }: EngineContext): boolean {
  const { phase, callId } = record;
  // The request itself is in flight too, when it names the call.
  const isHere = phase === "executing" && record.owner === owner && inFlight.get(callId) !== undefined;
  return phase === "queued" || isHere || elsewhere.has(record);
}

/** An engine that closes begins nothing any more, and does not wait for other processes: the answer comes without it. */
export function isLeftForLater(record: CallRecord, { inFlight, elsewhere }: EngineContext): boolean {
  const isLeft = record.phase === "queued" || elsewhere.has(record);
  return isLeft && (inFlight.refusing !== undefined || inFlight.closing);
}

/** The recorded answer of an accepted call; undefined when it will not come here, or the signal came first. */
export async function untilEnded(
  callId: string,
  signal: AbortSignal,
  context: EngineContext,
): Promise<CallAnswer | undefined> {
  const { store, feeds, elsewhere } = context;
  let everyMs = LOOK_AGAIN_MS;
  let seenAt = performance.now();
  const read = async () => {
    const record = await store.calls.get(callId);
    if (record?.closing) return { answer: replayed(record.closing.answer) };
    const isElsewhere = record !== undefined && elsewhere.has(record);
    everyMs = isElsewhere ? LOOK_ELSEWHERE_MS : LOOK_AGAIN_MS;
    if (!isElsewhere || (await store.instances.isLive(record.owner))) seenAt = performance.now();
    const isOver = !record || record.phase === "unknown" || isLeftForLater(record, context);
    return isOver || performance.now() - seenAt > UNJUDGED_MS ? {} : undefined;
  };
  const hint = (wake: () => void) => {
    const here = feeds.get(callId)?.onNews(wake);
    const there = elsewhere.onEnd(callId, wake);
    return () => {
      here?.();
      there();
    };
  };
  const ended = await waitUntil<{ answer?: CallAnswer }>(read, { everyMs: () => everyMs, hint, signal });
  return ended?.answer;
}
