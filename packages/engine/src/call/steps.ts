import type { CallAnswer, Failure, JsonValue } from "@sallyport/protocol";
import type { Place } from "../admit/admission.ts";
import type { EffectTransaction } from "../effects/effect-transaction.ts";
import type { ApprovalRecord } from "../ports/approvals.ts";
import type { QueuedCall } from "../ports/queue.ts";
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
  place: Place;
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
}

export interface ResultAccepted extends Ran {
  outputText: string;
}

export type Ended = Completed | Failed | Denied | RolledBack | Aborted;

/** The end of an execution. It has an answer already when its unit of work is durable. */
export class Ending extends Stop {
  readonly life: Ended;
  readonly answer: CallAnswer | undefined;
  /** Goes before the state's own reason. */
  readonly error: Failure | undefined;

  constructor(life: Ended, answer?: CallAnswer, error?: Failure) {
    super();
    this.life = life;
    this.answer = answer;
    this.error = error;
  }
}

/** A person has to answer first: the question is on record, and nothing has run. */
export class Asked extends Stop {
  readonly approval: ApprovalRecord;

  constructor(approval: ApprovalRecord) {
    super();
    this.approval = approval;
  }
}

/** Accepted: it is on record and runs when there is room. */
export class Queued extends Stop {
  readonly call: QueuedCall;

  constructor(call: QueuedCall) {
    super();
    this.call = call;
  }
}

/** Refused before there was a tool to speak of: no lifecycle was begun. */
export class Refused extends Stop {
  readonly error: Failure;

  constructor(error: Failure) {
    super();
    this.error = error;
  }
}
