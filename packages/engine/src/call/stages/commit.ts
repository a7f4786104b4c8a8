import { hash } from "node:crypto";
import { type Failure, failure, SallyportError } from "@sallyport/protocol";
import { isUnanswered, reasonOf } from "../../journal/unanswered.ts";
import type { CommitResult, Conflict } from "../../ports/store.ts";
import { successAnswer, withReceipt } from "../answer.ts";
import { closingUnit } from "../closing-unit.ts";
import { rollBack } from "../ending-steps.ts";
import { fileRefusal } from "../file-refusal.ts";
import type { House } from "../house.ts";
import { Ending, type ResultAccepted } from "../steps.ts";

/** Makes files, state, outcome, events and messages durable together; only then is the call completed. */
export async function commit(at: ResultAccepted, house: House): Promise<Ending> {
  if (at.attempt.request.dryRun) return await dropEffects(at, house);
  const refused = at.transaction.files && (await applyFiles(at, house));
  return refused ?? (await recordOutcome(at, house));
}

/** A dry run completes with what it would have changed, after dropping all of it. */
async function dropEffects(at: ResultAccepted, house: House): Promise<Ending> {
  const { attempt, transaction } = at;
  try {
    attempt.effects = await transaction.files?.effects();
  } catch (error) {
    return await rollBack(at, knownFailure(error, attempt, house));
  }
  const proof = await transaction.rollback();
  if (!proof.verified) return await rollBack(at, failure("E3912"));
  attempt.facts.rollback = proof;
  attempt.facts.note = "dry run: nothing was kept";
  return await recordOutcome(at, house);
}

async function recordOutcome(at: ResultAccepted, house: House): Promise<Ending> {
  const { attempt, tool, life, transaction } = at;
  const completedAt = house.clock.now();
  attempt.facts.outputHash = hash("sha256", at.outputText);
  attempt.facts.durationMs = attempt.tookMs;
  attempt.recordAhead("COMPLETED", completedAt);
  const trail = [...life.trail, { state: "COMPLETED" as const, at: completedAt }];
  const answer = successAnswer({ attempt, trail, completedAt }, at.output);
  const events = attempt.takeEvents();
  const unit = closingUnit(
    {
      attempt,
      tool,
      answer,
      events,
      executed: true,
      state: attempt.request.dryRun ? undefined : transaction.writes(),
    },
    house,
  );
  let result: CommitResult;
  try {
    result = await house.store.commit(unit);
  } catch (error) {
    house.errors.report({
      error,
      code: "E3801",
      callId: attempt.callId,
      tool: tool.manifest.id,
      stage: "commit",
    });
    return await storeLost(at, { events, error }, house);
  }
  if (!result.ok) {
    attempt.returnEvents(events.slice(0, -1));
    return await undo(at, refusal(result.conflict));
  }
  if (!attempt.request.dryRun) await endTransaction(at, house);
  const { read } = attempt.received;
  house.telemetry.io(tool.manifest.id, { in: read.ok ? read.bytes : 0, out: at.outputText.length });
  return new Ending(life.completed(at.output), withReceipt(answer, attempt, result.links));
}

/** The files are in place, or the call ends here with nothing of them changed. */
async function applyFiles(at: ResultAccepted, house: House): Promise<Ending | undefined> {
  const { attempt, transaction } = at;
  try {
    const applied = await transaction.applyFiles();
    if (applied && !applied.ok) return await rollBack(at, fileRefusal(applied));
  } catch (error) {
    return await rollBack(at, knownFailure(error, attempt, house));
  }
  attempt.effects = transaction.effects;
  attempt.facts.effectsHash = transaction.effects?.digest;
  return undefined;
}

function knownFailure(error: unknown, { callId }: ResultAccepted["attempt"], house: House): Failure {
  const known = error instanceof SallyportError ? error.failure : failure("E3900");
  house.errors.report({ error, code: known.code, callId, stage: "files" });
  return known;
}

/** The outcome stands; what could not be tidied up after it is reported and goes at the next start. */
async function endTransaction({ attempt, transaction }: ResultAccepted, house: House): Promise<void> {
  try {
    await transaction.commit();
  } catch (error) {
    house.errors.report({ error, code: "E3801", callId: attempt.callId, stage: "keep pre-images" });
  }
}

async function undo(at: ResultAccepted, error: Failure): Promise<Ending> {
  at.attempt.forgetAhead();
  at.attempt.facts.outputHash = undefined;
  at.attempt.facts.effectsHash = undefined;
  at.attempt.effects = undefined;
  return await rollBack(at, error);
}

/**
 * The unit was refused, or nobody knows what became of it; the journal does, if it can still be asked. Only a unit that
 * is known not to be written, of a call that touched nothing outside, can be called undone.
 */
async function storeLost(
  at: ResultAccepted,
  { events, error }: { events: string[]; error: unknown },
  house: House,
): Promise<Ending> {
  const { attempt } = at;
  const record = await house.store.calls.get(attempt.callId).catch(() => undefined);
  if (record?.closing) {
    await endTransaction(at, house);
    return new Ending(at.life.completed(at.output), record.closing.answer);
  }
  attempt.returnEvents(events.slice(0, -1));
  const { sideEffects } = at.tool.conduct;
  if (sideEffects !== "external" && !isUnanswered(error)) return await undo(at, storeFailure(error));
  attempt.forgetAhead();
  attempt.facts.outputHash = undefined;
  const failed = sideEffects === "none" ? storeFailure(error) : outcomeUnknown(error);
  attempt.facts.error = failed;
  return new Ending(at.life.aborted(failed));
}

/** The store's own words where it has any. */
function storeFailure(error: unknown): Failure {
  return error instanceof SallyportError ? error.failure : failure("E3801");
}

function outcomeUnknown(error: unknown): Failure {
  const reason = reasonOf(error);
  const message = "The tool ran, but its outcome could not be recorded.";
  return failure("E3909", { message: reason === undefined ? message : `${message} ${reason}` });
}

function refusal(conflict: Conflict): Failure {
  switch (conflict.kind) {
    case "state": {
      const keys = conflict.keys.join(", ");
      return failure("E3704", {
        message: `Another call changed ${keys} in the meantime.`,
        details: { keys: conflict.keys },
      });
    }
    case "idempotency":
      return failure("E3904", { details: { callId: conflict.existing.callId } });
    case "duplicate_call":
      return failure("E3905");
    case "not_waiting":
    case "approval":
    case "grant":
    case "callback":
      return failure("E3918", { message: `The record changed while the call ran (${conflict.kind}).` });
    case "not_open":
      return failure("E3918", { message: "The call was closed by someone else while it ran." });
  }
}
