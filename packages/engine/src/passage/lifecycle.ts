import { failure, type JsonValue, type LifecycleState, SallyportError } from "@sallyport/protocol";
import type { Transaction } from "../effects/effect-transaction.ts";
import type { Failing, Progress } from "../journal/progress.ts";

/*
 * The lifecycle of one execution (R1-3).
 *
 *   DECLARED → VALIDATED → AUTHORIZED → EXECUTING → COMPLETED
 *       ↓          ↓  ↘        ↓          ↓      ↘
 *     FAILED    DENIED  ABORTED ←─────────┘   ROLLED_BACK
 *                          └────────────────────→ ↑
 *
 * A state is an object, entered with what is known by then; what it guarantees is checked against that. Its methods are
 * the edges that leave it, so an illegal edge does not compile; nobody outside this file can construct a state, and a
 * state can be left once, so it cannot happen at run time either.
 */

export interface Visit {
  state: LifecycleState;
  at: number;
}

/** Called with every state that is entered, in order, and with what was known then. */
type Watcher = (visit: Visit, progress: Progress) => void;

/** What all states of one execution share. */
export interface Observer {
  readonly now: () => number;
  readonly watch: Watcher;
}

interface Entering {
  observer: Observer;
  progress: Progress;
}

/** Held by this file alone: without it a state's constructor refuses. */
const KEY = Symbol("lifecycle");

function broken(what: string): SallyportError {
  return new SallyportError(failure("E3900", { message: `Lifecycle invariant broken: ${what}` }));
}

abstract class Entered<Name extends LifecycleState> {
  readonly state: Name;
  readonly #observer: Observer;
  #left = false;

  constructor(key: symbol, state: Name, { observer, progress }: Entering) {
    if (key !== KEY) throw broken(`${state} can only be entered through an edge`);
    this.state = state;
    this.#observer = observer;
    observer.watch({ state, at: observer.now() }, progress);
  }

  /** What the next state is entered with. Throws when this one was left before. */
  protected leave(progress: Progress): Entering {
    if (this.#left) throw broken(`${this.state} was left twice`);
    this.#left = true;
    return { observer: this.#observer, progress };
  }
}

/** The tool is known; nothing has been checked yet. */
export class Declared extends Entered<"DECLARED"> {
  validated(progress: Progress, input: JsonValue): Validated {
    return new Validated(KEY, this.leave(progress), input);
  }

  failed(progress: Failing): Failed {
    return new Failed(KEY, "FAILED", this.leave(progress));
  }
}

/** The input conforms to the declared schema. */
export class Validated extends Entered<"VALIDATED"> {
  readonly input: JsonValue;

  constructor(key: symbol, from: Entering, input: JsonValue) {
    super(key, "VALIDATED", from);
    this.input = input;
  }

  /** Every required capability is granted by the decision that is known. */
  authorized(progress: Progress): Authorized {
    const { decision } = progress;
    if (!decision || decision.outcome === "deny" || decision.missing.length > 0)
      throw broken("authorised without a grant");
    return new Authorized(KEY, "AUTHORIZED", this.leave(progress));
  }

  denied(progress: Failing): Denied {
    return new Denied(KEY, "DENIED", this.leave(progress));
  }

  aborted(progress: Failing): Aborted {
    return new Aborted(KEY, "ABORTED", this.leave(progress));
  }
}

/** Every required capability is granted, and the decision is on record. */
export class Authorized extends Entered<"AUTHORIZED"> {
  executing(progress: Progress, transaction: Transaction): Executing {
    if (!transaction.isActive()) throw broken("executing without an active transaction");
    return new Executing(KEY, this.leave(progress), transaction);
  }

  aborted(progress: Failing): Aborted {
    return new Aborted(KEY, "ABORTED", this.leave(progress));
  }
}

/** The tool runs inside an active transaction. */
export class Executing extends Entered<"EXECUTING"> {
  readonly transaction: Transaction;

  constructor(key: symbol, from: Entering, transaction: Transaction) {
    super(key, "EXECUTING", from);
    this.transaction = transaction;
  }

  completed(progress: Progress): Completed {
    return new Completed(KEY, "COMPLETED", this.leave(progress));
  }

  aborted(progress: Failing): Aborted {
    return new Aborted(KEY, "ABORTED", this.leave(progress));
  }

  rolledBack(progress: Failing): RolledBack {
    return new RolledBack(KEY, "ROLLED_BACK", this.leave(proved(progress)));
  }
}

/** The output conforms to the declared schema. */
export class Completed extends Entered<"COMPLETED"> {}

/** Validation failed; the error says where. */
export class Failed extends Entered<"FAILED"> {}

/** Authorisation failed; the error says why. */
export class Denied extends Entered<"DENIED"> {}

/** Ended by a timeout, a limit or a cancellation; the rollback is still to come. */
export class Aborted extends Entered<"ABORTED"> {
  rolledBack(progress: Failing): RolledBack {
    return new RolledBack(KEY, "ROLLED_BACK", this.leave(proved(progress)));
  }
}

/** The state is proved equal to the one before execution. */
export class RolledBack extends Entered<"ROLLED_BACK"> {}

function proved(progress: Failing): Failing {
  if (!progress.rollback?.verified) throw broken("rolled back without proof");
  return progress;
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
export function declare(progress: Progress, observer: Observer): Declared {
  return new Declared(KEY, "DECLARED", { observer, progress });
}
