import type { CapabilityGrant, GrantRecord, StandingGrant } from "@sallyport/engine";
import {
  type CapabilityGrantMessage,
  defined,
  type GRANT_STATES,
  type GrantMessage,
  type StandingGrantMessage,
} from "@sallyport/protocol";
import { iso, isoIfAny } from "./iso-time.ts";

/** How a grant stands, as far as its own dates say. */
export function grantState(
  { revokedAt, expiresAt }: GrantRecord,
  now: number,
): (typeof GRANT_STATES)[number] {
  if (revokedAt !== undefined) return "revoked";
  return expiresAt !== undefined && expiresAt <= now ? "expired" : "in_force";
}

/** A grant as the API shows it: without its signature, which only the house can check. */
export function grantView(record: GrantRecord, now: number): GrantMessage {
  return record.kind === "capability" ? capabilityView(record, now) : standingView(record, now);
}

function facts(record: GrantRecord, now: number) {
  return {
    grant_id: record.grantId,
    state: grantState(record, now),
    tenant_id: record.tenant,
    grantor: record.grantor,
    issued_at: iso(record.issuedAt),
    ...defined({
      expires_at: isoIfAny(record.expiresAt),
      revoked_at: isoIfAny(record.revokedAt),
      revoked_by: record.revokedBy,
      revoked_because: record.revokedBecause,
      last_used_at: isoIfAny(record.lastUsedAt),
    }),
    uses: record.uses,
  };
}

function capabilityView(record: CapabilityGrant, now: number): CapabilityGrantMessage {
  const { resources, actions, conditions } = record.scope;
  return {
    ...facts(record, now),
    kind: "capability",
    capability_id: record.capabilityId,
    grantee: { type: record.grantee.type, id: record.grantee.id },
    scope: {
      resources: [...resources],
      actions: [...actions],
      conditions: conditions.map(({ type, expression }) => ({ type, expression })),
    },
    constraints: record.constraints.map(({ type, value }) => ({ type, value })),
    delegatable: record.delegatable,
    delegation_depth: record.delegationDepth,
    ...defined({ parent_grant_id: record.parentGrantId }),
  };
}

function standingView(record: StandingGrant, now: number): StandingGrantMessage {
  return {
    ...facts(record, now),
    kind: "standing",
    tier: record.tier,
    tool_id: record.tool,
    versions: record.versions,
    operations: [...record.operations],
    arguments: record.arguments.map(({ pointer, match }) => ({ pointer, match })),
    agent_did: record.agent,
    ...defined({ session_id: record.session, project: record.project, approval_id: record.approvalId }),
  };
}
