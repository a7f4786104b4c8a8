import {
  type CallAnswer,
  type Failure,
  failure,
  isTerminal,
  type LifecycleState,
  type RollbackProof,
  SallyportError,
} from "@sallyport/protocol";
import { discardPreview } from "../approvals/preview.ts";
import { SYSTEM_TENANT } from "../audit/index.ts";
import type { EngineContext } from "../context.ts";
import type { Attempt } from "../passage/attempt.ts";
import { type Ending, withRollback } from "../passage/steps.ts";
import type { ApprovalRecord } from "../ports/approvals.ts";
import type { CommitResult, Store, UnitOfWork } from "../ports/store.ts";
import { TIMED_OUT, withTimeout } from "../timeouts.ts";
import { failureAnswer, withReceipt } from "./answer.ts";
import { reasonOf } from "./bounded-store.ts";
import { takenOver } from "./conflicts.ts";
import { type Failing, NOTHING_RAN } from "./progress.ts";
import { closeAttempt, eventsUnit, suspendedUnit } from "./unit.ts";

/** Puts an unsuccessful end on record and answers with it. A success was recorded by its commit. */
export async function conclude(
  { life, progress }: Ending,
  attempt: Attempt,
  context: EngineContext,
): Promise<CallAnswer> {
  attempt.settled = true;
  const error = progress.error ?? failure("E3900", { message: "A completed call has no answer." });
  const answer = failureAnswer(progress, attempt.endedAt(context.clock.now()), error);
  if (attempt.isStillWaiting) return await concludeSuspended({ answer, error }, attempt, context);
  const end = { answer, error, isOver: isTerminal(life.state), audit: attempt.log.unit().audit };
  return await record(endUnit(attempt, end, context), { attempt, answer }, context);
}

/** Refused before a lifecycle began: the event is kept, there is no call to journal. */
export async function concludeRefusal(
  error: Failure,
  attempt: Attempt,
  context: EngineContext,
): Promise<CallAnswer> {
  const now = context.clock.now();
  const answer = failureAnswer(attempt.progress, attempt.endedAt(now), error);
  const admitted = attempt.chain === SYSTEM_TENANT ? context.unknownCallers.admit(error.code) : {};
  if (!admitted) return answer;
  attempt.record("REFUSED", now, { ...attempt.progress, error, ...admitted });
  return await record(eventsUnit(attempt, attempt.log.unit().audit), { attempt, answer }, context);
}

/** Refused as well, but the journal holds it as waiting: call and question end together. */
export async function concludeWaiting(
  error: Failure,
  attempt: Attempt,
  context: EngineContext,
): Promise<CallAnswer> {
  const now = context.clock.now();
  attempt.record("REFUSED", now, { ...attempt.progress, error });
  const answer = failureAnswer(attempt.progress, attempt.endedAt(now), error);
  return await concludeSuspended({ answer, error }, attempt, context);
}

async function concludeSuspended(
  end: { answer: CallAnswer; error: Failure },
  attempt: Attempt,
  context: EngineContext,
): Promise<CallAnswer> {
  const question = await questionOf(attempt, context);
  const unit = suspendedUnit({ ...end, attempt, question, audit: attempt.log.unit().audit }, context);
  const answer = await record(unit, { attempt, answer: end.answer }, context);
  if (unit.close && question) await discardPreview(question, context);
  return answer;
}

async function questionOf(
  { waits, progress: { question } }: Attempt,
  { store }: EngineContext,
): Promise<ApprovalRecord | undefined> {
  if (question || waits?.for !== "approval") return question;
  return await store.approvals.get(waits.approvalId);
}

/**
 * Something broke that should not have. The call still ends inside its lifecycle: what it changed is undone, its last
 * state is written and the journal is closed. Only a call whose outcome was sent, or whose rollback cannot be proved, is
 * left for a person. Never rejects.
 */
