import type { CapabilityGrant } from "../../ports/grants.ts";
import { type Condition, readCondition } from "./condition.ts";
import type { Constraint, ConstraintFacts, UseFacts } from "./constraint.ts";
import { readConstraint } from "./constraints.ts";
import { UseTally } from "./use-tally.ts";

/** A stored grant with everything that was worked out about it once, so that a decision need not. */
export interface FiledGrant {
  readonly record: CapabilityGrant;
  readonly genuine: boolean;
  readonly conditions: readonly Condition[];
  readonly constraints: readonly Constraint[];
  readonly tally: UseTally;
  /** The store's count when the tally began. */
  readonly usesBefore: number;
}

/** Reads a grant. What is not understood in it will refuse; the tally of the same grant goes on. */
export function fileGrant(record: CapabilityGrant, genuine: boolean, known?: FiledGrant): FiledGrant {
  const constraints = list(record.constraints).map(readConstraint);
  return {
    record,
    genuine,
    conditions: list(record.scope?.conditions).map(readCondition),
    constraints,
    tally: known?.tally ?? new UseTally(Math.max(1, ...constraints.map(({ remembers }) => remembers))),
    usesBefore: known?.usesBefore ?? record.uses,
  };
}

/** What the grant's constraints are measured against, for one call. */
export function constraintFacts(
  { record, tally, usesBefore }: FiledGrant,
  asked: { at: number; callId?: string | undefined; use?: UseFacts },
): ConstraintFacts {
  const { at, callId, use } = asked;
  const isCounted = callId !== undefined && tally.isCounted(callId);
  const calls = Math.max(record.uses, usesBefore + tally.calls);
  const own = callId !== undefined && tally.hasBegun(callId) ? 1 : 0;
  return {
    at,
    calls: calls - own,
    newestUse: (nth) => (isCounted ? undefined : tally.newestUse(nth)),
    ...(use && { use }),
  };
}

function list<Item>(items: Item[] | undefined): Item[] {
  return Array.isArray(items) ? items : [];
}
