import type { Issue } from "@sallyport/protocol";
import type { CapabilityGrant, Grantee, GrantRecord } from "../../ports/grants.ts";
import type { GrantOffice } from "./grant-draft.ts";
import { type GrantSource, invalidity } from "./grant-validity.ts";
import { isGenuine } from "./sign-grant.ts";

/** A grantee within its tenant. */
export interface Holder extends Grantee {
  tenant: string;
}

/** Looks grants up among those given. */
export function grantSource({ held, signer }: Pick<GrantOffice, "held" | "signer">): GrantSource {
  const byId = new Map(capabilityGrants(held).map((grant) => [grant.grantId, grant]));
  return { find: (grantId) => byId.get(grantId), isGenuine: (grant) => isGenuine(grant, signer) };
}

export function capabilityGrants(records: readonly GrantRecord[]): CapabilityGrant[] {
  return records.filter((record) => record.kind === "capability");
}

/** A holder's grants that count now. */
export function validGrantsOf({ tenant, type, id }: Holder, office: GrantOffice): CapabilityGrant[] {
  const source = grantSource(office);
  const own = capabilityGrants(office.held).filter(
    (grant) => grant.tenant === tenant && grant.grantee.type === type && grant.grantee.id === id,
  );
  return own.filter((grant) => invalidity(grant, source, office.now) === undefined);
}

/** What the grantee lacks, or holds and must not, for one more capability. */
export function fitIssues(holder: Holder, capabilityId: string, office: GrantOffice): Issue[] {
  const has = new Set(validGrantsOf(holder, office).map((grant) => grant.capabilityId));
  const lacking = office.tree.requirementsOf(capabilityId).filter((required) => !has.has(required));
  const clashing = [...has].filter((other) => office.tree.conflict(capabilityId, other));
  return [
    ...lacking.map((required) => ({
      path: "/capabilityId",
      reason: `requires ${required}, of which ${holder.id} has no valid grant`,
      suggestion: `Grant ${required} first.`,
    })),
    ...clashing.map((other) => ({
      path: "/capabilityId",
      reason: `conflicts with ${other}, which ${holder.id} holds`,
    })),
  ];
}
