import { type PolicyVerdict, TIERS, type Tier } from "../../ports/policy.ts";
import { EFFECTS } from "./rule.ts";

/** How several policies' versions are written as one. */
const JOIN = "+";

/**
 * One verdict of many: the strictest outcome wins, whoever said it. It names the rules of everybody who said so, is
 * the word of the highest tier among them, and rests on all the versions, in the order given. Of nothing: a deny.
 */
export function strictest(verdicts: readonly PolicyVerdict[]): PolicyVerdict {
  const [only] = verdicts;
  if (!only)
    return {
      outcome: "deny",
      reason: "there is no policy",
      rules: [],
      policyVersion: "none",
      tier: "operator",
    };
  if (verdicts.length === 1) return only;
  const outcome = EFFECTS.find((effect) => verdicts.some((verdict) => verdict.outcome === effect)) ?? "deny";
  const winning = verdicts.filter((verdict) => verdict.outcome === outcome);
  // The words of a rule, or of a policy that could not be asked, say more than those of a default.
  const lead =
    winning.find(({ rules, code }) => rules.length > 0 || code !== undefined) ?? winning[0] ?? only;
  const { cacheMs: _own, ...words } = lead;
  return {
    ...words,
    rules: [...new Set(winning.flatMap(({ rules }) => rules))],
    policyVersion: verdicts.map(({ policyVersion }) => policyVersion).join(JOIN),
    tier: highestTier(winning),
    ...(winning.some(({ preview }) => preview) && { preview: true as const }),
    ...shortestLife(verdicts),
  };
}

function highestTier(verdicts: readonly PolicyVerdict[]): Tier {
  const highest = Math.max(...verdicts.map(({ tier }) => TIERS.indexOf(tier)));
  return TIERS[highest] ?? "organisation";
}

/** The whole rests on every part, so it is remembered no longer than any of them. */
function shortestLife(verdicts: readonly PolicyVerdict[]): Pick<PolicyVerdict, "cacheMs"> {
  const lives = verdicts.map(({ cacheMs }) => cacheMs).filter((life) => life !== undefined);
  return lives.length === 0 ? {} : { cacheMs: Math.min(...lives) };
}
