import {
  type Failure,
  failure,
  type JsonValue,
  type LifecycleState,
  type RollbackProof,
  SallyportError,
} from "@sallyport/protocol";
import type { Decision } from "../ports/authority.ts";
import type { Transaction } from "../ports/transaction.ts";

/*
 * The lifecycle of one execution (R1-3).
 *
 *   DECLARED → VALIDATED → AUTHORIZED → EXECUTING → COMPLETED
 *       ↓          ↓  ↘        ↓          ↓      ↘
 *     FAILED    DENIED  ABORTED ←─────────┘   ROLLED_BACK
 *                          └────────────────────→ ↑
 *
 * A state is an object that carries its invariant. Its methods are the edges that leave it, so an illegal edge does
 * not compile; nobody outside this file can construct a state, and a state can be left once, so it cannot happen at
 * run time either.
 */

export interface Visit {
  state: LifecycleState;
  at: number;
}

/** Called with every state that is entered, in order. */
export type Watcher = (visit: Visit) => void;

/** What all states of one execution share. */
interface Thread {
  readonly trail: Visit[];
  readonly now: () => number;
  readonly watch: Watcher;
}

/** Held by this file alone: without it a state's constructor refuses. */
const KEY = Symbol("lifecycle");

function broken(what: string): SallyportError {
  return new SallyportError(failure("E3900", { message: `Lifecycle invariant broken: ${what}` }));
}

abstract class Entered<Name extends LifecycleState> {
  readonly state: Name;
  readonly #thread: Thread;
  #left = false;

  constructor(key: symbol, state: Name, thread: Thread) {
    if (key !== KEY) throw broken(`${state} can only be entered through an edge`);
    this.state = state;
    this.#thread = thread;
    const visit = { state, at: thread.now() };
    thread.trail.push(visit);
    thread.watch(visit);
  }

  /** Every state entered so far, this one included. */
  get trail(): readonly Visit[] {
    return this.#thread.trail;
  }

  protected leave(): Thread {
    if (this.#left) throw broken(`${this.state} was left twice`);
    this.#left = true;
    return this.#thread;
  }
}

/** The tool is known; nothing has been checked yet. */
export class Declared extends Entered<"DECLARED"> {
  validated(input: JsonValue): Validated {
    return new Validated(KEY, this.leave(), input);
  }

  failed(error: Failure): Failed {
    return new Failed(KEY, this.leave(), error);
  }
}

/** The input conforms to the declared schema. */
export class Validated extends Entered<"VALIDATED"> {
  readonly input: JsonValue;

  constructor(key: symbol, thread: Thread, input: JsonValue) {
    super(key, "VALIDATED", thread);
    this.input = input;
  }

  authorized(decision: Decision): Authorized {
    if (decision.outcome === "deny" || decision.missing.length > 0)
      throw broken("authorised without a grant");
    return new Authorized(KEY, this.leave(), decision);
  }

  denied(error: Failure): Denied {
    return new Denied(KEY, this.leave(), error);
  }

  aborted(reason: Failure): Aborted {
    return new Aborted(KEY, this.leave(), reason);
  }
}

/** Every required capability is granted, and the decision is on record. */
export class Authorized extends Entered<"AUTHORIZED"> {
  readonly decision: Decision;

  constructor(key: symbol, thread: Thread, decision: Decision) {
    super(key, "AUTHORIZED", thread);
    this.decision = decision;
  }

  executing(transaction: Transaction): Executing {
    if (!transaction.isActive()) throw broken("executing without an active transaction");
    return new Executing(KEY, this.leave(), transaction);
  }

  aborted(reason: Failure): Aborted {
    return new Aborted(KEY, this.leave(), reason);
  }
}

/** The tool runs inside an active transaction. */
export class Executing extends Entered<"EXECUTING"> {
  readonly transaction: Transaction;

  constructor(key: symbol, thread: Thread, transaction: Transaction) {
    super(key, "EXECUTING", thread);
    this.transaction = transaction;
  }

  completed(output: JsonValue): Completed {
    return new Completed(KEY, this.leave(), output);
  }

  aborted(reason: Failure): Aborted {
    return new Aborted(KEY, this.leave(), reason);
  }

  rolledBack(error: Failure, proof: RollbackProof): RolledBack {
    return new RolledBack(KEY, this.leave(), { error, proof });
  }
}

/** The output conforms to the declared schema. */
export class Completed extends Entered<"COMPLETED"> {
  readonly output: JsonValue;

  constructor(key: symbol, thread: Thread, output: JsonValue) {
    super(key, "COMPLETED", thread);
    this.output = output;
  }
}

/** Validation failed; the error says where. */
export class Failed extends Entered<"FAILED"> {
  readonly error: Failure;

  constructor(key: symbol, thread: Thread, error: Failure) {
    super(key, "FAILED", thread);
    this.error = error;
  }
}

/** Authorisation failed; the error says why. */
export class Denied extends Entered<"DENIED"> {
  readonly error: Failure;

  constructor(key: symbol, thread: Thread, error: Failure) {
    super(key, "DENIED", thread);
    this.error = error;
  }
}

/** Ended by a timeout, a limit or a cancellation; the rollback is still to come. */
export class Aborted extends Entered<"ABORTED"> {
  readonly reason: Failure;

  constructor(key: symbol, thread: Thread, reason: Failure) {
    super(key, "ABORTED", thread);
    this.reason = reason;
  }

  rolledBack(proof: RollbackProof): RolledBack {
    return new RolledBack(KEY, this.leave(), { error: this.reason, proof });
  }
}

/** The state is proved equal to the one before execution. */
export class RolledBack extends Entered<"ROLLED_BACK"> {
  readonly error: Failure;
  readonly proof: RollbackProof;

  constructor(key: symbol, thread: Thread, ending: { error: Failure; proof: RollbackProof }) {
    if (!ending.proof.verified) throw broken("rolled back without proof");
    super(key, "ROLLED_BACK", thread);
    this.error = ending.error;
    this.proof = ending.proof;
  }
}

export type Lifecycle =
  | Declared
  | Validated
  | Authorized
  | Executing
  | Completed
  | Failed
  | Denied
  | Aborted
  | RolledBack;

/** Begins the lifecycle of one execution of a tool that is known. */
export function declare(options: { now: () => number; watch?: Watcher }): Declared {
  return new Declared(KEY, "DECLARED", { trail: [], now: options.now, watch: options.watch ?? ignore });
}

function ignore(): void {}
