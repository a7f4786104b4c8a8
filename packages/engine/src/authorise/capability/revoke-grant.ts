import { type Failure, failure, type Issue } from "@sallyport/protocol";
import type { GrantRecord } from "../../ports/grants.ts";
import { mayAdminister } from "./administer.ts";
import { type GrantOffice, type Grantor, issueAt, textProblem } from "./grant-draft.ts";
import { capabilityGrants } from "./held-grants.ts";
import { notGiven } from "./issue-grant.ts";

export interface RevocationWord {
  by: Grantor;
  reason: string;
}

/** The grants that change, the named one first; none when all of them were revoked before. */
export interface Cascade {
  grant: GrantRecord;
  revoked: GrantRecord[];
}

/**
 * Marks a grant and everything that was delegated from it as revoked; the order is from the root down. Doing it twice
 * changes nothing. Refused with E3221 when there is no such grant and with E3220 when the asker may not: that takes an
 * operator, the one who gave it, or a holder of `admin.capability.revoke`.
 */
export function revokeGrant(
  grantId: string,
  { by, reason }: RevocationWord,
  office: GrantOffice,
): Cascade | Failure {
  const grant = office.held.find((record) => record.grantId === grantId);
  if (!grant) return failure("E3221", { message: `There is no grant ${grantId}.` });
  const issues = [
    ...issueAt("/reason", textProblem(reason)),
    ...issueAt("/by", textProblem(by.id)),
    ...authorityIssues(grant, by, office),
  ];
  if (issues.length > 0) return notGiven(`${grantId} cannot be revoked like this.`, issues);
  const marked = [grant, ...descendantsOf(grant, office.held)]
    .filter(({ revokedAt }) => revokedAt === undefined)
    .map((record) => ({
      ...record,
      revokedAt: office.now,
      revokedBy: by.id,
      revokedBecause: record === grant ? reason : `delegated from ${grantId}, which was revoked: ${reason}`,
      revision: record.revision + 1,
    }));
  return { grant: marked.find((record) => record.grantId === grantId) ?? grant, revoked: marked };
}

/** Everything that was delegated from a grant, at any depth, parents before their children. */
export function descendantsOf(grant: GrantRecord, held: readonly GrantRecord[]): GrantRecord[] {
  const found: GrantRecord[] = [grant];
  const seen = new Set([grant.grantId]);
  for (const parent of found) {
    for (const child of capabilityGrants(held)) {
      const isChild = child.parentGrantId === parent.grantId && child.tenant === grant.tenant;
      if (!isChild || seen.has(child.grantId)) continue;
      seen.add(child.grantId);
      found.push(child);
    }
  }
  return found.slice(1);
}

function authorityIssues(grant: GrantRecord, by: Grantor, office: GrantOffice): Issue[] {
  const about = grant.kind === "capability" ? grant.capabilityId : grant.tool;
  const may =
    by.id === grant.grantor || mayAdminister(by, { tenant: grant.tenant, action: "revoke", about }, office);
  return issueAt(
    "/by",
    may ? undefined : `${by.id} did not give it and holds no valid admin.capability.revoke`,
  );
}
