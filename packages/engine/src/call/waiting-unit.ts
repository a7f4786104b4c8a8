import { type CallAnswer, type Failure, isFailure } from "@sallyport/protocol";
import { release, voided } from "../approve/settle.ts";
import type { ApprovalRecord } from "../ports/approvals.ts";
import type { UnitOfWork } from "../ports/store.ts";
import type { Attempt } from "./attempt.ts";
import { callbacksOf } from "./callbacks.ts";
import type { House } from "./house.ts";
import { isPassing } from "./passing.ts";

interface StillWaiting {
  attempt: Attempt;
  answer: CallAnswer;
  error: Failure;
  events: string[];
}

/**
 * The end of an attempt that never ran, of a call that waited. One that waited for room keeps its place when the house
 * closes and ends otherwise. Of one that waited for a person: where only room was missing, the yes falls back and the
 * call keeps waiting; otherwise call and question end together. Either way the question must stand as this attempt
 * last saw it: if somebody else has begun the call, nothing here applies.
 */
export function waitingUnit({ attempt, answer, error, events }: StillWaiting, house: House): UnitOfWork {
  const base = { tenant: attempt.facts.tenant, events, outbox: [] };
  const { approval, waits } = attempt;
  const now = house.clock.now();
  const closing = { status: answer.status, closedAt: answer.completedAt, answer };
  const end = {
    close: { callId: attempt.callId, phase: "closed" as const, closing },
    ...callbacksOf(toTell(attempt), now),
    outbox: [{ callId: attempt.callId, type: "tool.failed" as const }],
  };
  if (waits?.for === "room") {
    const isOnlyLate = house.inFlight.closing || error.code === "E3216" || isPassing(error);
    return isOnlyLate ? base : { ...base, ...end, close: { ...end.close, from: "queued" } };
  }
  if (!approval) return base;
  const mayTryAgain = isPassing(error) || house.inFlight.closing;
  if (mayTryAgain) return { ...base, approvals: changed(approval, release(approval, now)) };
  const past = voided(approval, { at: now, reason: `the call ended without running (${error.code})` });
  if (isFailure(past)) return base;
  return { ...base, ...end, approvals: [{ record: past, expect: approval.revision, order: null }] };
}

function toTell({ callId, facts, request: { callbackUrl } }: Attempt) {
  return { callId, tenant: facts.tenant, ...(callbackUrl !== undefined && { callbackUrl }) };
}

function changed(before: ApprovalRecord, after: ApprovalRecord) {
  return before === after ? [] : [{ record: after, expect: before.revision }];
}
