import type { CapabilityGrant } from "../../ports/grants.ts";

/** How often a capability may be passed on. */
export const MAX_DELEGATION_DEPTH = 3;

/** Where grants are looked up, and how they are known to be genuine. */
export interface GrantSource {
  find(grantId: string): CapabilityGrant | undefined;
  isGenuine(grant: CapabilityGrant): boolean;
}

/** The grant, the one it was delegated from, and so on; undefined when that line is broken. */
export function lineageOf(grant: CapabilityGrant, find: GrantSource["find"]): CapabilityGrant[] | undefined {
  const line = [grant];
  for (let child = grant; child.parentGrantId !== undefined; ) {
    const parent = find(child.parentGrantId);
    if (!parent || !isHeir(child, parent) || line.length > MAX_DELEGATION_DEPTH) return undefined;
    line.push(parent);
    child = parent;
  }
  return line.at(-1)?.delegationDepth === 0 ? line : undefined;
}

function isHeir(child: CapabilityGrant, parent: CapabilityGrant): boolean {
  return (
    parent.delegatable &&
    child.capabilityId === parent.capabilityId &&
    child.tenant === parent.tenant &&
    child.delegationDepth === parent.delegationDepth + 1 &&
    isBefore(child.expiresAt, parent.expiresAt)
  );
}

function isBefore(expiresAt: number | undefined, parents: number | undefined): boolean {
  return parents === undefined || (expiresAt !== undefined && expiresAt < parents);
}

/** Why a grant counts for nothing at a moment; undefined when it counts. Each grant it was delegated from has to count too. */
export function invalidity(grant: CapabilityGrant, source: GrantSource, at: number): string | undefined {
  const line = lineageOf(grant, (grantId) => source.find(grantId));
  if (!line) return `${grant.grantId} has no unbroken line to a grant that was issued`;
  for (const ancestor of line) {
    const { grantId, revokedAt, expiresAt } = ancestor;
    if (!source.isGenuine(ancestor)) return `${grantId} is not as the house signed it`;
    if (revokedAt !== undefined) return `${grantId} was revoked`;
    if (expiresAt !== undefined && expiresAt <= at) return `${grantId} has expired`;
  }
  return undefined;
}
