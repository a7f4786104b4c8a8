import type { GrantConstraint } from "../../ports/grants.ts";
import { type Constraint, notUnderstood } from "./constraint.ts";
import { CONSTRAINT_KINDS } from "./constraint-kinds.ts";

/** Reads a stored or drafted constraint. Never throws; one of an unknown type or with a wrong value refuses everything. */
export function readConstraint(given: GrantConstraint): Constraint {
  const read = CONSTRAINT_KINDS.get(given.type);
  return (
    read?.(given) ?? notUnderstood(given, `the constraint type ${JSON.stringify(given.type)} is not known`)
  );
}

/** The first constraint of the outer grant that no constraint of the inner one is certain to keep. */
export function looserThan(
  inner: readonly Constraint[],
  outer: readonly Constraint[],
): Constraint | undefined {
  return outer.find((bound) => !inner.some((own) => own.type === bound.type && own.isWithin(bound)));
}
