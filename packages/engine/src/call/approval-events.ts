import { type EventKind, EventWriter } from "../audit/event.ts";
import type { ApprovalRecord } from "../ports/approvals.ts";
import type { CallRecord } from "../ports/calls.ts";
import { factsOf } from "./late-close.ts";

/** Event numbers after any that the executions of the call itself can write; each change of each question has its own. */
const PER_ROUND = 100_000;
const PER_CHANGE = 10;

export function approvalOrdinal({ round, revision }: ApprovalRecord, index: number): number {
  return round * PER_ROUND + revision * PER_CHANGE + index;
}

/** What a person said about a call, for the call's own chain. */
export function approvalEvent(
  kind: EventKind,
  record: ApprovalRecord,
  said: { call: CallRecord; by: string; at: number; note?: string | undefined },
): string {
  const { approvalId, digest } = record;
  const facts = {
    ...factsOf(said.call),
    approval: { approvalId, by: [said.by], digest },
    ...(said.note !== undefined && { note: said.note.toWellFormed() }),
  };
  return new EventWriter(facts).write(kind, facts, {
    ordinal: approvalOrdinal(record, 0),
    timestamp: said.at,
  });
}
