import type { AuthorityRequest, Decision } from "../ports/authority.ts";
import type { PolicyVerdict, Tier } from "../ports/policy.ts";
import type { TokenClaims } from "../ports/tokens.ts";
import type { AgentProfile } from "./agent-profile.ts";
import type { GrantShelf } from "./capability/grant-shelf.ts";
import type { ConfiguredGrant } from "./grants.ts";
import { matchStanding } from "./standing/index.ts";

/** Everything that was found out about a request. */
export interface Found {
  claims: TokenClaims | undefined;
  profile: AgentProfile | undefined;
  verdict?: PolicyVerdict;
  /** The configured grants that cover the call. */
  matching: readonly ConfiguredGrant[];
  shelf: GrantShelf | undefined;
  project: string | undefined;
  grantsVersion: string;
}

/** The capabilities the call holds, and by what. */
interface Holdings {
  capabilities: string[];
  missing: { capability: string; reason: string; retryAfterMs?: number }[];
  /** Stored grants among them. */
  grantIds: string[];
}

/** Puts together what was found, from the strictest on: a deny, nothing that opens, a missing capability, an ask. */
export function weigh(request: AuthorityRequest, found: Found): Decision {
  const { claims, verdict, matching } = found;
  const holdings = holdingsOf(request, found);
  const rules = matching.map(({ id }) => id);
  const base: Omit<Decision, "outcome" | "reason"> = {
    rules: verdict ? [...rules, ...verdict.rules] : rules,
    capabilities: holdings.capabilities,
    missing: holdings.missing.map(({ capability }) => capability),
    policyVersion: verdict ? `${found.grantsVersion}+${verdict.policyVersion}` : found.grantsVersion,
    ...(holdings.grantIds.length > 0 && {
      grants: holdings.grantIds,
      counted: found.shelf?.lineage(holdings.grantIds) ?? holdings.grantIds,
    }),
    ...(claims && { token: claims }),
  };
  if (verdict?.outcome === "deny") return byPolicy(base, verdict);
  if (matching.length === 0 && !claims) return nothingOpens(base, request);
  if (holdings.missing.length > 0) return lacking(base, { request, holdings, rules });
  return permitted(base, { request, found });
}

function holdingsOf(request: AuthorityRequest, { matching, shelf, profile }: Found): Holdings {
  const required = request.requiredCapabilities;
  if (required.length === 0) return { capabilities: [], missing: [], grantIds: [] };
  const given = new Set(matching.flatMap((grant) => grant.capabilities));
  const open = required.filter((capability) => !given.has(capability));
  if (open.length === 0) return { capabilities: [...required], missing: [], grantIds: [] };
  const stored = shelf?.capabilitiesFor(
    {
      request,
      roles: profile?.roles ?? [],
      ...(request.callId !== undefined && { callId: request.callId }),
    },
    open,
  );
  const missing = stored?.missing ?? open.map((capability) => ({ capability, reason: "no grant found" }));
  const lacks = new Set(missing.map(({ capability }) => capability));
  return {
    capabilities: required.filter((capability) => !lacks.has(capability)),
    missing,
    grantIds: [...new Set(stored?.held.map(({ grantId }) => grantId) ?? [])],
  };
}

type Base = Omit<Decision, "outcome" | "reason">;

function byPolicy(base: Base, verdict: PolicyVerdict): Decision {
  const { reason, unlock, argument, nearest, tier, rules } = verdict;
  return {
    ...base,
    outcome: "deny",
    code: verdict.code ?? "E3225",
    reason,
    rules,
    tier,
    ...(unlock !== undefined && { unlock }),
    ...(argument !== undefined && { argument }),
    ...(nearest !== undefined && { nearest }),
  };
}

function nothingOpens(base: Base, { caller, tool, operation }: AuthorityRequest): Decision {
  return {
    ...base,
    outcome: "deny",
    code: "E3209",
    reason: `no grant lets agent ${caller.agent} of tenant ${caller.tenant} call ${tool} ${operation}`,
    unlock: `Add a grant whose tools include "${tool}" and whose agents include "${caller.agent}".`,
  };
}

function lacking(
  base: Base,
  { request, holdings, rules }: { request: AuthorityRequest; holdings: Holdings; rules: string[] },
): Decision {
  const why = holdings.missing.map(({ capability, reason }) => `${capability} (${reason})`).join(", ");
  const list = base.missing.join(", ");
  const waits = holdings.missing.flatMap(({ retryAfterMs }) => retryAfterMs ?? []);
  const mayWait = waits.length === holdings.missing.length;
  const where = rules.length > 0 ? `the capabilities of grant ${rules.join(" or ")}` : "a grant for the tool";
  return {
    ...base,
    outcome: "deny",
    code: mayWait ? "E3224" : "E3210",
    ...(mayWait && { retryAfterMs: Math.max(...waits) }),
    reason: `${request.tool} lacks ${why}`,
    unlock: `Add ${list} to ${where}, or issue it with \`sallyport grants issue\`.`,
  };
}

/** Nothing forbids it: allowed, unless a person is to be asked and no standing grant has answered already. */
function permitted(base: Base, { request, found }: { request: AuthorityRequest; found: Found }): Decision {
  const { verdict, shelf, project } = found;
  if (verdict?.outcome !== "ask") return { ...base, outcome: "allow", reason: verdict?.reason ?? "granted" };
  const standing =
    shelf &&
    matchStanding(shelf.standing(), request, {
      tier: verdict.tier,
      ...(project !== undefined && { project }),
    });
  if (!standing) return asks(base, verdict);
  return {
    ...base,
    outcome: "allow",
    reason: `standing grant ${standing.grantId} answers for it`,
    rules: [...base.rules, standing.grantId],
    grants: [...(base.grants ?? []), standing.grantId],
    counted: [...(base.counted ?? []), standing.grantId],
  };
}

function asks(base: Base, { reason, argument, tier, preview }: PolicyVerdict & { tier: Tier }): Decision {
  return {
    ...base,
    outcome: "ask",
    reason,
    tier,
    ...(argument !== undefined && { argument }),
    ...(preview && { preview }),
  };
}
