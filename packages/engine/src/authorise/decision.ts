import type { AuthorityRequest, Decision, PolicyVerdict, TokenClaims } from "../ports/authority.ts";
import type { Tier } from "../ports/grants.ts";
import type { CallerRules, ConfiguredGrant } from "./configured-rules.ts";
import { type GrantIndex, type HeldCapabilities, limitReached, NO_GRANT } from "./grant/index.ts";
import { matchStanding } from "./standing-grant.ts";

/** Everything that was found out about a request. */
export interface Findings {
  claims: TokenClaims | undefined;
  /** What the configuration says about the caller. */
  caller: CallerRules;
  verdict?: PolicyVerdict;
  grantIndex: GrantIndex | undefined;
  project: string | undefined;
  grantsVersion: string;
}

/** What every decision about the request says. */
type Base = Omit<Decision, "outcome" | "reason">;

/** Decides, from the strictest finding on: a deny of a policy, no grant, a missing capability, an ask. */
export function combine(request: AuthorityRequest, found: Findings): Decision {
  const { claims, caller, verdict, grantIndex, grantsVersion } = found;
  const covering = caller.covering(request);
  const { held, missing } = storedCapabilities(request, covering, found);
  const lacks = new Set(missing.map(({ capability }) => capability));
  const grantIds = [...new Set(held.map(({ grantId }) => grantId))];
  const rules = covering.map(({ id }) => id);
  const base: Base = {
    rules: verdict ? [...rules, ...verdict.rules] : rules,
    capabilities: request.requiredCapabilities.filter((capability) => !lacks.has(capability)),
    missing: [...lacks],
    policyVersion: verdict ? `${grantsVersion}+${verdict.policyVersion}` : grantsVersion,
    ...(grantIds.length > 0 && { grants: grantIds, counted: grantIndex?.counted(grantIds) ?? [] }),
    ...(claims && { token: claims }),
    ...(caller.bounds && { bounds: caller.bounds }),
  };
  if (verdict?.outcome === "deny") return denyByPolicy(base, verdict);
  if (covering.length === 0 && !claims) return denyNoGrant(base, request);
  if (missing.length > 0) return denyMissing(base, { request, missing, rules });
  if (verdict?.outcome === "ask") return askOrAllow(base, request, { ...found, verdict });
  return { ...base, outcome: "allow", reason: verdict?.reason ?? "granted" };
}

const NOTHING: HeldCapabilities = { held: [], missing: [] };

/** Which capabilities stored grants give, of those that configured grants do not. */
function storedCapabilities(
  asked: AuthorityRequest,
  covering: readonly ConfiguredGrant[],
  { claims, caller, grantIndex }: Findings,
): HeldCapabilities {
  if (asked.requiredCapabilities.length === 0) return NOTHING;
  const given = new Set(covering.flatMap(({ capabilities }) => capabilities));
  const open = asked.requiredCapabilities.filter((capability) => !given.has(capability));
  if (open.length === 0) return NOTHING;
  const request = claims && claims.user === undefined ? withoutUser(asked) : asked;
  const stored = grantIndex?.capabilitiesFor({ request, roles: caller.profile?.roles ?? [] }, open);
  return stored ?? { held: [], missing: open.map((capability) => ({ capability, ...NO_GRANT })) };
}

/** Grants to a user do not count for an agent whose token names no user: it could name anybody. */
function withoutUser(request: AuthorityRequest): AuthorityRequest {
  const { user: _claimed, ...caller } = request.caller;
  return { ...request, caller };
}

function denyByPolicy(base: Base, verdict: PolicyVerdict): Decision {
  const { policyVersion: _version, cacheMs: _cacheMs, preview: _preview, ...words } = verdict;
  return { ...base, code: "E3225", ...words };
}

function denyNoGrant(base: Base, { caller, tool, operation }: AuthorityRequest): Decision {
  return {
    ...base,
    outcome: "deny",
    code: "E3209",
    reason: `no grant lets agent ${caller.agent} of tenant ${caller.tenant} call ${tool} ${operation}`,
    unlock: `Add a grant whose tools include "${tool}" and whose agents include "${caller.agent}".`,
  };
}

function denyMissing(
  base: Base,
  found: { request: AuthorityRequest; missing: HeldCapabilities["missing"]; rules: string[] },
): Decision {
  const { request, missing, rules } = found;
  const list = base.missing.join(", ");
  if (missing.every(({ usedUp }) => usedUp)) {
    const moments = missing.flatMap(({ freeAt }) => freeAt ?? []);
    const freeAt = moments.length === missing.length ? Math.max(...moments) : undefined;
    const grantIds = missing.flatMap(({ usedUp }) => usedUp ?? []);
    const { code, reason, advice } = limitReached({ grantIds, freeAt });
    const wait = freeAt !== undefined && { retryAfterMs: freeAt - request.at };
    return { ...base, outcome: "deny", code, ...wait, reason: `${list}: ${reason}`, unlock: advice };
  }
  const why = missing.map(({ capability, reason }) => `${capability} (${reason})`).join(", ");
  const where = rules.length > 0 ? `the capabilities of grant ${rules.join(" or ")}` : "a grant for the tool";
  return {
    ...base,
    outcome: "deny",
    code: "E3210",
    reason: `${request.tool} lacks ${why}`,
    unlock: `Add ${list} to ${where}, or issue it with \`sallyport grants issue\`.`,
  };
}

/** A person is to be asked, unless a standing grant has answered already. */
function askOrAllow(
  base: Base,
  request: AuthorityRequest,
  { verdict, grantIndex, project }: Findings & { verdict: PolicyVerdict & { tier: Tier } },
): Decision {
  const { reason, argument, tier, preview } = verdict;
  const standing = grantIndex && matchStanding(grantIndex.standing(), request, { tier, project });
  if (!standing) {
    const details = { ...(argument !== undefined && { argument }), ...(preview && { preview }) };
    return { ...base, outcome: "ask", reason, tier, ...details };
  }
  const { grantId } = standing;
  return {
    ...base,
    outcome: "allow",
    reason: `standing grant ${grantId} answers for it`,
    standing: grantId,
    rules: [...base.rules, grantId],
    grants: [...(base.grants ?? []), grantId],
    counted: [...(base.counted ?? []), { grantId }],
  };
}
