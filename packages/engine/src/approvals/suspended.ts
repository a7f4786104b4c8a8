import { type CallAnswer, type Caller, defined, type Failure, failure, isFailure } from "@sallyport/protocol";
import type { Slot } from "../admit/admission.ts";
import type { EventKind } from "../audit/index.ts";
import type { CallRequest, EngineContext } from "../context.ts";
import { pendingAnswer, replayed } from "../journal/answer.ts";
import { isTransient } from "../journal/conflicts.ts";
import { NOTHING_RAN, progressOf } from "../journal/progress.ts";
import { type ClosingContext, closeRecorded, type RecordedEnding } from "../journal/unit.ts";
import { type Attempt, type Call, receive, type Suspension, uniqueSuffix } from "../passage/attempt.ts";
import { accessRefusal } from "../passage/resolve.ts";
import type { ApprovalRecord, ApprovalState } from "../ports/approvals.ts";
import type { CallRecord } from "../ports/calls.ts";
import { waitUntil } from "../wait-until.ts";
import { decodeOrder, type WaitingOrder } from "./order.ts";
import { discardPreview } from "./preview.ts";
import { end, expire, isUnspent, onNewest, standingAt, wordsOf } from "./record.ts";

/*
 * A call that waits for a person: how it is loaded again from the record, how it goes on once the question is answered,
 * and how it ends together with its question.
 */

/** How a suspended call is to go on. */
export interface ResumeOptions
  extends Pick<
    CallRequest,
    "signal" | "onOutput" | "availableBytes" | "onApproval" | "token" | "disclosure"
  > {
  /** The slot it has among the running calls already. */
  slot?: Slot;
  /** When given, only the caller that made the call can resume it, and has to be let in as for any call. */
  caller?: Caller;
}

/** The call as it was ordered, ready to go on; its answer, when it has one; or why it cannot go on. */
export async function loadSuspended(
  callId: string,
  options: ResumeOptions,
  context: EngineContext,
): Promise<Call | CallAnswer | Failure> {
  const record = await context.store.calls.get(callId);
  const { caller, token } = options;
  const isOfAnother = caller && (caller.tenant !== record?.tenant || caller.agent !== record.agent);
  if (!record || isOfAnother) return failure("E3917", { message: `There is no call ${callId}.` });
  if (caller) {
    const request = { caller, tool: record.tool, input: undefined, ...defined({ token }) };
    const refused = accessRefusal({ request, waits: undefined }, context);
    if (refused) return refused;
  }
  if (record.closing) return replayed(record.closing.answer);
  if (record.phase !== "waiting" && record.phase !== "queued") {
    return failure("E3918", { message: `Call ${callId} is ${record.phase}, not waiting for approval.` });
  }
  const kept = await keptOrder(record, context);
  if (!kept) {
    return failure("E3918", { message: `What call ${callId} was to do is no longer kept; ask for it anew.` });
  }
  const { attempts, startedAt, verified: _said, held: _shown, ...order } = kept.order;
  const { onApproval = "pending", signal, disclosure, slot, onOutput, availableBytes } = options;
  return {
    request: { ...order, onApproval, ...defined({ signal, disclosure, onOutput, availableBytes }) },
    callId,
    controller: new AbortController(),
    startedAt,
    attemptsBefore: attempts,
    ...defined({ slot }),
    ...goingOn(kept, context),
  };
}

/** The order as it is kept, and what the call has been waiting for. */
interface Kept {
  order: WaitingOrder;
  waits: Suspension;
}

async function keptOrder(
  { callId, phase }: Pick<CallRecord, "callId" | "phase">,
  { store }: Pick<EngineContext, "store">,
): Promise<Kept | undefined> {
  const approval = phase === "queued" ? undefined : await store.approvals.ofCall(callId);
  const text = await (approval ? store.approvals.order(approval.approvalId) : store.queue.order(callId));
  if (text === undefined) return undefined;
  const order = decodeOrder(text);
  const { verified, held } = order;
  if (!approval) return { order, waits: { for: "room", verified } };
  return { order, waits: { for: "approval", approvalId: approval.approvalId, verified, held } };
}