export async function concludeDefect(
  thrown: unknown,
  attempt: Attempt,
  context: EngineContext,
): Promise<CallAnswer> {
  attempt.settled = true;
  const error = thrown instanceof SallyportError ? thrown.failure : failure("E3900");
  reportDefect(thrown, error, { attempt, context });
  try {
    const landed = attempt.outcomeSent ? await recordedAnswer(attempt, context) : undefined;
    if (landed) return landed;
    const progress = await endLifecycle(error, attempt, context);
    const answer = failureAnswer(progress, attempt.endedAt(context.clock.now()), error);
    const last = attempt.visits.at(-1)?.state;
    const isOver = last !== undefined && isTerminal(last) && !attempt.outcomeSent;
    const end = { answer, error, isOver, audit: attempt.log.safeUnit().audit };
    return await record(endUnit(attempt, end, context), { attempt, answer }, context);
  } catch (again) {
    reportDefect(again, error, { attempt, context });
    const { progress, visits } = attempt;
    const answer = failureAnswer(progress, { visits, completedAt: progress.startedAt }, error);
    return unrecorded(answer, "ending it failed, too");
  }
}

function reportDefect(
  thrown: unknown,
  { code }: Failure,
  { attempt, context }: { attempt: Attempt; context: EngineContext },
): void {
  const { callId, tool } = attempt.call;
  context.errors.report({ error: thrown, code, callId, tool });
}

/** Undoes what the attempt has changed and enters the states that are left to it. */
async function endLifecycle(error: Failure, attempt: Attempt, context: EngineContext): Promise<Failing> {
  const known = attempt.progress;
  const failed = { ...known, error, outputHash: undefined, effectsHash: undefined, effects: undefined };
  const proof = known.rollback ? undefined : await undone(attempt, context);
  const progress = proof ? withRollback(failed, proof, attempt.ran) : failed;
  const last = attempt.visits.at(-1)?.state;
  if (last === undefined) attempt.record("REFUSED", context.clock.now(), progress);
  for (const state of statesAfter(last, progress.rollback?.verified === true)) {
    attempt.enter({ state, at: context.clock.now() }, progress);
    context.telemetry.transition(state, progress.call.tool);
  }
  return progress;
}

/** The proof that nothing of the attempt is left; undefined when there is none. */
async function undone(attempt: Attempt, context: EngineContext): Promise<RollbackProof | undefined> {
  const { transaction, outcomeSent } = attempt;
  if (!transaction) return NOTHING_RAN;
  if (outcomeSent) transaction.abandon();
  if (!transaction.isActive()) return undefined;
  try {
    return await transaction.rollback();
  } catch (error) {
    reportDefect(error, failure("E3912"), { attempt, context });
    return undefined;
  }
}

function statesAfter(last: LifecycleState | undefined, isUndone: boolean): LifecycleState[] {
  switch (last) {
    case "DECLARED":
      return ["FAILED"];
    case "VALIDATED":
    case "AUTHORIZED":
      return ["ABORTED", "ROLLED_BACK"];
    case "EXECUTING":
      return isUndone ? ["ROLLED_BACK"] : ["ABORTED"];
    case "ABORTED":
      return isUndone ? ["ROLLED_BACK"] : [];
    default:
      return [];
  }
}

interface End {
  answer: CallAnswer;
  error: Failure;
  /** Its last state says all there is to know. */
  isOver: boolean;
  audit: string | undefined;
}

/** Closes the call, or leaves it to a person where nobody knows what it has done. */
function endUnit(
  attempt: Attempt,
  { answer, error, isOver, audit }: End,
  context: EngineContext,
): UnitOfWork {
  // Nothing has run: the call keeps waiting, and what was reserved falls back by itself.
  if (attempt.isStillWaiting || !attempt.tool) return eventsUnit(attempt, audit);
  // Without effects nobody has to find out anything, unless it was seen to have left something behind all the same.
  const hasNoEffects = attempt.tool.traits.sideEffects === "none" && error.code !== "E3912";
  if (isOver || hasNoEffects) return closeAttempt(attempt, { answer, audit }, context);
  const unit = eventsUnit(attempt, audit);
  const { fence, callId, hasStarted } = attempt;
  if (!fence) return unit;
  if (isUnproved(attempt, error)) {
    context.unrecorded.undone(fence, { error, hasStarted });
    return { ...unit, fence };
  }
  return { ...unit, fence, close: { callId, phase: "unknown" } };
}

/**
 * Its changes never left this process, and the store could not be asked for the proof: the next comparison asks, and
 * closes the call.
 */
function isUnproved({ tool, transaction, outcomeSent, progress }: Attempt, error: Failure): boolean {
  const keepsStateOnly = tool?.traits.sideEffects === "state" && !transaction?.files;
  return keepsStateOnly && !outcomeSent && !progress.rollback && error.code !== "E3912";
}

