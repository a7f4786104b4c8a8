import { type Accepted, type CallAnswer, type Failure, failure, isFailure } from "@sallyport/protocol";
import type { CallRecord } from "../ports/calls.ts";
import { acceptedOf, isAccepted, isUnderWay } from "./accepted.ts";
import { Attempt } from "./attempt.ts";
import type { Call } from "./attempts.ts";
import { keyOf, requestDigest } from "./call-record.ts";
import { concludeRefusal } from "./conclude.ts";
import type { House } from "./house.ts";
import { fromRecord, otherBody, replayed } from "./replay.ts";
import { shortId } from "./short-id.ts";
import { unidentified } from "./stages/resolve.ts";
import { pendingStill, waitingCall } from "./waiting-call.ts";
import { LATE, within } from "./within.ts";

type End = CallAnswer | Accepted;

/**
 * Makes sure that a request is performed at most once: a call id is used once, and an idempotency key stands for one
 * request, also when two arrive at the same time and after a restart.
 */
export async function answerOnce(call: Call, house: House, perform: Perform): Promise<End> {
  const key = keyOf(call.request);
  if (key === undefined) return (await takenId(call, { house, perform })) ?? (await perform(call));
  const digest = requestDigest(call.request, call.received.inputHash);
  const underWay = house.inFlight.keyed(key);
  if (underWay) {
    const stranger = unidentified({ request: call.request, waits: undefined }, house);
    if (stranger) return await refuse(stranger, call, house);
    if (underWay.digest !== digest) return await refuse(otherBody(call.request.idempotencyKey), call, house);
    return await shareAnswer(call, underWay.answer, { house, digest });
  }
  const answer = recallOrPerform(call, { house, digest, perform });
  house.inFlight.hold(key, { digest, answer });
  return await answer;
}

/** How often a caller that shares another's answer looks whether that one waits for a person. */
const LOOK_AGAIN_MS = 250;

/** The answer of the same request under way. Who does not want to wait for a person does not, and anybody can give up. */
async function shareAnswer(
  call: Call,
  answer: Promise<End>,
  { house, digest }: { house: House; digest: string },
): Promise<End> {
  const { signal } = call.controller;
  for (;;) {
    const shared = await within(answer, LOOK_AGAIN_MS);
    if (shared !== LATE) return isAccepted(shared) ? shared : replayed(shared);
    if (signal.aborted) return await refuse(failure("E3906"), call, house);
    const pending =
      call.request.onApproval === "wait"
        ? undefined
        : await pendingByKey(call, digest, house).catch(() => undefined);
    if (pending) return pending;
  }
}

async function pendingByKey(call: Call, digest: string, house: House): Promise<End | undefined> {
  const { caller, idempotencyKey: key = "" } = call.request;
  const record = await house.store.calls.byIdempotencyKey({ ...caller, key });
  if (record?.phase !== "waiting" || record.requestDigest !== digest) return undefined;
  return await pendingStill(record.callId, call, house);
}

/** Performs the call it is given, which may be an earlier one that waits. */
type Perform = (call: Call) => Promise<End>;

interface Once {
  house: House;
  digest: string;
  perform: Perform;
}

async function recallOrPerform(call: Call, once: Once): Promise<End> {
  const known = await recall(call, once);
  if (known) return known;
  const taken = await takenId(call, once);
  if (taken) return taken;
  const answer = await once.perform(call);
  const lostTheRace = "error" in answer && answer.error.code === "E3904";
  return lostTheRace ? ((await recall(call, once)) ?? answer) : answer;
}

/** The recorded answer, or the reason there can be none; undefined when the key is new. */
async function recall(call: Call, { house, digest, perform }: Once): Promise<End | undefined> {
  const { caller, idempotencyKey: key = "" } = call.request;
  try {
    const record = await house.store.calls.byIdempotencyKey({ ...caller, key });
    if (!record) return undefined;
    const stranger = unidentified({ request: call.request, waits: undefined }, house);
    if (stranger) return await refuse(stranger, call, house);
    if (record.phase === "waiting" && record.requestDigest === digest) {
      return await goOn(record.callId, call, { house, perform });
    }
    if (record.requestDigest === digest && isUnderWay(record, house)) return acceptedOf(record);
    const recorded = fromRecord(record, digest);
    return recorded.ok ? recorded.answer : await refuse(recorded.error, call, house);
  } catch (error) {
    house.errors.report({ error, code: "E3914", callId: call.callId, stage: "idempotency" });
    return await refuse(failure("E3914"), call, house);
  }
}

async function takenId(call: Call, { house, perform }: Omit<Once, "digest">): Promise<End | undefined> {
  const { callId, request } = call;
  if (request.callId === undefined) return undefined;
  try {
    const taken = await house.store.calls.get(callId);
    if (!taken) return undefined;
    const stranger = unidentified({ request, waits: undefined }, house);
    if (stranger) return await refuse(stranger, call, house);
    if (isSame(taken, call) && isUnderWay(taken, house)) return acceptedOf(taken);
    if (isSame(taken, call) && taken.phase === "waiting") return await goOn(callId, call, { house, perform });
    return await refuse(duplicateId(callId), call, house);
  } catch (error) {
    house.errors.report({ error, code: "E3914", callId, stage: "call id" });
    return await refuse(failure("E3914"), call, house);
  }
}

/** The call is under way already: asked for again, it is the same call. Undefined when it is another. */
export async function acceptedBefore(call: Call, house: House): Promise<Accepted | undefined> {
  const record = await house.store.calls.get(call.callId).catch(() => undefined);
  if (!record || !isSame(record, call) || !isUnderWay(record, house)) return undefined;
  const { request, waits } = call;
  return unidentified({ request, waits }, house) ? undefined : acceptedOf(record);
}

/** The same caller asking for the same thing: asking again for a call that waits goes on with it. */
function isSame(record: CallRecord, { request, received }: Call): boolean {
  return (
    record.tenant === request.caller.tenant &&
    record.agent === request.caller.agent &&
    record.tool === request.tool &&
    (request.operation === undefined || record.operation === request.operation) &&
    record.inputHash === received.inputHash
  );
}

async function goOn(
  callId: string,
  { request, controller, ...call }: Call,
  { house, perform }: Omit<Once, "digest">,
): Promise<End> {
  const { caller, token, onApproval, disclosure } = request;
  const due = await waitingCall(
    callId,
    {
      signal: controller.signal,
      caller,
      ...(token !== undefined && { token }),
      ...(onApproval && { onApproval }),
      ...(disclosure && { disclosure }),
    },
    house,
  );
  if ("controller" in due) return await perform(due);
  return isFailure(due) ? await refuse(due, { ...call, request, controller }, house) : due;
}

export function duplicateId(callId: string): Failure {
  return failure("E3905", { message: `There is already a call ${callId}.` });
}

/** Answers a call that must not be performed; the refusal is on record. */
export function refuse(error: Failure, call: Call, house: House): Promise<CallAnswer> {
  const attempt = new Attempt({ ...call, clock: house.clock, number: 1, run: shortId(house) });
  return concludeRefusal(error, attempt, house);
}
