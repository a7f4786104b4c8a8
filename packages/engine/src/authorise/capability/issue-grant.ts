import { type Failure, failure, type Issue } from "@sallyport/protocol";
import type { CapabilityGrant } from "../../ports/grants.ts";
import { mayAdminister } from "./administer.ts";
import {
  completeScope,
  constraintIssues,
  type GrantDraft,
  type GrantOffice,
  issueAt,
  partyIssues,
  scopeIssues,
  textProblem,
} from "./grant-draft.ts";
import { fitIssues } from "./held-grants.ts";
import { signGrant } from "./sign-grant.ts";

/**
 * The signed grant, ready to be stored. Refused (E3220) with every reason: the capability is unknown or deprecated, the
 * giver has no authority, a prerequisite is missing, another capability conflicts, it has expired before it begins, or
 * part of it cannot be understood, because what nobody understands would refuse everything later.
 */
export function issueGrant(draft: GrantDraft, office: GrantOffice): CapabilityGrant | Failure {
  const { tenant, capabilityId, grantee, grantor, constraints = [], expiresAt } = draft;
  const scope = completeScope(draft.scope);
  const issues = [
    ...issueAt("/tenant", textProblem(tenant)),
    ...partyIssues(draft),
    ...capabilityIssues(draft, office),
    ...authorityIssues(draft, office),
    ...fitIssues({ tenant, ...grantee }, capabilityId, office),
    ...issueAt("/expiresAt", expiryProblem(expiresAt, office.now)),
    ...scopeIssues(scope, office.now),
    ...constraintIssues(constraints),
  ];
  if (issues.length > 0) return notGiven(`${capabilityId} cannot be granted to ${grantee.id}.`, issues);
  return signGrant(
    {
      kind: "capability",
      grantId: office.ids.next(),
      tenant,
      capabilityId,
      grantee: { type: grantee.type, id: grantee.id },
      grantor: grantor.id,
      scope,
      constraints: structuredClone(constraints),
      delegatable: draft.delegatable ?? false,
      delegationDepth: 0,
      issuedAt: office.now,
      ...(expiresAt !== undefined && { expiresAt }),
      uses: 0,
      revision: 1,
    },
    office.signer,
  );
}

export function notGiven(message: string, issues: Issue[]): Failure {
  return failure("E3220", { message, issues });
}

export function expiryProblem(expiresAt: number | undefined, now: number): string | undefined {
  if (expiresAt === undefined) return undefined;
  if (!Number.isSafeInteger(expiresAt)) return "is not a moment";
  return expiresAt > now ? undefined : "is not in the future";
}

/** A capability must be there, be current, and be one that may be passed on when the grant says so. */
function capabilityIssues({ capabilityId, delegatable }: GrantDraft, { tree }: GrantOffice): Issue[] {
  const capability = tree.get(capabilityId);
  if (!capability) return [{ path: "/capabilityId", reason: `there is no capability ${capabilityId}` }];
  const { deprecated, replacedBy } = capability.metadata;
  const instead = replacedBy === undefined ? {} : { suggestion: `Grant ${replacedBy} instead.` };
  return [
    ...(deprecated ? [{ path: "/capabilityId", reason: `${capabilityId} is deprecated`, ...instead }] : []),
    ...(delegatable && !capability.delegatable
      ? [{ path: "/delegatable", reason: `${capabilityId} is never passed on` }]
      : []),
  ];
}

function authorityIssues({ tenant, grantor, capabilityId }: GrantDraft, office: GrantOffice): Issue[] {
  if (mayAdminister(grantor, { tenant, action: "grant", about: capabilityId }, office)) return [];
  const reason = `${grantor.id} is no operator and holds no valid admin.capability.grant that covers this`;
  return [{ path: "/grantor", reason }];
}
