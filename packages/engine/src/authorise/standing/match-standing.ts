import { satisfies } from "semver";
import type { AuthorityRequest } from "../../ports/authority.ts";
import type { StandingGrant } from "../../ports/grants.ts";
import { TIERS, type Tier } from "../../ports/policy.ts";
import { matchesArgument } from "./argument-pattern.ts";

/** Stands for every agent. */
export const ANY_AGENT = "*";

/** The question a policy has put, and where. */
export interface StandingAsk {
  tier: Tier;
  /** The folder or project the call is made in. */
  project?: string;
}

/**
 * The oldest standing grant that answers the question beforehand; undefined when a person has to be asked. The grants
 * must be genuine, as `GrantShelf.standing()` gives them. A field that is not understood does not match.
 */
export function matchStanding(
  grants: readonly StandingGrant[],
  request: AuthorityRequest,
  ask: StandingAsk,
): StandingGrant | undefined {
  return grants.find(
    (grant) => isLive(grant, request.at) && isFor(grant, request, ask) && outranks(grant.tier, ask.tier),
  );
}

/** Whether the word of one tier answers a question of another. */
export function outranks(tier: Tier, asked: Tier): boolean {
  const rank = TIERS.indexOf(tier);
  return rank !== -1 && rank >= TIERS.indexOf(asked) && TIERS.includes(asked);
}

function isLive({ revokedAt, expiresAt }: StandingGrant, at: number): boolean {
  return revokedAt === undefined && (expiresAt === undefined || expiresAt > at);
}

function isFor(grant: StandingGrant, request: AuthorityRequest, { project }: StandingAsk): boolean {
  const { caller, tool, version, operation, input } = request;
  return (
    grant.tenant === caller.tenant &&
    grant.tool === tool &&
    grant.operations.includes(operation) &&
    (grant.agent === ANY_AGENT || grant.agent === caller.agent) &&
    (grant.session === undefined || grant.session === caller.session) &&
    (grant.project === undefined || grant.project === project) &&
    satisfies(version, grant.versions) &&
    grant.arguments.every((pattern) => matchesArgument(pattern, input))
  );
}
