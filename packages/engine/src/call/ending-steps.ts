import { entryOf, type Failure, failure } from "@sallyport/protocol";
import type { Attempt } from "./attempt.ts";
import type { Aborted, Authorized, Declared, Executing, Validated } from "./lifecycle.ts";
import { type Arrived, Ending } from "./steps.ts";

/** The ends that come before anything ran. Each notes the error first, so that the event of the state carries it. */
export function fail(at: Arrived & { life: Declared }, error: Failure): Ending {
  at.attempt.facts.error = error;
  return new Ending(at.life.failed(error));
}

export function deny(at: Arrived & { life: Validated }, error: Failure): Ending {
  at.attempt.facts.error = error;
  return new Ending(at.life.denied(error));
}

/** Nothing ran, so there is nothing to undo; the proof says just that. */
export function abortUnstarted(at: Arrived & { life: Validated | Authorized }, reason: Failure): Ending {
  at.attempt.facts.error = reason;
  const proof = { verified: true, snapshotHash: "", discardedMutations: 0 };
  const aborted = at.life.aborted(reason);
  at.attempt.facts.rollback = proof;
  return new Ending(aborted.rolledBack(proof));
}

const OUTSIDE = {
  code: "E3909",
  message: "What the tool may have changed outside Sallyport is not undone; only its state is.",
};

/** It stays ABORTED, for the reason that matters now. */
function unproved(aborted: Aborted, attempt: Attempt): Ending {
  const cause = aborted.reason.code;
  const error = failure("E3912", {
    message: `The rollback after ${cause} could not be proved.`,
    details: { cause },
  });
  attempt.facts.error = error;
  return new Ending(aborted, undefined, error);
}

/** Errors that end a running tool from outside; all others come from the tool or its result. */
const ABORTS = new Set(["TimeoutError", "ResourceError"]);

/**
 * Undoes a running execution (R1-7.2): drops the transaction's changes, proves it, and ends in ROLLED_BACK. Where the
 * proof fails the execution stays ABORTED and a person has to look: it must not claim a state it cannot show.
 */
export async function rollBack(at: Arrived & { life: Executing }, error: Failure): Promise<Ending> {
  const { attempt, life } = at;
  attempt.facts.error = error;
  attempt.facts.durationMs = attempt.tookMs;
  const isAbort = error.code === "E3906" || ABORTS.has(entryOf(error).failureClass);
  const aborted: Aborted | undefined = isAbort ? life.aborted(error) : undefined;
  const proof = await life.transaction.rollback();
  attempt.facts.rollback = proof;
  if (!proof.verified) return unproved(aborted ?? life.aborted(error), attempt);
  if (attempt.ran && attempt.tool?.conduct.sideEffects === "external") attempt.warnings.push(OUTSIDE);
  return new Ending(aborted ? aborted.rolledBack(proof) : life.rolledBack(error, proof));
}
