import {
  type CallAnswer,
  type Caller,
  defined,
  type Failure,
  failure,
  isFailure,
  type LifecycleState,
} from "@sallyport/protocol";
import type { Slot } from "../admit/admission.ts";
import type { EventKind } from "../audit/index.ts";
import type { CallRequest, EngineContext } from "../context.ts";
import { pendingAnswer, replayed } from "../journal/answer.ts";
import { NOTHING_RAN, progressOf } from "../journal/progress.ts";
import { closeRecorded } from "../journal/unit.ts";
import { type Attempt, type Call, receive, type Suspension, uniqueSuffix } from "../passage/attempt.ts";
import { accessRefusal } from "../passage/resolve.ts";
import type { ApprovalRecord } from "../ports/approvals.ts";
import type { CallRecord } from "../ports/calls.ts";
import { waitUntil } from "../wait-until.ts";
import { decodeOrder, type WaitingOrder } from "./order.ts";
import { discardPreview } from "./preview.ts";
import { expire, isUnspent, onNewest, standingAt, withdraw } from "./record.ts";

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
  const { onApproval = "pending", disclosure, slot, onOutput, availableBytes } = options;
  return {
    request: { ...order, onApproval, ...defined({ disclosure, onOutput, availableBytes }) },
    callId,
    received: receive(order.input, context.limits.input),
    controller: controllerOf(options.signal),
    startedAt,
    waits: kept.waits,
    ...defined({ slot }),
    attemptsBefore: attempts,
    run: uniqueSuffix(context),
  };
}

/** The order as it is kept, and what the call has been waiting for. */
async function keptOrder(
  { callId, phase }: CallRecord,
  { store }: Pick<EngineContext, "store">,
): Promise<{ order: WaitingOrder; waits: Suspension } | undefined> {
  if (phase === "queued") {
    const text = await store.queue.order(callId);
    const order = text === undefined ? undefined : decodeOrder(text);
    return order && { order, waits: { for: "room", verified: order.verified } };
  }
  const approval = await store.approvals.ofCall(callId);
  const text = approval && (await store.approvals.order(approval.approvalId));
  if (!approval || text === undefined) return undefined;
  const order = decodeOrder(text);
  const { verified, held } = order;
  return { order, waits: { for: "approval", approvalId: approval.approvalId, verified, held } };
}

function controllerOf(signal: AbortSignal | undefined): AbortController {
  const controller = new AbortController();
  if (signal?.aborted) controller.abort(signal.reason);
  signal?.addEventListener("abort", () => controller.abort(signal.reason), { once: true });
  return controller;
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
  return pendingAnswer(progress, { visits: [], completedAt: context.clock.now() }, approval);
}

interface Asking {
  call: Call;
  attempt: Attempt;
}

/**
 * What comes after a question was put: the answer that the call waits, or, for a caller that waits itself, the call as
 * it goes on. The question is on record, so nothing is lost when this process ends meanwhile.
 */
export async function afterAsking(
  approval: ApprovalRecord,
  { call, attempt }: Asking,
  context: EngineContext,
): Promise<CallAnswer | Call> {
  const { signal } = call.controller;
  const waits = call.request.onApproval === "wait";
  const record = waits ? await waitForDecision(approval, signal, context) : approval;
  if (signal.aborted && !context.inFlight.closing) {
    return await withdrawForCaller(record, attempt, context);
  }
  // Whoever cancels from here on has to withdraw the question, or meets the attempt that follows.
  attempt.settled = true;
  const standing = standingAt(record, context.clock.now());
  if (isUnspent(standing) && waits) {
    const order = await context.store.approvals.order(record.approvalId);
    if (order !== undefined) return continued(decodeOrder(order), { record, call, attempt }, context);
  }
  if (standing.state === "pending" || isUnspent(standing)) {
    return pendingAnswer(attempt.progress, attempt.endedAt(context.clock.now()), record);
  }
  const expired = standing.state === "expired" ? await expireQuestion(record, context) : undefined;
  return expired ?? (await presentAnswer(record, attempt, context));
}

/** How long a missed message can delay an answer. */
const LOOK_AGAIN_MS = 1_000;

