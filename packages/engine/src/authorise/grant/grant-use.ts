import { type Failure, failure, type JsonValue } from "@sallyport/protocol";
import { LruMap } from "../../lru-map.ts";
import type { AuthorityRequest, CapabilityUse } from "../../ports/authority.ts";
import type { CapabilityGrant, UseLimit } from "../../ports/grants.ts";
import type { UseOf } from "../../ports/runner.ts";
import { boundedText } from "../../redact/redact.ts";
import { type Condition, type ConditionFacts, readCondition } from "./condition.ts";
import { type Constraint, type ConstraintFacts, type GrantRefusal, readConstraint } from "./constraint.ts";
import { compileScope } from "./grant-scope.ts";

const MAX_SHOWN_CHARS = 200;
const REMEMBERED_CALLS = 256;

/**
 * Who asks for capabilities, and what a door or a directory knows of it beyond the request itself. A call that is tried
 * again is not counted twice.
 */
export interface GrantQuery {
  request: Pick<
    AuthorityRequest,
    "callId" | "caller" | "tool" | "version" | "operation" | "risk" | "sideEffects" | "at"
  >;
  /** The roles of the caller. */
  roles?: readonly string[];
  /** Read as `context.NAME`; the names of the request itself are not overridden. */
  context?: Readonly<Record<string, JsonValue>>;
  /** Read as `location.NAME`. */
  location?: Readonly<Record<string, JsonValue>>;
}

/** A stored grant, read once so that a decision need not. */
export interface IndexedGrant {
  readonly record: CapabilityGrant;
  readonly genuine: boolean;
  readonly conditions: readonly Condition[];
  readonly constraints: readonly Constraint[];
  /** Whether a resource lies within its scope. */
  covers(resource: string | undefined): boolean;
  /** The tightest of its constraints. */
  readonly limit: UseLimit;
  readonly tally: UseTally;
}

/** Reads a grant. Parts that are not understood will refuse. The tally of the same grant goes on. */
export function readGrant(record: CapabilityGrant, genuine: boolean, known?: UseTally): IndexedGrant {
  const constraints = listOf(record.constraints).map(readConstraint);
  const limits = constraints.flatMap(({ limit }) => limit ?? []);
  const counts = limits.flatMap(({ maxUses }) => maxUses ?? []);
  const rates = limits.flatMap((limit) => limit.rates ?? []);
  const tally = known ?? new UseTally(Math.max(1, ...rates.map(({ max }) => max)));
  tally.stored(record.uses);
  return {
    record,
    genuine,
    conditions: listOf(record.scope?.conditions).map(readCondition),
    constraints,
    covers: genuine ? compileScope(record.scope.resources) : () => false,
    limit: { ...(counts.length > 0 && { maxUses: Math.min(...counts) }), ...(rates.length > 0 && { rates }) },
    tally,
  };
}

/** A record that is not genuine can have anything in place of a list. */
function listOf<Item>(items: Item[] | undefined): Item[] {
  return Array.isArray(items) ? items : [];
}

/**
 * How often a grant was used, as this process knows it: the store's count when the grant was read, and every use here
 * since. The store has the last word when a call begins. A call that rests on the grant is one use from its beginning;
 * the first use of the capability while it runs is that one, each further use is another.
 */
export class UseTally {
  readonly #remembers: number;
  /** Oldest first; no more than are needed to judge the constraints. */
  readonly #uses: number[] = [];
  /** Calls that have begun. `countedAt`: when the one use of the call was counted, until that use is made. */
  readonly #begun = new LruMap<string, { countedAt?: number }>(REMEMBERED_CALLS);
  #calls = 0;

  constructor(remembers: number) {
    this.#remembers = remembers;
  }

  /** Calls that have begun; a call that is tried again is one. */
  get calls(): number {
    return this.#calls;
  }

  /** Takes over the store's count where others have used the grant too. */
  stored(calls: number): void {
    this.#calls = Math.max(this.#calls, calls);
  }

  newestUse(nth: number): number | undefined {
    return this.#uses[this.#uses.length - nth];
  }

  hasBegun(callId: string): boolean {
    return this.#begun.get(callId) !== undefined;
  }

  /** Whether the next use of the call was counted when the call began. */
  isCounted(callId: string): boolean {
    return this.#begun.get(callId)?.countedAt !== undefined;
  }

  begin(callId: string, at: number): void {
    const begun = this.#begun.get(callId);
    if (!begun) this.#calls += 1;
    if (begun?.countedAt !== undefined) return;
    this.#add(at);
    this.#begun.set(callId, { countedAt: at });
  }

  /** Takes back a call that never started. */
  release(callId: string): void {
    const at = this.#begun.get(callId)?.countedAt;
    this.#begun.delete(callId);
    this.#calls = Math.max(0, this.#calls - 1);
    const index = at === undefined ? -1 : this.#uses.lastIndexOf(at);
    if (index !== -1) this.#uses.splice(index, 1);
  }

  use(callId: string, at: number): void {
    if (this.isCounted(callId)) this.#begun.set(callId, {});
    else this.#add(at);
  }

  #add(at: number): void {
    this.#uses.push(at);
    if (this.#uses.length > this.#remembers) this.#uses.shift();
  }
}

/** Why a call may not begin on this grant; what it will be used on shows only later. `line`: itself, then its parents. */
export function refuseBeginning(line: readonly IndexedGrant[], query: GrantQuery): GrantRefusal | undefined {
  const { request, context = {}, location = {} } = query;
  const { caller, callId, tool, version, operation, risk, sideEffects, at } = request;
  const { tenant, agent, user, session } = caller;
  const own = { tool, version, operation, risk, sideEffects, tenant, agent, user, session };
  return (
    refuseConditions(line, { at, location, context: { ...context, ...own } }) ??
    refuseLimits(line, { at, callId })
  );
}