/** What is new of a call each time it goes on; a person may have changed its arguments. */
function goingOn({ order, waits }: Kept, context: EngineContext): Pick<Call, "received" | "run" | "waits"> {
  return { received: receive(order.input, context.limits.input), run: uniqueSuffix(context), waits };
}

/** The answer for a caller that does not wait for the person; undefined when the call does not wait (any more). */
export async function pendingAnswerOf(
  callId: string,
  call: Call,
  context: EngineContext,
): Promise<CallAnswer | undefined> {
  const record = await context.store.calls.get(callId);
  if (record?.closing) return replayed(record.closing.answer);
  const approval = await context.store.approvals.ofCall(callId);
  if (record?.phase !== "waiting" || !approval) return undefined;
  const progress = { ...progressOf(record), startedAt: call.startedAt };
  const ended = { visits: [], completedAt: context.clock.now() };
  return replayed(pendingAnswer(progress, ended, asked(approval, call)));
}

function asked(
  approval: ApprovalRecord,
  { request }: Pick<Call, "request">,
): { approval: ApprovalRecord; goesOn: boolean } {
  return { approval, goesOn: request.unattended === true || request.asyncMode === true };
}

/**
 * What comes after a question was put: the answer that the call waits, or, for a caller that waits itself, the call as
 * it goes on. The question is on record, so nothing is lost when this process ends meanwhile.
 */
export async function afterAsking(
  approval: ApprovalRecord,
  { call, attempt }: { call: Call; attempt: Attempt },
  context: EngineContext,
): Promise<CallAnswer | Call> {
  const { signal } = call.controller;
  const waits = call.request.onApproval === "wait";
  const record = waits ? await waitForDecision(approval, signal, context) : approval;
  // Nobody has cancelled the call; this process may not run it now. It waits on record, for this or another process.
  if (isHeldUp(attempt)) return await presentAnswer(record, attempt, context);
  if (signal.aborted && !context.inFlight.closing) {
    const message = "The call was cancelled while it waited for approval.";
    const error = attempt.violation ?? failure("E3906", { message });
    const wish = { reason: String(signal.reason), error };
    const closed = await withdrawQuestion(record.approvalId, wish, context);
    return isFailure(closed) ? await presentAnswer(record, attempt, context) : closed;
  }
  // Whoever cancels from here on has to withdraw the question, or meets the attempt that follows.
  attempt.settled = true;
  const standing = standingAt(record, context.clock.now());
  if (isUnspent(standing) && waits) {
    const kept = await keptOrder({ callId: call.callId, phase: "waiting" }, context);
    const request = kept && { ...call.request, input: kept.order.input };
    if (request) return { ...call, request, ...goingOn(kept, context) };
  }
  if (standing.state === "pending" || isUnspent(standing)) {
    return pendingAnswer(attempt.progress, attempt.endedAt(context.clock.now()), asked(record, call));
  }
  if (standing.state === "expired") await expireQuestion(record, context);
  return await presentAnswer(record, attempt, context);
}

/** Whether the attempt was ended for what will pass, such as a lease that this process could not renew. */
export function isHeldUp({ violation }: Attempt): boolean {
  return violation !== undefined && isTransient(violation);
}

/** How long a missed message can delay an answer. */
const LOOK_AGAIN_MS = 1_000;