async function record(
  unit: UnitOfWork,
  { attempt, answer }: { attempt: Attempt; answer: CallAnswer },
  context: EngineContext,
): Promise<CallAnswer> {
  const publishing = attempt.span?.open("event.publish");
  const result = await commitEnd(unit, { attempt, answer }, context);
  const isWritten = "ok" in result && result.ok;
  publishing?.end(isWritten ? { ok: true } : { ok: false, code: "E3801" });
  if (!("ok" in result)) {
    context.unrecorded.owe(attempt.runs, unit);
    return unrecorded(answer, result.lost);
  }
  if (attempt.fence) context.unrecorded.settled(attempt.callId);
  if (result.ok) return withReceipt(answer, attempt.progress, result.link);
  // Somebody else has ended the call meanwhile: what the journal says counts.
  const recorded = await recordedAnswer(attempt, context);
  if (recorded) return recorded;
  const late = result.conflict.kind === "fenced" ? await answerOfLateOwner(attempt, context) : undefined;
  return late ?? unrecorded(answer, result.conflict.kind);
}

/** Codes of calls that end because the store did not answer. */
const STORE_AWAY: ReadonlySet<string> = new Set(["E3801", "E3908", "E3914"]);
/** A caller who has waited for such a store already waits no longer than this for the end to be on record. */
const AGAIN_MS = 500;

/**
 * A store that broke without a word is asked once more: an end that is not on record costs more than a second try. Where
 * the record does not hold the call, and the store was away just now, its end may still land after the answer.
 */
async function commitEnd(
  unit: UnitOfWork,
  { attempt, answer }: { attempt: Attempt; answer: CallAnswer },
  { store, errors }: EngineContext,
): Promise<CommitResult | { lost: string }> {
  const { callId, fence, waits } = attempt;
  const isShort = !fence && !waits && "error" in answer && STORE_AWAY.has(answer.error.code);
  for (let isLast = false; ; isLast = true) {
    try {
      if (!isShort) return await commitAsRun(unit, attempt, store);
      const result = await withTimeout(store.commit(unit), AGAIN_MS);
      return result === TIMED_OUT ? { lost: "the store does not answer" } : result;
    } catch (error) {
      errors.report({ error, code: "E3801", callId, stage: "record outcome" });
      const reason = reasonOf(error);
      if (isLast || reason !== undefined) return { lost: reason ?? "the store could not be written" };
    }
  }
}

/** As the run before, where one whose intent had no answer is not on record; else as that one. */
async function commitAsRun(unit: UnitOfWork, { runs }: Attempt, store: Store): Promise<CommitResult> {
  let result = await store.commit(unit);
  for (const fence of runs.slice(1)) {
    if (result.ok || result.conflict.kind !== "fenced") break;
    result = await store.commit({ ...unit, fence });
  }
  return result;
}

/** The answer the journal has for this very attempt's call. */
async function recordedAnswer(
  { call, progress }: Attempt,
  { store, owner }: EngineContext,
): Promise<CallAnswer | undefined> {
  const found = await store.calls.get(call.callId).catch(() => undefined);
  const isOurs =
    found?.owner === owner && found.startedAt === progress.startedAt && found.tenant === call.tenant;
  return isOurs ? found.closing?.answer : undefined;
}

/**
 * This process was counted as gone: the call is another's now, and its outcome is what the record says. Undefined when it
 * executes for this process: as a run whose intent had no answer.
 */
async function answerOfLateOwner(
  attempt: Attempt,
  { store, clock, owner }: EngineContext,
): Promise<CallAnswer | undefined> {
  const { callId } = attempt.call;
  const found = await store.calls.get(callId).catch(() => undefined);
  if (found?.phase === "executing" && found.owner === owner) return undefined;
  const standing = found?.closing?.status ?? found?.phase ?? "not known";
  const error = takenOver(callId, {
    message: `Another process has taken call ${callId} over, because this one lost its lease; on record it is ${standing}.`,
    details: { callId, standing },
  });
  return failureAnswer({ ...attempt.progress, error }, attempt.endedAt(clock.now()), error);
}

/** The call failed anyway; that its end is not on record has to be said too. */
function unrecorded(answer: CallAnswer, why: string): CallAnswer {
  const warning = { code: "E3801", message: `This ending is not on record (${why}).` };
  return { ...answer, warnings: [...answer.warnings, warning] };
}
