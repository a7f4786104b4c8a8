import {
  type CallAnswer,
  defined,
  entryOf,
  type Failure,
  failure,
  type JsonValue,
} from "@sallyport/protocol";
import { isUnspent, release, standingAt } from "../approvals/record.ts";
import type { EngineContext } from "../context.ts";
import { readAll } from "../pages.ts";
import type { ApprovalRecord } from "../ports/approvals.ts";
import type { CallRecord } from "../ports/calls.ts";
import type { FileRollback } from "../ports/workspace.ts";
import { NOTHING_RAN } from "./progress.ts";
import { type ClosingContext, closeRecorded, markUnknown, notClosed, type RecordedEnding } from "./unit.ts";

/**
 * Gives every call that an earlier process left open its verdict, and records it. Runs nothing. A call whose effects
 * never took hold is closed as rolled back; one whose outcome nobody knows waits for a person.
 */
export async function recover(context: EngineContext): Promise<RecoveryVerdict[]> {
  await releaseReservations(context);
  const files = await takeBackFiles(context);
  const verdicts: RecoveryVerdict[] = [];
  for (const record of await leftOpen(context)) {
    verdicts.push(await settle(record, files.get(record.callId), context));
  }
  return verdicts;
}

/** Files that a call had put in place stay only if its outcome is on record. */
async function takeBackFiles({ isolation, store }: EngineContext): Promise<Map<string, FileRollback>> {
  const isDone = async (callId: string) => (await store.calls.get(callId))?.closing?.status === "success";
  const taken = (await isolation?.workspaces.recover(isDone)) ?? [];
  return new Map(taken.map(({ callId, rollback }) => [callId, rollback]));
}

async function settle(
  record: CallRecord,
  files: FileRollback | undefined,
  context: EngineContext,
): Promise<RecoveryVerdict> {
  const verdict = judge(record.callId, record);
  if (verdict.verdict === "never_started" && (await closeAsUndone(record, files, context))) return verdict;
  if (record.phase === "executing") await markUnknown(record, context);
  if (verdict.verdict !== "never_started") return verdict;
  return {
    verdict: "outcome_unknown",
    callId: record.callId,
    record,
    reason: "it left state or files behind although it never committed",
  };
}

/** What an earlier process had reserved and not spent has not run: the yes is good again. */
async function releaseReservations({ store, clock, owner }: EngineContext): Promise<void> {
  const reserved = readAll<ApprovalRecord>(
    ({ limit, from }) => store.approvals.list({ states: ["reserved"], limit, ...defined({ before: from }) }),
    ({ approvalId }) => approvalId,
  );
  for await (const record of reserved) {
    if (record.standing.state !== "reserved" || record.standing.owner === owner) continue;
    const approvals = [{ record: release(record, clock.now()), expect: record.revision }];
    // A refusal means that somebody else has just moved it on.
    await store.commit({ tenant: record.tenant, approvals });
  }
}

async function leftOpen({ store, owner }: EngineContext): Promise<CallRecord[]> {
  const found: CallRecord[] = [];
  for (const phase of ["executing", "unknown"] as const) {
    const records = readAll<CallRecord>(
      ({ limit, from }) => store.calls.list({ phase, limit, ...defined({ before: from }) }),
      ({ callId }) => callId,
    );
    for await (const record of records) if (phase === "unknown" || record.owner !== owner) found.push(record);
  }
  return found.reverse();
}

/** False when the state or the files show traces of the call, which then cannot be called undone. */
async function closeAsUndone(
  record: CallRecord,
  files: FileRollback | undefined,
  context: EngineContext,
): Promise<boolean> {
  if (files && !files.verified) return false;
  const left = await context.store.state.writtenBy(
    { tenant: record.tenant, tool: record.tool },
    record.callId,
  );
  if (left > 0) return false;
  const message = "The process ended while the call ran; nothing of it took effect.";
  const error = failure("E3107", { message, retryable: true });
  const restored = files && { files: { verified: true, hash: files.hash, discarded: files.discarded } };
  const proof = { ...NOTHING_RAN, ...restored };
  const states = ["ABORTED", "ROLLED_BACK"] as const;
  await closeRecorded(record, { states, error, proof, neverStarted: true }, context);
  return true;
}

