import { CATALOGUE } from "@sallyport/protocol";
import { type Policy, type PolicyRequest, type PolicyVerdict, TIERS } from "../../ports/policy.ts";
import { EFFECTS } from "./rule.ts";
import { strictest } from "./strictest.ts";

const DEFAULT_TIMEOUT_MS = 500;

export interface AskOptions {
  /** How long a policy may take; 500 ms when left out. */
  timeoutMs?: number;
  /** Told why a policy could not be asked; the verdict itself says only that it could not. */
  onProblem?: (policy: string, error: unknown) => void;
}

/**
 * Asks every policy and takes the strictest answer. Answers at once when all of them do. One that throws, rejects,
 * answers nonsense or not in time denies (E3206): it never drops out of the count.
 */
export function askAll(
  policies: readonly Policy[],
  request: PolicyRequest,
  options: AskOptions = {},
): PolicyVerdict | Promise<PolicyVerdict> {
  const verdicts = policies.map((policy) => ask(policy, request, options));
  const ready = verdicts.filter(isReady);
  return ready.length === verdicts.length ? strictest(ready) : Promise.all(verdicts).then(strictest);
}

function isReady(verdict: PolicyVerdict | Promise<PolicyVerdict>): verdict is PolicyVerdict {
  return !(verdict instanceof Promise);
}

function ask(
  policy: Policy,
  request: PolicyRequest,
  options: AskOptions,
): PolicyVerdict | Promise<PolicyVerdict> {
  try {
    const verdict = policy.decide(request);
    return isThenable(verdict) ? inTime(verdict, policy, options) : understood(verdict, policy, options);
  } catch (error) {
    return unanswered(policy, error, options);
  }
}

function isThenable(verdict: PolicyVerdict | Promise<PolicyVerdict>): verdict is Promise<PolicyVerdict> {
  return typeof verdict === "object" && verdict !== null && "then" in verdict;
}

async function inTime(
  verdict: Promise<PolicyVerdict>,
  policy: Policy,
  options: AskOptions,
): Promise<PolicyVerdict> {
  const { timeoutMs = DEFAULT_TIMEOUT_MS } = options;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs);
  });
  try {
    return understood(await Promise.race([verdict, late]), policy, options);
  } catch (error) {
    return unanswered(policy, error, options);
  } finally {
    clearTimeout(timer);
  }
}

/** A verdict that does not say clearly what it decides is no verdict. */
function understood(verdict: PolicyVerdict, policy: Policy, options: AskOptions): PolicyVerdict {
  const clear =
    typeof verdict === "object" &&
    verdict !== null &&
    EFFECTS.includes(verdict.outcome) &&
    TIERS.includes(verdict.tier) &&
    [verdict.reason, verdict.policyVersion].every(isText) &&
    Array.isArray(verdict.rules) &&
    verdict.rules.every(isText) &&
    [verdict.argument, verdict.unlock, verdict.nearest].every((text) => text === undefined || isText(text)) &&
    (verdict.code === undefined || Object.hasOwn(CATALOGUE, verdict.code));
  return clear ? verdict : unanswered(policy, new Error("its answer makes no sense"), options);
}

/** Fit for the record: canonical JSON has no place for half a character. */
function isText(value: unknown): boolean {
  return typeof value === "string" && value.isWellFormed();
}

/** Nobody's standing grant answers for a policy that could not be asked. */
function unanswered({ name }: Policy, error: unknown, { onProblem }: AskOptions): PolicyVerdict {
  onProblem?.(name, error);
  return {
    outcome: "deny",
    reason: `policy ${name} could not be asked`,
    rules: [],
    policyVersion: `${name}:unanswered`,
    tier: "organisation",
    code: "E3206",
    cacheMs: 0,
  };
}