/** Resolves once the approval is no longer pending, or the signal is aborted. Holds nothing while it waits. */
async function waitForDecision(
  approval: ApprovalRecord,
  signal: AbortSignal,
  { bus, store, clock }: EngineContext,
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

/** The call with the arguments that were approved, which a person may have changed. */
function continued(
  order: WaitingOrder,
  { record, call, attempt }: Asking & { record: ApprovalRecord },
  context: EngineContext,
): Call {
  const verified = attempt.progress.decision?.token ?? attempt.waits?.verified;
  return {
    ...call,
    request: { ...call.request, input: order.input },
    received: receive(order.input, context.limits.input),
    run: uniqueSuffix(context),
    waits: { for: "approval", approvalId: record.approvalId, verified, held: order.held },
  };
}

/** The caller gave up waiting: question and call end as cancelled, unless somebody settled them before. */
async function withdrawForCaller(
  record: ApprovalRecord,
  attempt: Attempt,
  context: EngineContext,
): Promise<CallAnswer> {
  const message = "The call was cancelled while it waited for approval.";
  const error = attempt.violation ?? failure("E3906", { message });
  const withdrawal = { reason: String(attempt.signal.reason), error };
  const { approvals } = context.store;
  const closed = await onNewest(record.approvalId, approvals, (latest) =>
    withdrawQuestion(latest, withdrawal, context),
  );
  return isFailure(closed) ? await presentAnswer(record, attempt, context) : closed;
}

/** What the journal says of the call now, or that it still waits. */
async function presentAnswer(
  record: ApprovalRecord,
  attempt: Attempt,
  { store, clock }: EngineContext,
): Promise<CallAnswer> {
  const call = await store.calls.get(record.callId);
  if (call?.closing) return call.closing.answer;
  const latest = (await store.approvals.get(record.approvalId)) ?? record;
  return pendingAnswer(attempt.progress, attempt.endedAt(clock.now()), latest);
}

/**
 * The caller no longer wants the call: question and call end together. The failure says why they cannot any more;
 * undefined when somebody else was faster.
 */
export async function withdrawQuestion(
  record: ApprovalRecord,
  { reason, error }: { reason: string; error: Failure },
  context: EngineContext,
): Promise<CallAnswer | Failure | undefined> {
  const after = withdraw(record, { at: context.clock.now(), reason });
  if (isFailure(after)) return after;
  const states = ["ABORTED", "ROLLED_BACK"] as const;
  return await closeWithApproval(record, after, { kind: "APPROVAL_WITHDRAWN", states, error }, context);
}

/** Puts on record that an approval has expired, and denies its call; undefined when it has not, or somebody else did. */
export async function expireQuestion(
  record: ApprovalRecord,
  context: EngineContext,
): Promise<CallAnswer | undefined> {
  const after = expire(record, context.clock.now());
  if (isFailure(after)) return undefined;
  const { approvalId, standing } = record;
  const message =
    standing.state === "pending"
      ? `Nobody answered approval ${approvalId} in time.`
      : `Approval ${approvalId} was given but not used in time.`;
  const error = failure("E3215", { message, details: { approvalId, reason: "approval_timeout" } });
  return await closeWithApproval(
    record,
    after,
    { kind: "APPROVAL_EXPIRED", states: ["DENIED"], error },
    context,
  );
}

/** How the end of a question ends the call that waits for it. */
interface ApprovalClosing {
  kind: EventKind;
  states: readonly LifecycleState[];
  error: Failure;
  by?: string;
}

/** Ends a question and the call that waits for it, in one unit. Undefined when somebody else was faster. */
export async function closeWithApproval(
  before: ApprovalRecord,
  after: ApprovalRecord,
  closing: ApprovalClosing,
  context: EngineContext,
): Promise<CallAnswer | undefined> {
  const call = await context.store.calls.get(before.callId);
  if (!call) return undefined;
  const { by, kind, states, error } = closing;
  const proof = states.includes("ROLLED_BACK") && { proof: NOTHING_RAN };
  const ending = { states, error, ...proof, approval: { before, after, kind, by } };
  const answer = await closeRecorded(call, ending, context);
  if (!answer) return undefined;
  await discardPreview(before, context);
  const { approvalId, standing } = after;
  context.bus.publish("approvals:updates", { approvalId, state: standing.state });
  return answer;
}
