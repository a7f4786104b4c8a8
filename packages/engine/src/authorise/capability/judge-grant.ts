import type { JsonValue } from "@sallyport/protocol";
import type { AuthorityRequest } from "../../ports/authority.ts";
import { redactText } from "../../redact/redact.ts";
import type { ConditionFacts } from "./condition.ts";
import type { UseFacts } from "./constraint.ts";
import { constraintFacts, type FiledGrant } from "./filed-grant.ts";
import { coversResource } from "./resource-match.ts";

const MAX_SHOWN_CHARS = 200;

/** Who asks for capabilities, and what a door or a directory knows of it beyond the request itself. */
export interface GrantQuery {
  request: Pick<
    AuthorityRequest,
    "caller" | "tool" | "version" | "operation" | "risk" | "sideEffects" | "at"
  >;
  /** The roles of the caller. */
  roles?: readonly string[];
  /** Read as `context.NAME`; the names of the request itself are not overridden. */
  context?: Readonly<Record<string, JsonValue>>;
  /** Read as `location.NAME`. */
  location?: Readonly<Record<string, JsonValue>>;
  /** The call that asks, so that trying it again is not counted twice. */
  callId?: string;
}

/** One use of a capability while a tool runs. */
export interface UseQuery extends UseFacts {
  callId: string;
  action?: string | undefined;
  at: number;
}

/** Why a valid grant does not serve. Only `rate` passes by waiting. */
export interface GrantRefusal {
  kind: "condition" | "scope" | "constraint" | "rate";
  reason: string;
  retryAfterMs?: number;
}

/** Why a call may not begin on this grant; what it will be used on shows only later. `line`: itself, then its parents. */
export function refuseBeginning(line: readonly FiledGrant[], query: GrantQuery): GrantRefusal | undefined {
  const { request, callId } = query;
  const facts = factsOf(query);
  for (const { type, expression, evaluate } of conditionsOf(line)) {
    const told = evaluate(facts);
    if (!told.ok || !told.holds) return unmet(type, expression, told.ok ? undefined : told.reason);
  }
  return constrained(line, (filed) => constraintFacts(filed, { at: request.at, callId }));
}

/**
 * Why a grant does not allow one use. Of the conditions only time can have changed since the call began: what the
 * others look at belongs to the request.
 */
export function refuseUsing(line: readonly FiledGrant[], use: UseQuery): GrantRefusal | undefined {
  const { at, callId } = use;
  for (const { type, expression, evaluate } of conditionsOf(line).filter(({ type }) => type === "TIME")) {
    const told = evaluate({ at, context: {}, location: {} });
    if (!told.ok || !told.holds) return unmet(type, expression, told.ok ? undefined : told.reason);
  }
  const outside = outsideScope(line, use);
  if (outside !== undefined) return { kind: "scope", reason: outside };
  return constrained(line, (filed) => constraintFacts(filed, { at, callId, use }));
}

function factsOf({ request, context = {}, location = {} }: GrantQuery): ConditionFacts {
  const { caller, tool, version, operation, risk, sideEffects, at } = request;
  const { tenant, agent, user, session } = caller;
  const own = { tool, version, operation, risk, sideEffects, tenant, agent, user, session };
  return { at, location, context: { ...context, ...own } };
}

function outsideScope(line: readonly FiledGrant[], { action, resource }: UseQuery): string | undefined {
  for (const { record } of line) {
    const { actions, resources } = record.scope;
    if (actions.length > 0 && (action === undefined || !actions.includes(action)))
      return `${record.grantId} allows ${actions.join(", ")} and not ${shown(action, "an action without a name")}`;
    if (!coversResource(resources, resource))
      return `${record.grantId} does not cover ${shown(resource, "a resource without a name")}`;
  }
  return undefined;
}

function shown(text: string | undefined, otherwise: string): string {
  return text === undefined ? otherwise : redactText(text).slice(0, MAX_SHOWN_CHARS).toWellFormed();
}

function constrained(
  line: readonly FiledGrant[],
  factsOf: (filed: FiledGrant) => ReturnType<typeof constraintFacts>,
): GrantRefusal | undefined {
  for (const filed of line) {
    const facts = factsOf(filed);
    for (const constraint of filed.constraints) {
      const refused = constraint.refuse(facts);
      if (!refused) continue;
      const kind = refused.retryAfterMs === undefined ? "constraint" : "rate";
      return { kind, ...refused, reason: `${filed.record.grantId}: ${refused.reason}` };
    }
  }
  return undefined;
}

function conditionsOf(line: readonly FiledGrant[]) {
  return line.flatMap(({ conditions }) => conditions);
}

function unmet(type: string, expression: string, problem: string | undefined): GrantRefusal {
  const why = problem === undefined ? "does not hold" : `cannot be told: ${problem}`;
  return { kind: "condition", reason: `${type} ${expression} ${why}` };
}
