import type { ErrorCode } from "@sallyport/protocol";
import { NO, negate, type Truth, YES } from "../../match/truth.ts";
import type { PolicyRequest } from "../../ports/policy.ts";
import type { Condition } from "./condition.ts";

export const EFFECTS = ["deny", "ask", "allow"] as const;
/** What a rule says of the calls it matches, the strictest first. */
export type Effect = (typeof EFFECTS)[number];

/** One compiled rule. */
export interface Rule {
  readonly id: string;
  readonly effect: Effect;
  readonly reason: string;
  readonly unlock?: string;
  readonly nearest?: string;
  /** In the order they stand in the document. */
  readonly conditions: readonly Condition[];
  /** What stands under `unless`; none: there is no exception. */
  readonly exceptions: readonly Condition[];
  /** JSON Pointer of the argument it is about. */
  readonly argument?: string;
  readonly code?: ErrorCode;
  readonly timed: boolean;
  /** Of an ask: the call is tried out first, and the person sees what it would change. */
  readonly preview?: true;
}

/** Whether all conditions hold; the least of what is said of them. */
export function allHold(conditions: readonly Condition[], request: PolicyRequest): Truth {
  let least: Truth = YES;
  for (const condition of conditions) {
    const truth = condition.judge(request);
    if (truth === NO) return NO;
    if (truth < least) least = truth;
  }
  return least;
}

/**
 * Whether a rule speaks of a call. A doubt is settled on the strict side: a rule that forbids or asks speaks, one
 * that allows does not, and the same the other way round for its exception.
 */
export function applies(rule: Rule, request: PolicyRequest, conditions = rule.conditions): boolean {
  const met = allHold(conditions, request);
  if (met === NO) return false;
  const { exceptions, effect } = rule;
  const spared = exceptions.length === 0 ? YES : negate(allHold(exceptions, request));
  const truth = Math.min(met, spared);
  return effect === "allow" ? truth === YES : truth !== NO;
}
