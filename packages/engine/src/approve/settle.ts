import { type Failure, failure, type JsonValue } from "@sallyport/protocol";
import type { ApprovalRecord, ApprovalStanding, ApprovalState } from "../ports/approvals.ts";
import { levelAt, mayNotAnswer } from "./levels.ts";

/*
 * Every change an approval can go through, as pure functions from a record to the next one. A change is written with
 * the revision it was made on, so of two made at once one is refused and made again on what the other left: nobody
 * can spend an approval twice, and a denial that came first stays.
 */

/** A change, or why it cannot be made. */
export type Settled = ApprovalRecord | Failure;

interface Word {
  by: string;
  at: number;
}

/** How an approval really stands: past its time it is expired, and a reservation past its own has fallen back. */
export function standingAt(record: ApprovalRecord, now: number): ApprovalStanding {
  const { standing } = record;
  if (isFinal(standing.state)) return standing;
  if (standing.state === "reserved") {
    return standing.until > now ? standing : standingAt(release(record, now), now);
  }
  return now >= record.expiresAt ? { state: "expired", at: record.expiresAt } : standing;
}

const FINAL: readonly ApprovalState[] = ["consumed", "denied", "expired", "withdrawn", "void"];

/** Whether nothing can change it any more. */
export function isFinal(state: ApprovalState): boolean {
  return FINAL.includes(state);
}

/** Whether a person has said yes and nothing has been run by it yet. */
export function isUnspent(standing: ApprovalStanding): boolean {
  return standing.state === "approved" || standing.state === "edited";
}

/** A yes. With enough different people's it is approved. */
export function approve(record: ApprovalRecord, { by, at, comment }: Word & { comment?: string }): Settled {
  const refused = mustBePending(record, at) ?? mayNotAnswer(record, by, at);
  if (refused) return refused;
  if (record.votes.some((vote) => vote.by === by)) {
    return failure("E3222", {
      message: `${by} has approved ${record.approvalId} already; ${record.quorum} different people have to.`,
    });
  }
  const vote = { by, at, level: levelAt(record, at), digest: record.digest, ...(comment && { comment }) };
  const votes = [...record.votes, vote];
  const standing = enough(record, votes) ? yes(record, at) : record.standing;
  return next(record, { votes, standing });
}

/** A no, by one person; nobody overrules it. */
export function deny(record: ApprovalRecord, { by, at, reason }: Word & { reason: string }): Settled {
  const refused = mustBePending(record, at) ?? mayNotAnswer(record, by, at);
  return refused ?? next(record, { standing: { state: "denied", at, by, reason } });
}

export interface Edit extends Word {
  digest: string;
  inputHash: string;
  policyVersion: string;
  manifestHash: string;
  summary: string;
  /** Redacted. */
  input: JsonValue;
}

/** A yes to other arguments. What others said was about the old ones and does not count. */
export function edit(record: ApprovalRecord, { by, at, ...changed }: Edit): Settled {
  const refused = mustBePending(record, at) ?? mayNotAnswer(record, by, at);
  if (refused) return refused;
  const votes = [{ by, at, level: levelAt(record, at), digest: changed.digest }];
  const edited = { ...record, ...changed, editedBy: by };
  return next(edited, { votes, standing: enough(edited, votes) ? yes(edited, at) : record.standing });
}

/** Holds it for one executor that is about to run exactly what was approved. */
export function reserve(
  record: ApprovalRecord,
  { owner, at, leaseMs, digest }: { owner: string; at: number; leaseMs: number; digest: string },
): Settled {
  const standing = standingAt(record, at);
  if (!isUnspent(standing)) return settledAlready(record, standing);
  if (digest !== record.digest) return changedSince(record);
  return next(record, { standing: { state: "reserved", owner, until: at + leaseMs } });
}

/** Spends it, in the same unit of work as the intent to run. */
export function consume(record: ApprovalRecord, { owner, at }: { owner: string; at: number }): Settled {
  const { standing } = record;
  if (standing.state !== "reserved" || standing.owner !== owner) return settledAlready(record, standing);
  return next(record, { standing: { state: "consumed", at } });
}

/** Gives a reservation back: nothing has run by it. */
export function release(record: ApprovalRecord, at: number): ApprovalRecord {
  if (record.standing.state !== "reserved") return record;
  return next(record, { standing: yes(record, at) });
}

/** The caller no longer wants the call. */
export function withdraw(record: ApprovalRecord, { at, reason }: { at: number; reason: string }): Settled {
  return end(record, { state: "withdrawn", at, reason }, at);
}

/** What would run is not what was approved, or must not run any more. */
export function voided(record: ApprovalRecord, { at, reason }: { at: number; reason: string }): Settled {
  return end(record, { state: "void", at, reason }, at);
}

/** Puts on record that nobody answered in time, or that a yes was not used in time. */
export function expire(record: ApprovalRecord, now: number): Settled {
  const standing = standingAt(record, now);
  if (standing.state === "expired" && record.standing.state !== "expired") return next(record, { standing });
  return settledAlready(record, standing);
}

function end(record: ApprovalRecord, standing: ApprovalStanding, at: number): Settled {
  const present = standingAt(record, at);
  return isFinal(present.state) ? settledAlready(record, present) : next(record, { standing });
}

export function changedSince({ approvalId }: ApprovalRecord): Failure {
  return failure("E3216", {
    message: `Approval ${approvalId} is for other arguments, another tool version, policy or caller than this call has now.`,
    details: { approvalId },
  });
}

function mustBePending(record: ApprovalRecord, now: number): Failure | undefined {
  const standing = standingAt(record, now);
  return standing.state === "pending" ? undefined : settledAlready(record, standing);
}

function settledAlready({ approvalId, callId }: ApprovalRecord, standing: ApprovalStanding): Failure {
  const { state } = standing;
  return failure("E3222", {
    message: `Approval ${approvalId} is ${state}.`,
    details: { approvalId, state },
    ...(isUnspent(standing) && { advice: `Run the call by it: \`sallyport calls resume ${callId}\`.` }),
  });
}

function enough({ quorum, digest }: ApprovalRecord, votes: ApprovalRecord["votes"]): boolean {
  return new Set(votes.filter((vote) => vote.digest === digest).map(({ by }) => by)).size >= quorum;
}

function yes({ editedBy }: ApprovalRecord, at: number): ApprovalStanding {
  return editedBy === undefined ? { state: "approved", at } : { state: "edited", at };
}

function next(record: ApprovalRecord, change: Partial<ApprovalRecord>): ApprovalRecord {
  return { ...record, ...change, revision: record.revision + 1 };
}