/** Resolves once the approval is no longer pending, or the signal is aborted. Holds nothing while it waits. */
async function waitForDecision(
  approval: ApprovalRecord,
  signal: AbortSignal,
  { bus, store, clock }: Pick<EngineContext, "bus" | "store" | "clock">,
): Promise<ApprovalRecord> {
  let record = approval;
  await waitUntil(
    async () => {
      record = (await store.approvals.get(approval.approvalId)) ?? record;
      return standingAt(record, clock.now()).state === "pending" ? undefined : record;
    },
    {
      everyMs: () => Math.min(LOOK_AGAIN_MS, Math.max(1, record.expiresAt - clock.now())),
      hint: (wake) =>
        bus.subscribe("approvals:updates", ({ approvalId }) => {
          if (approvalId === approval.approvalId) wake();
        }),
      signal,
    },
  );
  return record;
}

/** What the journal says of the call now, or that it still waits. */
async function presentAnswer(
  record: ApprovalRecord,
  attempt: Attempt,
  { store, clock }: Pick<EngineContext, "store" | "clock">,
): Promise<CallAnswer> {
  const call = await store.calls.get(record.callId);
  if (call?.closing) return call.closing.answer;
  const latest = (await store.approvals.ofCall(record.callId)) ?? record;
  return pendingAnswer(attempt.progress, attempt.endedAt(clock.now()), asked(latest, attempt));
}

/** What it takes to end a question and its call. */
type QuestionContext = ClosingContext & Pick<EngineContext, "bus" | "isolation" | "errors">;

/** The caller no longer wants the call: question and call end together. The failure says why they cannot any more. */
export async function withdrawQuestion(
  approvalId: string,
  { reason, error }: { reason: string; error: Failure },
  context: QuestionContext,
): Promise<CallAnswer | Failure> {
  return await onNewest(approvalId, context.store.approvals, async (record) => {
    const at = context.clock.now();
    const after = end(record, { state: "withdrawn", at, reason: wordsOf(reason) });
    if (!isFailure(after)) return await closeWithApproval({ before: record, after, error }, context);
    // One past its time is on record as expired from here on.
    await expireQuestion(record, context);
    return after;
  });
}

/** Puts on record that an approval has expired, and denies its call; undefined when it has not, or somebody else did. */
export async function expireQuestion(
  record: ApprovalRecord,
  context: QuestionContext,
): Promise<CallAnswer | undefined> {
  const after = expire(record, context.clock.now());
  if (isFailure(after)) return undefined;
  const { approvalId, standing } = record;
  const message =
    standing.state === "pending"
      ? `Nobody answered approval ${approvalId} in time.`
      : `Approval ${approvalId} was given but not used in time.`;
  const error = failure("E3215", { message, details: { approvalId, reason: "approval_timeout" } });
  return await closeWithApproval({ before: record, after, error }, context);
}

/** How the end of a question ends the call that waits for it. */
const CLOSINGS: Partial<Record<ApprovalState, { kind: EventKind } & RecordedEnding>> = {
  denied: { kind: "APPROVAL_DENIED", states: ["DENIED"] },
  expired: { kind: "APPROVAL_EXPIRED", states: ["DENIED"] },
  withdrawn: { kind: "APPROVAL_WITHDRAWN", states: ["ABORTED", "ROLLED_BACK"], proof: NOTHING_RAN },
};

/** Ends a question and the call that waits for it, in one unit. Undefined when somebody else was faster. */
export async function closeWithApproval(
  { before, after, error }: { before: ApprovalRecord; after: ApprovalRecord; error: Failure },
  context: QuestionContext,
): Promise<CallAnswer | undefined> {
  const call = await context.store.calls.get(before.callId);
  const { approvalId, standing } = after;
  const closing = CLOSINGS[standing.state];
  if (!call || !closing) return undefined;
  const { kind, ...ending } = closing;
  const by = standing.state === "denied" ? standing.by : undefined;
  const answer = await closeRecorded(
    call,
    { ...ending, error, approval: { before, after, kind, by } },
    context,
  );
  if (!answer) return undefined;
  await discardPreview(before, context);
  context.bus.publish("approvals:updates", { approvalId, state: standing.state });
  return answer;
}
