import { type Failure, failure, SallyportError } from "@sallyport/protocol";
import type { EngineContext } from "../context.ts";
import { cancelled } from "../execute/index.ts";
import { successAnswer, withReceipt } from "../journal/answer.ts";
import { isUnanswered, reasonOf } from "../journal/bounded-store.ts";
import { conflictFailure, fileRefusal } from "../journal/conflicts.ts";
import type { Progress } from "../journal/progress.ts";
import { closeAttempt } from "../journal/unit.ts";
import type { CommitResult, UnitOfWork } from "../ports/store.ts";
import { Ending, type ResultAccepted, rollBack, scoped } from "./steps.ts";

/** Makes files, state, outcome, events and messages durable together; only then is the call completed. */
export function commit(at: ResultAccepted, context: EngineContext): Promise<Ending> {
  const { attempt } = at;
  if (attempt.signal.aborted) return rollBack(at, attempt.violation ?? cancelled(attempt.signal));
  // From here on a cancellation is too late: nothing may be awaited between the check and this.
  attempt.settled = true;
  if (attempt.request.dryRun) return dropEffects(at, context);
  return at.transaction.files ? commitFiles(at, context) : recordOutcome(at, at.progress, context);
}

async function commitFiles(at: ResultAccepted, context: EngineContext): Promise<Ending> {
  const refused = (await isTakenOver(at, context)) ?? (await applyFiles(at, context));
  if (refused) return await rollBack(at, refused);
  const { effects } = at.transaction;
  return await recordOutcome(at, { ...at.progress, effects, effectsHash: effects?.digest }, context);
}

/** A dry run completes with what it would have changed, after dropping all of it. */
async function dropEffects(at: ResultAccepted, context: EngineContext): Promise<Ending> {
  const { attempt, transaction } = at;
  let progress = at.progress;
  try {
    progress = { ...progress, effects: await transaction.files?.effects() };
  } catch (error) {
    return await rollBack(at, knownFailure(error, at, context));
  }
  const proof = await transaction.rollback();
  if (!proof.verified) return await rollBack({ ...at, progress }, failure("E3912"));
  const rollback = scoped(proof, { ran: attempt.ran, progress });
  return await recordOutcome(at, { ...progress, rollback, note: "dry run: nothing was kept" }, context);
}

async function recordOutcome(at: ResultAccepted, known: Progress, context: EngineContext): Promise<Ending> {
  const { attempt, tool, life, transaction, outputHash } = at;
  const { callId, log } = attempt;
  const completedAt = context.clock.now();
  const progress = { ...known, outputHash, durationMs: attempt.tookMs };
  const visit = { state: "COMPLETED" as const, at: completedAt };
  const ended = { visits: [...attempt.visits, visit], completedAt };
  const answer = successAnswer(progress, ended, at.output);
  const { audit } = log.unit({ kind: "COMPLETED", at: completedAt, progress });
  attempt.timeline.reached("commit", progress.number);
  const state = attempt.request.dryRun ? undefined : transaction.writes();
  const unit = closeAttempt(attempt, { answer, audit, outputHash, state }, context);
  let result: CommitResult;
  try {
    attempt.outcomeSent = true;
    result = await context.store.commit(unit);
  } catch (error) {
    context.errors.report({ error, code: "E3801", callId, tool: tool.manifest.id, stage: "commit" });
    if (isUnanswered(error) || tool.traits.sideEffects === "external") owe(at, unit, context);
    return await storeLost(at, known, error);
  }
  if (!result.ok) {
    attempt.outcomeSent = false;
    return await rollBack(at, conflictFailure(result.conflict, { callId, what: "outcome", at: completedAt }));
  }
  if (transaction.files && !attempt.request.dryRun) await endTransaction(at, context);
  else transaction.state.commit();
  const { read } = attempt.received;
  context.telemetry.io(tool.manifest.id, {
    in: read.ok ? read.bytes : 0,
    out: Buffer.byteLength(at.outputText),
  });
  return new Ending(life.completed(progress), progress, withReceipt(answer, progress, result.link));
}

/** The caller will be told that nobody knows; the record will, once the store takes it. */
function owe({ attempt: { runs }, tool }: ResultAccepted, unit: UnitOfWork, context: EngineContext): void {
  if (tool.traits.sideEffects !== "none") context.unrecorded.owe(runs, unit);
}

/** Why this run may not change files any more, where another process may have taken the call over. */
async function isTakenOver(at: ResultAccepted, context: EngineContext): Promise<Failure | undefined> {
  const { fence, callId, call } = at.attempt;
  if (!fence || !context.store.isShared) return undefined;
  try {
    const result = await context.store.commit({ tenant: call.tenant, fence });
    if (result.ok) return undefined;
    return conflictFailure(result.conflict, { callId, what: "outcome", at: context.clock.now() });
  } catch (error) {
    return knownFailure(error, at, context);
  }
}

/** Puts the files in place; gives the reason when they are not, and then nothing of them has changed. */
async function applyFiles(at: ResultAccepted, context: EngineContext): Promise<Failure | undefined> {
  try {
    const applied = await at.transaction.applyFiles({ runId: at.attempt.fence?.runId });
    return applied && !applied.ok ? fileRefusal(applied) : undefined;
  } catch (error) {
    return knownFailure(error, at, context);
  }
}

function knownFailure(
  error: unknown,
  { attempt: { callId } }: ResultAccepted,
  context: EngineContext,
): Failure {
  const known = error instanceof SallyportError ? error.failure : failure("E3900");
  context.errors.report({ error, code: known.code, callId, stage: "files" });
  return known;
}

/** The outcome stands; what could not be tidied up after it is reported and goes at the next start. */
async function endTransaction(
  { attempt, transaction }: ResultAccepted,
  context: EngineContext,
): Promise<void> {
  try {
    await transaction.commit();
  } catch (error) {
    context.errors.report({ error, code: "E3801", callId: attempt.callId, stage: "keep pre-images" });
  }
}

/**
 * The store has not taken the outcome, or nobody knows whether it has. Only a unit that is known not to be written, of a
 * call that touched nothing outside, can be called undone.
 */
async function storeLost(at: ResultAccepted, known: Progress, thrown: unknown): Promise<Ending> {
  const { attempt, life } = at;
  const { sideEffects } = at.tool.traits;
  attempt.outcomeSent = isUnanswered(thrown);
  // The store's own words where it has any.
  const lost = thrown instanceof SallyportError ? thrown.failure : failure("E3801");
  if (sideEffects !== "external" && !attempt.outcomeSent) return await rollBack(at, lost);
  at.transaction.abandon();
  const error = sideEffects === "none" ? lost : outcomeUnknown(thrown);
  const aborted = { ...known, durationMs: attempt.tookMs, error };
  return new Ending(life.aborted(aborted), aborted);
}

function outcomeUnknown(error: unknown): Failure {
  const reason = reasonOf(error);
  const message = "The tool ran, but its outcome could not be recorded.";
  return failure("E3909", { message: reason === undefined ? message : `${message} ${reason}` });
}
