import type { PolicyRequest, PolicyVerdict, Tier } from "../../ports/policy.ts";
import type { Effect, Rule } from "./rule.ts";
import type { Matched } from "./rule-index.ts";

interface From {
  name: string;
  version: string;
  tier: Tier;
  defaultEffect: Effect;
}

/** What a policy says, given the rules that apply: the first of them gives the words. */
export function verdictOf(matched: Matched, request: PolicyRequest, from: From): PolicyVerdict {
  const { rules, timed } = matched;
  const [first] = rules;
  const said = first ? saidBy(first, rules) : defaultOf(request, from);
  const common = { policyVersion: from.version, tier: from.tier };
  return timed ? { ...said, ...common, cacheMs: 0 } : { ...said, ...common };
}

type Said = Omit<PolicyVerdict, "policyVersion" | "tier">;

function saidBy(first: Rule, rules: readonly Rule[]): Said {
  const said: Said = { outcome: first.effect, reason: first.reason, rules: rules.map(({ id }) => id) };
  const { unlock, nearest, argument } = first;
  if (unlock !== undefined) said.unlock = unlock;
  if (nearest !== undefined) said.nearest = nearest;
  if (argument !== undefined) said.argument = argument;
  if (rules.some(({ preview }) => preview)) said.preview = true;
  if (first.effect === "deny") said.code = first.code ?? "E3225";
  return said;
}

function defaultOf({ tool, operation }: PolicyRequest, { name, defaultEffect }: From): Said {
  if (defaultEffect === "allow")
    return { outcome: "allow", reason: `no rule of policy ${name} speaks against it`, rules: [] };
  if (defaultEffect === "ask")
    return { outcome: "ask", reason: `policy ${name} asks before what no rule speaks of`, rules: [] };
  const unlock = `Add a rule to policy ${name} that allows ${tool} ${operation}.`;
  return {
    outcome: "deny",
    reason: `no rule of policy ${name} allows ${tool} ${operation}`,
    rules: [],
    unlock,
  };
}
