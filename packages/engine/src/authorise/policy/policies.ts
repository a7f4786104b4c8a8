import { CATALOGUE, isFailure, type JsonObject, SallyportError } from "@sallyport/protocol";
import type { Policy, PolicyRequest, PolicyVerdict } from "../../ports/authority.ts";
import { TIERS, type Tier } from "../../ports/grants.ts";
import { TIMED_OUT, withTimeout } from "../../timeouts.ts";
import { compilePolicy } from "./document.ts";
import { EFFECTS } from "./rules.ts";

const DEFAULT_TIMEOUT_MS = 500;

interface AskOptions {
  /** How long a policy may take; 500 ms when left out. */
  timeoutMs?: number;
  /** Gets the reason why a policy could not be asked; the verdict does not contain it. */
  onProblem?: (policy: string, error: unknown) => void;
}

/**
 * Asks every policy and takes the strictest answer. The answer is synchronous when all policies answer synchronously. A
 * policy that throws, rejects, gives a malformed answer or takes too long counts as a deny (E3206).
 */
export function askAll(
  policies: readonly Policy[],
  request: PolicyRequest,
  options: AskOptions = {},
): PolicyVerdict | Promise<PolicyVerdict> {
  const verdicts = policies.map((policy) => ask(policy, request, options));
  if (verdicts.some(isThenable)) return Promise.all(verdicts).then(strictest);
  return strictest(verdicts as PolicyVerdict[]);
}

function ask(
  policy: Policy,
  request: PolicyRequest,
  options: AskOptions,
): PolicyVerdict | Promise<PolicyVerdict> {
  try {
    const verdict = policy.decide(request);
    return isThenable(verdict) ? askInTime(verdict, policy, options) : understood(verdict);
  } catch (error) {
    return unanswered(policy, error, options);
  }
}

function isThenable(verdict: PolicyVerdict | Promise<PolicyVerdict>): verdict is Promise<PolicyVerdict> {
  return typeof verdict === "object" && verdict !== null && "then" in verdict;
}

async function askInTime(
  verdict: Promise<PolicyVerdict>,
  policy: Policy,
  options: AskOptions,
): Promise<PolicyVerdict> {
  const { timeoutMs = DEFAULT_TIMEOUT_MS } = options;
  try {
    const answer = await withTimeout(verdict, timeoutMs);
    if (answer === TIMED_OUT) throw new Error(`no answer within ${timeoutMs} ms`);
    return understood(answer);
  } catch (error) {
    return unanswered(policy, error, options);
  }
}

/** Throws for a malformed verdict. */
function understood(verdict: PolicyVerdict): PolicyVerdict {
  const isClear =
    typeof verdict === "object" &&
    verdict !== null &&
    EFFECTS.includes(verdict.outcome) &&
    TIERS.includes(verdict.tier) &&
    [verdict.reason, verdict.policyVersion].every(isText) &&
    Array.isArray(verdict.rules) &&
    verdict.rules.every(isText) &&
    [verdict.argument, verdict.unlock, verdict.nearest].every((text) => text === undefined || isText(text)) &&
    (verdict.code === undefined || Object.hasOwn(CATALOGUE, verdict.code));
  if (!isClear) throw new Error("its answer is malformed");
  return verdict;
}

/** A text that canonical JSON can hold: without lone surrogates. */
function isText(value: unknown): boolean {
  return typeof value === "string" && value.isWellFormed();
}

/** The highest tier, so that no standing grant answers for a policy that could not be asked. */
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

function noPolicy(): PolicyVerdict {
  const reason = "there is no policy";
  return { outcome: "deny", reason, rules: [], policyVersion: "none", tier: "operator" };
}

/**
 * Combines verdicts: the strictest outcome wins. The result names the rules of all verdicts with that outcome, has the
 * highest tier among them, and joins the versions of all verdicts in the order given. No verdict at all is a deny.
 */
