import { type Failure, failure, type Issue } from "@sallyport/protocol";
import type { CapabilityGrant, GrantConstraint, GrantScope } from "../../ports/grants.ts";
import { looserThan, readConstraint } from "./constraints.ts";
import {
  completeScope,
  constraintIssues,
  type DelegationDraft,
  type GrantOffice,
  issueAt,
  partyIssues,
  scopeIssues,
} from "./grant-draft.ts";
import { invalidity, MAX_DELEGATION_DEPTH } from "./grant-validity.ts";
import { capabilityGrants, fitIssues, grantSource } from "./held-grants.ts";
import { expiryProblem, notGiven } from "./issue-grant.ts";
import { includesGlob } from "./resource-match.ts";
import { signGrant } from "./sign-grant.ts";

/** How long a delegated grant lives when nothing else is said. */
export const DEFAULT_DELEGATION_MS = 24 * 3_600_000;

/**
 * A narrower, shorter-lived grant under a parent, signed and ready to be stored. Refused with E3221 when there is no
 * such parent, and with E3220 and every reason when the child could do anything its parent could not: what cannot be
 * shown to be narrower is not.
 */
export function delegateGrant(
  parentGrantId: string,
  draft: DelegationDraft,
  office: GrantOffice,
): CapabilityGrant | Failure {
  const parent = capabilityGrants(office.held).find(({ grantId }) => grantId === parentGrantId);
  if (!parent) return failure("E3221", { message: `There is no capability grant ${parentGrantId}.` });
  const child = drafted(parent, draft, office);
  const issues = [
    ...parentIssues(parent, draft, office),
    ...partyIssues(draft),
    ...fitIssues({ tenant: parent.tenant, ...draft.grantee }, parent.capabilityId, office),
    ...expiryIssues(child, parent, office.now),
    ...scopeIssues(child.scope, office.now),
    ...widerScope(child.scope, parent.scope),
    ...constraintIssues(child.constraints),
    ...looserConstraints(child.constraints, parent.constraints),
  ];
  return issues.length > 0
    ? notGiven(`${parentGrantId} cannot be passed on to ${draft.grantee.id} like this.`, issues)
    : signGrant(child, office.signer);
}

function drafted(
  parent: CapabilityGrant,
  draft: DelegationDraft,
  { now, ids }: GrantOffice,
): Omit<CapabilityGrant, "signature"> {
  const soonest = Math.min(now + DEFAULT_DELEGATION_MS, (parent.expiresAt ?? Number.POSITIVE_INFINITY) - 1);
  return {
    kind: "capability",
    grantId: ids.next(),
    tenant: parent.tenant,
    capabilityId: parent.capabilityId,
    grantee: { type: draft.grantee.type, id: draft.grantee.id },
    grantor: draft.grantor.id,
    scope: completeScope({ ...parent.scope, ...draft.scope }),
    constraints: structuredClone(draft.constraints ?? parent.constraints),
    delegatable: draft.delegatable ?? false,
    delegationDepth: parent.delegationDepth + 1,
    parentGrantId: parent.grantId,
    issuedAt: now,
    expiresAt: draft.expiresAt ?? soonest,
    uses: 0,
    revision: 1,
  };
}

function parentIssues(parent: CapabilityGrant, { grantor }: DelegationDraft, office: GrantOffice): Issue[] {
  const { grantee, delegatable, delegationDepth, capabilityId } = parent;
  const isHolder = grantee.id === grantor.id && grantee.type === (grantor.type ?? "USER");
  const invalid = invalidity(parent, grantSource(office), office.now);
  const mayPass = delegatable && office.tree.get(capabilityId)?.delegatable === true;
  return [
    ...issueAt("/parent", invalid),
    ...issueAt("/parent", mayPass ? undefined : "may not be passed on"),
    ...issueAt(
      "/parent",
      delegationDepth < MAX_DELEGATION_DEPTH
        ? undefined
        : `has been passed on ${MAX_DELEGATION_DEPTH} times already`,
    ),
    ...issueAt(
      "/grantor",
      isHolder || grantor.operator
        ? undefined
        : `${grantor.id} does not hold the parent grant and is no operator`,
    ),
  ];
}

function expiryIssues({ expiresAt }: { expiresAt?: number }, parent: CapabilityGrant, now: number): Issue[] {
  const late = parent.expiresAt !== undefined && expiresAt !== undefined && expiresAt >= parent.expiresAt;
  return issueAt("/expiresAt", late ? "is not before the parent's" : expiryProblem(expiresAt, now));
}

function widerScope(child: GrantScope, parent: GrantScope): Issue[] {
  return [
    ...widerList("/scope/resources", [child.resources, parent.resources], includesGlob),
    ...widerList("/scope/actions", [child.actions, parent.actions], (outer, inner) => outer.includes(inner)),
    ...parent.conditions
      .filter(
        ({ type, expression }) =>
          !child.conditions.some((own) => own.type === type && own.expression === expression),
      )
      .map(({ type, expression }) => ({
        path: "/scope/conditions",
        reason: `lacks the parent's ${type}: ${expression}`,
      })),
  ];
}

/** An empty list means everything, so it is wider than any list with something in it. */
function widerList(
  path: string,
  [inner, outer]: [string[], string[]],
  includes: (outer: string[], inner: string) => boolean,
): Issue[] {
  if (outer.length === 0) return [];
  if (inner.length === 0) return [{ path, reason: "is unrestricted and the parent is not" }];
  return inner.flatMap((item, index) =>
    issueAt(
      `${path}/${index}`,
      includes(outer, item) ? undefined : `${item} is not surely within the parent's`,
    ),
  );
}

function looserConstraints(child: GrantConstraint[], parent: GrantConstraint[]): Issue[] {
  const loose = looserThan(child.map(readConstraint), parent.map(readConstraint));
  return issueAt("/constraints", loose && `do not keep the parent's ${loose.type} at least as tight`);
}
