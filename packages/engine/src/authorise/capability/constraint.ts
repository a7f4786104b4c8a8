import type { JsonValue } from "@sallyport/protocol";
import type { GrantConstraint } from "../../ports/grants.ts";

/** One use of a capability, as far as a constraint may depend on it. */
export interface UseFacts {
  resource?: string | undefined;
  /** How large the file is, or will be. */
  bytes?: number | undefined;
}

/** What a constraint is measured against. Without `use` the question is whether a call may begin at all. */
export interface ConstraintFacts {
  at: number;
  /** Calls that have rested on the grant. */
  calls: number;
  /** When the nth newest use was; undefined when there have been fewer. */
  newestUse(nth: number): number | undefined;
  use?: UseFacts;
}

export interface ConstraintRefusal {
  reason: string;
  /** Present when waiting helps. */
  retryAfterMs?: number;
}

/** A constraint that is understood, or why it is not; one that is not refuses everything. */
export interface Constraint {
  readonly type: string;
  readonly value: JsonValue;
  readonly problem?: string;
  /** How many of the newest uses it needs to know of. */
  readonly remembers: number;
  refuse(facts: ConstraintFacts): ConstraintRefusal | undefined;
  /** Whether it is certainly at least as tight as another one of its type. */
  isWithin(outer: Constraint): boolean;
}

/** What is particular to one type of constraint. */
export interface ConstraintKind<Read> {
  /** The value it means, or why it means none. */
  read(value: JsonValue): Read | Misread;
  refuse(read: Read, facts: ConstraintFacts): ConstraintRefusal | undefined;
  isWithin(inner: Read, outer: Read): boolean;
  remembers?(read: Read): number;
}

export class Misread {
  readonly problem: string;

  constructor(problem: string) {
    this.problem = problem;
  }
}

/** Makes the reader of one type of constraint. */
export function constraintOf<Read>(kind: ConstraintKind<Read>): (given: GrantConstraint) => Constraint {
  return ({ type, value }) => {
    const read = kind.read(value);
    if (read instanceof Misread) return notUnderstood({ type, value }, `${type} ${read.problem}`);
    return {
      type,
      value,
      remembers: kind.remembers?.(read) ?? 0,
      refuse: (facts) => kind.refuse(read, facts),
      isWithin: (outer) => {
        const bound = outer.type === type ? kind.read(outer.value) : new Misread("is of another type");
        return !(bound instanceof Misread) && kind.isWithin(read, bound);
      },
    };
  };
}

/** A constraint that refuses everything, because nobody can tell what it means. */
export function notUnderstood({ type, value }: GrantConstraint, problem: string): Constraint {
  return {
    type,
    value,
    problem,
    remembers: 0,
    refuse: () => ({ reason: problem }),
    isWithin: () => false,
  };
}
