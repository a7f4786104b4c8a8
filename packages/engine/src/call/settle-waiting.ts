import { type CallAnswer, type Failure, failure, isFailure, type LifecycleState } from "@sallyport/protocol";
import { expire, withdraw } from "../approve/settle.ts";
import { type EventFacts, type EventKind, EventWriter } from "../audit/event.ts";
import type { ApprovalRecord } from "../ports/approvals.ts";
import type { CallRecord } from "../ports/calls.ts";
import type { UnitOfWork } from "../ports/store.ts";
import { noteOf, pendingAnswer } from "./answer.ts";
import { approvalOrdinal } from "./approval-events.ts";
import type { Attempt } from "./attempt.ts";
import { callbacksOf } from "./callbacks.ts";
import type { House } from "./house.ts";
import { answerFor, factsOf } from "./late-close.ts";
import { dropShown } from "./preview.ts";

/** How the end of a question ends the call that waits for it. */
interface Settlement {
  kind: EventKind;
  states: readonly LifecycleState[];
  error: Failure;
  by?: string;
}

/** Ends a question and the call that waits for it, together. Undefined when somebody else was faster. */
export async function settleWaiting(
  before: ApprovalRecord,
  after: ApprovalRecord,
  settlement: Settlement,
  house: House,
): Promise<CallAnswer | undefined> {
  const call = await house.store.calls.get(before.callId);
  if (!call) return undefined;
  const unit = settlingUnit({ before, after, call, settlement }, house);
  const result = await house.store.commit(unit);
  if (!result.ok) return undefined;
  await dropShown(before, house);
  const { approvalId, standing } = after;
  house.bus.publish("approvals:updates", { approvalId, state: standing.state });
  const closing = unit.close?.closing;
  if (closing) house.feeds.ended(call.callId, { status: closing.status, at: closing.closedAt });
  return closing?.answer;
}

interface Settling {
  before: ApprovalRecord;
  after: ApprovalRecord;
  call: CallRecord;
  settlement: Settlement;
}

function settlingUnit({ before, after, call, settlement }: Settling, house: House): UnitOfWork {
  const now = house.clock.now();
  const { approvalId, digest, votes } = after;
  const by = settlement.by === undefined ? votes.map((vote) => vote.by) : [settlement.by];
  const facts: EventFacts = {
    ...factsOf(call),
    approval: { approvalId, by, digest },
    error: settlement.error,
  };
  const proof = { verified: true, snapshotHash: "", discardedMutations: 0 };
  const isAbort = settlement.states.includes("ROLLED_BACK");
  const answer: CallAnswer = {
    ...answerFor(call, { ...settlement, ...(isAbort && { proof }) }, now),
    approval: noteOf(after),
  };
  const kinds: EventKind[] = [settlement.kind, ...settlement.states];
  return {
    tenant: call.tenant,
    close: {
      callId: call.callId,
      phase: "closed",
      closing: { status: answer.status, closedAt: now, answer },
    },
    approvals: [{ record: after, expect: before.revision, order: null }],
    events: kinds.map((kind, index) =>
      new EventWriter(facts).write(kind, facts, { ordinal: approvalOrdinal(after, index), timestamp: now }),
    ),
    ...callbacksOf(call, now),
    outbox: [{ callId: call.callId, type: "tool.failed" }],
  };
}

/** Nobody answered in time, or nobody ran it in time: the call is denied. */
export async function expireCall(
  record: ApprovalRecord,
  attempt: Attempt,
  house: House,
): Promise<CallAnswer> {
  return (await expireNow(record, house)) ?? (await asItStands(record, attempt, house));
}

/** Puts on record that an approval has expired; undefined when it has not, or somebody else did. */
export async function expireNow(record: ApprovalRecord, house: House): Promise<CallAnswer | undefined> {
  const after = expire(record, house.clock.now());
  if (isFailure(after)) return undefined;
  const wasAnswered = record.standing.state !== "pending";
  const message = wasAnswered
    ? `Approval ${record.approvalId} was given but not used in time.`
    : `Nobody answered approval ${record.approvalId} in time.`;
  const details = { approvalId: record.approvalId, reason: "approval_timeout" };
  const error = failure("E3215", { message, details });
  return await settleWaiting(record, after, { kind: "APPROVAL_EXPIRED", states: ["DENIED"], error }, house);
}

/** The caller gave up waiting: the question is taken back, and the call ends as cancelled. */
export async function withdrawCall(
  record: ApprovalRecord,
  { attempt, reason }: { attempt: Attempt; reason: string },
  house: House,
): Promise<CallAnswer> {
  const after = withdraw(record, { at: house.clock.now(), reason });
  if (isFailure(after)) return await asItStands(record, attempt, house);
  const error =
    attempt.violation ??
    failure("E3906", { message: "The call was cancelled while it waited for approval." });
  const states = ["ABORTED", "ROLLED_BACK"] as const;
  const settled = await settleWaiting(record, after, { kind: "APPROVAL_WITHDRAWN", states, error }, house);
  return settled ?? (await asItStands(record, attempt, house));
}

async function asItStands(record: ApprovalRecord, attempt: Attempt, house: House): Promise<CallAnswer> {
  const call = await house.store.calls.get(record.callId);
  const now = (await house.store.approvals.get(record.approvalId)) ?? record;
  return call?.closing?.answer ?? pendingAnswer(attempt, now, house.clock.now());
}