export function strictest(verdicts: readonly PolicyVerdict[]): PolicyVerdict {
  const [only = noPolicy()] = verdicts;
  if (verdicts.length <= 1) return only;
  const outcome = EFFECTS.find((effect) => verdicts.some((verdict) => verdict.outcome === effect)) ?? "deny";
  const winning = verdicts.filter((verdict) => verdict.outcome === outcome);
  // A reason given by a rule, or by a policy that could not be asked, says more than a default.
  const lead =
    winning.find(({ rules, code }) => rules.length > 0 || code !== undefined) ?? winning[0] ?? only;
  const { cacheMs: _own, ...words } = lead;
  // The result depends on every verdict, so the shortest cache time holds.
  const lives = verdicts.map(({ cacheMs }) => cacheMs).filter((life) => life !== undefined);
  return {
    ...words,
    rules: [...new Set(winning.flatMap(({ rules }) => rules))],
    policyVersion: verdicts.map(({ policyVersion }) => policyVersion).join("+"),
    tier: TIERS[Math.max(...winning.map(({ tier }) => TIERS.indexOf(tier)))] ?? "organisation",
    ...(winning.some(({ preview }) => preview) && { preview: true as const }),
    ...(lives.length > 0 && { cacheMs: Math.min(...lives) }),
  };
}

/** A policy by lists and a mode (FR-APR-04). */
export interface SrdOptions {
  /** False: nothing runs. */
  enabled: boolean;
  /** `auto`: everything but the denied. `prompt`: ask as `promptSideEffects` says. `deny`: only the allowed. */
  mode: "auto" | "prompt" | "deny";
  /** Tools, or patterns with `*`. In `prompt` mode they run without the policy's question. */
  allowlist: readonly string[];
  /** Always denied, also when they are on the allowlist. */
  denylist: readonly string[];
  /** In `prompt` mode: ask before every tool with side effects that is not on the allowlist. */
  promptSideEffects: boolean;
  /** `operator` when left out. */
  tier?: Tier;
}

export const DISABLED_MESSAGE = "Tool execution disabled by policy";
const PRESET = "preset";

/**
 * The preset in its fixed order (FR-APR-05): disabled, denylist, mode and allowlist. It waives neither the approval that
 * a tool's manifest demands nor the limits of the sandbox. Throws (E3223) for lists no rule can have, such as one with an
 * empty name.
 */
export function srdPolicy(options: SrdOptions): Policy {
  const { tier = "operator" } = options;
  if (!options.enabled) return { name: PRESET, decide: () => disabled(tier) };
  const policy = compilePolicy(presetDocument(options, tier), { name: PRESET, examples: "none" });
  if (isFailure(policy)) throw new SallyportError(policy);
  return policy;
}

/** Not a rule: a rule that matches everything has no example of a call that it does not match. */
function disabled(tier: Tier): PolicyVerdict {
  return {
    outcome: "deny",
    reason: DISABLED_MESSAGE,
    rules: ["disabled"],
    policyVersion: `${PRESET}:disabled`,
    tier,
    code: "E3225",
  };
}

function presetDocument(
  { mode, allowlist, denylist, promptSideEffects }: SrdOptions,
  tier: Tier,
): JsonObject {
  const [denied, allowed] = [{ tools: [...denylist] }, { tools: [...allowlist] }];
  const rules: JsonObject[] = [];
  if (denylist.length > 0)
    rules.push({ id: "denylist", effect: "deny", reason: "the tool is on the denylist", match: denied });
  if (allowlist.length > 0)
    rules.push({ id: "allowlist", effect: "allow", reason: "the tool is on the allowlist", match: allowed });
  if (mode === "prompt" && promptSideEffects)
    rules.push({
      id: "side-effects",
      effect: "ask",
      reason: "the tool has side effects",
      match: { sideEffects: ["state", "external"] },
      ...(allowlist.length > 0 && { unless: allowed }),
    });
  return { version: 1, tier, default: mode === "deny" ? "deny" : "allow", rules };
}