/** What a person found out about a call whose outcome was unknown. */
export interface ManualClose {
  callId: string;
  as: "completed" | "rolled_back";
  by: string;
  note: string;
  result?: JsonValue;
}

/** Closes a call by a person's decision. Refuses a call whose outcome is not unknown. */
export async function closeByPerson(
  word: ManualClose,
  context: EngineContext,
): Promise<CallAnswer | Failure> {
  const record = await context.store.calls.get(word.callId);
  if (!record) return failure("E3917", { message: `There is no call ${word.callId}.` });
  if (record.phase !== "unknown") {
    const message = `Call ${word.callId} is ${record.phase}; only an unknown outcome can be closed by a person.`;
    return failure("E3918", { message });
  }
  const note = `${word.by}: ${word.note}`.toWellFormed();
  const answer =
    word.as === "completed"
      ? await closeRecorded(record, { states: ["COMPLETED"], result: word.result ?? null, note }, context)
      : await closeRecorded(record, { ...undoneBy(word), note }, context);
  return answer ?? notClosed("somebody else has closed it");
}

function undoneBy({ note }: ManualClose): RecordedEnding {
  const error = failure("E3906", { message: `Closed by a person as not done: ${note}` });
  return { states: ["ABORTED", "ROLLED_BACK"], error, proof: NOTHING_RAN };
}

/** What can be said of a call after the process that ran it is gone. Nothing is ever run again by itself (D-4). */
export type RecoveryVerdict =
  /** Nothing of it took effect: it has no intent, or all it could change was a transaction that never committed. */
  | { verdict: "never_started"; callId: string; reason: string }
  /** Its outcome is on record and will be given again to whoever asks. */
  | { verdict: "completed"; callId: string; record: CallRecord }
  /** It was running and may have changed the world; a person has to find out and close it. */
  | { verdict: "outcome_unknown"; callId: string; record: CallRecord; reason: string };

/** Judges a call from what the journal holds about it. `undefined` means the journal never heard of it. */
export function judge(callId: string, record: CallRecord | undefined): RecoveryVerdict {
  if (!record) return { verdict: "never_started", callId, reason: "the journal holds no intent for it" };
  if (record.phase === "waiting") {
    return { verdict: "never_started", callId, reason: "it waits for a person's approval" };
  }
  if (record.phase === "queued") {
    return { verdict: "never_started", callId, reason: "it is queued and has not run" };
  }
  if (record.phase === "closed") return { verdict: "completed", callId, record };
  if (record.sideEffects !== "external") {
    const reason = "it could change only transactional state, and its transaction never committed";
    return { verdict: "never_started", callId, reason };
  }
  const reason = "it was running when the process ended and its effects are outside Sallyport's reach";
  return { verdict: "outcome_unknown", callId, record, reason };
}

/**
 * Whether the call could still begin by itself: it is queued, or waits by an unspent yes. Rejects when the store cannot
 * be asked.
 */
export async function isStillRunnable(
  callId: string,
  { store, clock }: Pick<EngineContext, "store" | "clock">,
): Promise<boolean> {
  const record = await store.calls.get(callId);
  if (record?.phase === "queued") return true;
  if (record?.phase !== "waiting") return false;
  const approval = await store.approvals.ofCall(callId);
  return approval !== undefined && isUnspent(standingAt(approval, clock.now()));
}

/** Ends a call that was accepted and has not run; undefined when it is not queued (any more). */
export async function endQueued(
  callId: string,
  error: Failure,
  context: ClosingContext,
): Promise<CallAnswer | undefined> {
  const record = await context.store.calls.get(callId);
  if (record?.phase !== "queued") return undefined;
  const { failureClass, status } = entryOf(error);
  const end: RecordedEnding =
    failureClass === "AuthorizationError"
      ? { states: ["DENIED"], error }
      : failureClass === "ValidationError" && status !== "cancelled"
        ? { states: ["FAILED"], error }
        : { states: ["ABORTED", "ROLLED_BACK"], error, proof: NOTHING_RAN };
  return await closeRecorded(record, end, context);
}