/**
 * Why a grant does not allow one use. Of the conditions only time can have changed since the call began: the others look
 * at the request.
 */
export function refuseUsing(line: readonly IndexedGrant[], use: CapabilityUse): GrantRefusal | undefined {
  const { at, callId } = use;
  return (
    refuseConditions(line, { at, context: {}, location: {} }, "TIME") ??
    refuseScope(line, use) ??
    refuseLimits(line, { at, callId, use })
  );
}

/** Why a condition of the grants does not hold; `only`: of the conditions of this type. */
export function refuseConditions(
  line: readonly IndexedGrant[],
  facts: ConditionFacts,
  only?: string,
): GrantRefusal | undefined {
  for (const { type, expression, evaluate } of line.flatMap(({ conditions }) => conditions)) {
    const holds = (only !== undefined && only !== type) || evaluate(facts);
    if (holds === true) continue;
    const why = holds === false ? "does not hold" : `cannot be told: ${holds}`;
    return { isOver: true, reason: `${type} ${expression} ${why}` };
  }
  return undefined;
}

/** Why the scope of a grant does not cover an action on a resource. */
export function refuseScope(
  line: readonly IndexedGrant[],
  { action, resource }: Pick<CapabilityUse, "action" | "resource">,
): GrantRefusal | undefined {
  for (const { record, covers } of line) {
    const { grantId, scope } = record;
    const { actions } = scope;
    if (actions.length > 0 && (action === undefined || !actions.includes(action))) {
      const named = shown(action, "an action without a name");
      return { reason: `${grantId} allows ${actions.join(", ")} and not ${named}` };
    }
    if (!covers(resource)) {
      const named = shown(resource, "a resource without a name");
      return { reason: `${grantId} does not cover ${named}` };
    }
  }
  return undefined;
}

function shown(text: string | undefined, otherwise: string): string {
  return text === undefined ? otherwise : boundedText(text, MAX_SHOWN_CHARS);
}

/** Why the constraints of a grant do not allow a use; without one, why they do not allow a call to begin. */
export function refuseLimits(
  line: readonly IndexedGrant[],
  { at, callId, use }: { at: number; callId?: string | undefined; use?: UseOf },
): GrantRefusal | undefined {
  for (const { constraints, tally, record } of line) {
    // The call that asks is not one of the others: it does not stand in its own way.
    const isCounted = callId !== undefined && tally.isCounted(callId);
    const own = callId !== undefined && tally.hasBegun(callId) ? 1 : 0;
    const facts: ConstraintFacts = {
      at,
      calls: tally.calls - own,
      newestUse: (nth) => (isCounted ? undefined : tally.newestUse(nth)),
      ...(use && { use }),
    };
    for (const { refuse } of constraints) {
      const refused = refuse(facts);
      if (refused)
        return { ...refused, reason: `${record.grantId}: ${refused.reason}`, grantId: record.grantId };
    }
  }
  return undefined;
}

/**
 * The failure for a use that no grant allows: E3224 if one of the grants is only rate-limited; E3217 if every grant is
 * revoked, expired or out of its time; else E3212.
 */
export function useFailure(use: CapabilityUse, refusals: readonly GrantRefusal[]): Failure {
  const { tool, capability, at } = use;
  const freeAt = earliest(refusals);
  const reason = refusals.map((refusal) => refusal.reason).join("; ");
  if (freeAt !== undefined) {
    const details = { capability, retryAfterMs: freeAt - at };
    return failure("E3224", { message: `${tool} may not use ${capability} for now: ${reason}.`, details });
  }
  const details = { capability };
  if (refusals.every(({ isOver }) => isOver))
    return failure("E3217", { message: `${tool} may no longer use ${capability}: ${reason}.`, details });
  return failure("E3212", {
    message: `${tool} used ${capability} beyond its grant: ${reason}.`,
    details,
    advice: "Keep to what the grant covers, or have one given that covers this.",
  });
}

/** When one of the grants can be used again; undefined when waiting helps with none. */
export function earliest(refusals: readonly GrantRefusal[]): number | undefined {
  const moments = refusals.flatMap(({ freeAt }) => freeAt ?? []);
  return moments.length === 0 ? undefined : Math.min(...moments);
}

/** Which grants are used up, and when one of them can be used again; without `freeAt` waiting does not help. */
interface UsedUp {
  grantIds: readonly string[];
  freeAt?: number | undefined;
}

/** What a caller is told when the limits of grants stand in the way, and not a missing grant. */
export function limitReached({ grantIds, freeAt }: UsedUp) {
  const limit = `the limit of grant ${grantIds.join(" and ")} is used up`;
  const when = freeAt !== undefined && new Date(freeAt).toISOString();
  if (when) {
    const advice = `Call again after ${when}, or have a grant with a higher limit issued.`;
    return { code: "E3224", reason: `${limit} until ${when}`, advice } as const;
  }
  const advice =
    "Have a new grant issued with `sallyport grants issue`; the limit counts all uses there ever were.";
  return { code: "E3210", reason: `${limit} and does not free up`, advice } as const;
}

/** The same as the end of a call that was admitted and found the limit reached when it was about to run. */
export function limitFailure(usedUp: UsedUp, at: number): Failure {
  const { grantIds, freeAt } = usedUp;
  const { code, reason, advice } = limitReached(usedUp);
  const wait = freeAt !== undefined && { retryAfterMs: Math.max(1, freeAt - at) };
  return failure(code, {
    message: `Denied: ${reason}.`,
    advice,
    details: { grants: [...grantIds], ...wait },
  });
}
