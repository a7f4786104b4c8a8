import type { JsonObject } from "@sallyport/protocol";
import { NO, type Truth, UNSURE } from "../../match/truth.ts";
import type { PolicyRequest, PolicyVerdict } from "../../ports/policy.ts";
import { redact } from "../../redact/redact.ts";
import type { Condition } from "./condition.ts";
import { allHold, applies, type Effect, type Rule } from "./rule.ts";

const MAX_FOUND = 100;

/** The condition that made a rule apply or not, in words. */
export interface DecidingCondition {
  /** JSON Pointer inside the rule, such as `/match/arguments/~1env`. */
  condition: string;
  /** `doubt`: it could not be judged, and was taken the strict way. */
  holds: "yes" | "no" | "doubt";
  text: string;
}

export interface RuleExplanation {
  id: string;
  effect: Effect;
  reason: string;
  applies: boolean;
  because?: DecidingCondition;
}

/** Why a policy decides as it does: every rule, in the order of the document. */
export interface Explanation {
  verdict: PolicyVerdict;
  rules: RuleExplanation[];
  /** What holds when no rule applies. */
  default: Effect;
}

export function explainRule(rule: Rule, request: PolicyRequest): RuleExplanation {
  const { id, effect, reason } = rule;
  const because = decidingCondition(rule, request);
  return { id, effect, reason, applies: applies(rule, request), ...(because && { because }) };
}

/** Of a rule that does not apply the first condition in the way; of one that does the first doubt, else its last condition. */
export function decidingCondition(rule: Rule, request: PolicyRequest): DecidingCondition | undefined {
  const { conditions, exceptions } = rule;
  const said = conditions.map((condition) => ({ condition, truth: condition.judge(request) }));
  const missed = said.find(({ truth }) => truth === NO) ?? said.find(({ truth }) => truth === UNSURE);
  const does = applies(rule, request);
  if (!does && missed && (missed.truth === NO || rule.effect === "allow")) return describe(missed, request);
  if (!does) return exceptionText(exceptions, request);
  const deciding = missed ?? said.at(-1);
  return deciding && describe(deciding, request);
}

interface Said {
  condition: Condition;
  truth: Truth;
}

const WORDS = { 0: "no", 1: "doubt", 2: "yes" } as const;
const PHRASES = { no: "does not hold", doubt: "cannot be judged", yes: "holds" } as const;

function describe({ condition, truth }: Said, request: PolicyRequest): DecidingCondition {
  const holds = WORDS[truth];
  const text = `${condition.path} ${PHRASES[holds]} (${foundText(condition, request)})`;
  return { condition: condition.path, holds, text };
}

function exceptionText(exceptions: readonly Condition[], request: PolicyRequest): DecidingCondition {
  const holds = WORDS[allHold(exceptions, request)];
  const found = exceptions
    .map((condition) => `${condition.path}: ${foundText(condition, request)}`)
    .join("; ");
  return { condition: "/unless", holds, text: `/unless ${PHRASES[holds]} (${found})` };
}

/** Under its own name, so that a secret is recognised by it. */
function foundText(condition: Condition, request: PolicyRequest): string {
  const found = condition.look(request);
  if (found === undefined) return "nothing there";
  const name = condition.argument?.split("/").at(-1) ?? "found";
  const [shown] = Object.values(redact({ [name]: found }) as JsonObject);
  const text = JSON.stringify(shown);
  return `found ${text.length > MAX_FOUND ? `${text.slice(0, MAX_FOUND)}…` : text}`;
}
