import {
  type CallAnswer,
  entryOf,
  type Failure,
  failure,
  type JsonValue,
  type RollbackProof,
  UNSEEN_EFFECTS,
} from "@sallyport/protocol";
import type { Slot } from "../admit/admission.ts";
import type { EffectTransaction } from "../effects/effect-transaction.ts";
import { type Failing, NOTHING_RAN, type Progress } from "../journal/progress.ts";
import type { ApprovalRecord } from "../ports/approvals.ts";
import type { QueuedCall } from "../ports/calls.ts";
import type { Confinement } from "../ports/runner.ts";
import type { ResolvedTool } from "../registry/index.ts";
import type { Attempt } from "./attempt.ts";
import type {
  Aborted,
  Authorized,
  Completed,
  Declared,
  Denied,
  Executing,
  Failed,
  RolledBack,
  Validated,
} from "./lifecycle.ts";
import { Stop } from "./passage.ts";

/* What is known after each stage. A stage's parameter type is its precondition. */

export interface Arrived {
  attempt: Attempt;
  progress: Progress;
}

export interface Known extends Arrived {
  tool: ResolvedTool;
  life: Declared;
}

export interface Checked extends Arrived {
  tool: ResolvedTool;
  life: Validated;
}

export interface Allowed extends Arrived {
  tool: ResolvedTool;
  input: JsonValue;
  life: Authorized;
}

export interface Admitted extends Allowed {
  slot: Slot;
}

export interface Intended extends Arrived {
  tool: ResolvedTool;
  input: JsonValue;
  life: Executing;
  transaction: EffectTransaction;
  /** Of a tool that runs in a process of its own. */
  confinement: Confinement | undefined;
}

export interface Ran extends Intended {
  output: JsonValue;
  /** The output as JSON, where the runner has it. */
  text?: string | undefined;
}

export interface ResultAccepted extends Ran {
  outputText: string;
  outputHash: string;
}

type Ended = Completed | Failed | Denied | RolledBack | Aborted;

/** The end of an execution. It has an answer already when its unit of work is durable. */
export class Ending extends Stop {
  readonly life: Ended;
  readonly answer: CallAnswer | undefined;

  constructor(life: Ended, progress: Progress, answer?: CallAnswer) {
    super(progress);
    this.life = life;
    this.answer = answer;
  }
}

/** A person has to answer first: the question is on record, and nothing has run. */
export class ApprovalPending extends Stop {
  readonly approval: ApprovalRecord;

  constructor(approval: ApprovalRecord, progress: Progress) {
    super(progress);
    this.approval = approval;
  }
}

/** Accepted: it is on record and runs when there is room. */
export class Queued extends Stop {
  readonly call: QueuedCall;

  constructor(call: QueuedCall, progress: Progress) {
    super(progress);
    this.call = call;
  }
}

/** Refused before there was a tool to speak of: no lifecycle was begun. */
export class Refused extends Stop {
  readonly error: Failure;

  constructor(error: Failure, progress: Progress) {
    super({ ...progress, error });
    this.error = error;
  }
}

export function fail({ life, progress }: Known, error: Failure): Ending {
  const failed = { ...progress, error };
  return new Ending(life.failed(failed), failed);
}

export function deny({ life, progress }: Arrived & { life: Validated }, error: Failure): Ending {
  const denied = { ...progress, error };
  return new Ending(life.denied(denied), denied);
}

/** Nothing ran, so there is nothing to undo; the proof says just that. */
export function abortBeforeStart(
  { life, progress }: Arrived & { life: Validated | Authorized },
  error: Failure,
): Ending {
  const reason = { ...progress, error };
  const aborted = life.aborted(reason);
  const undone = { ...reason, rollback: scoped(NOTHING_RAN, { ran: false, progress }) };
  return new Ending(aborted.rolledBack(undone), undone);
}

/** Said of every undone execution that may have reached outside. */
const OUTSIDE = {
  code: "E3909",
  message: "What the tool may have changed outside Sallyport is not undone; only its state is.",
};

/** What is known once an execution's changes are dropped. */
export function withRollback<P extends Progress>(progress: P, proof: RollbackProof, ran: boolean): P {
  const reachedOutside = proof.verified && ran && progress.tool?.traits.sideEffects === "external";
  const warnings = reachedOutside ? [...progress.warnings, OUTSIDE] : progress.warnings;
  return { ...progress, rollback: scoped(proof, { ran, progress }), warnings };
}

/** The proof, with what it is about: where a tool runs decides what else it could have changed. */
export function scoped(
  proof: RollbackProof,
  { ran, progress: { isolation, tool } }: { ran: boolean; progress: Progress },
): RollbackProof {
  const { permissions, egressAllowlist = [] } = tool?.manifest ?? {};
  const reached = [permissions?.network, egressAllowlist, isolation?.sockets];
  const hasNetwork = reached.some((list) => list !== undefined && list.length > 0);
  const unseen = isolation?.level !== "LEVEL_2" ? UNSEEN_EFFECTS : hasNetwork ? ["network" as const] : [];
  return { ...proof, covers: proof.files ? ["state", "files"] : ["state"], unseen: ran ? [...unseen] : [] };
}

/** Errors that end a running tool from outside; all others come from the tool or its result. */
const ABORTS = new Set(["TimeoutError", "ResourceError"]);

/**
 * Undoes a running execution (R1-7.2): drops the transaction's changes, proves it, and ends in ROLLED_BACK. Where the
 * proof fails the execution stays ABORTED and a person has to look: it must not claim a state it cannot show.
 */
export async function rollBack(at: Arrived & { life: Executing }, error: Failure): Promise<Ending> {
  const { attempt, life } = at;
  attempt.settled = true;
  const failed: Failing = { ...at.progress, error, durationMs: attempt.tookMs };
  const isAbort = error.code === "E3906" || ABORTS.has(entryOf(error).failureClass);
  const aborted: Aborted | undefined = isAbort ? life.aborted(failed) : undefined;
  const proof = await life.transaction.rollback();
  const undone = withRollback(failed, proof, attempt.ran);
  if (proof.verified)
    return new Ending(aborted ? aborted.rolledBack(undone) : life.rolledBack(undone), undone);
  const message = `The rollback after ${error.code} could not be proved.`;
  const unproved = { ...undone, error: failure("E3912", { message, details: { cause: error.code } }) };
  return new Ending(aborted ?? life.aborted(undone), unproved);
}
