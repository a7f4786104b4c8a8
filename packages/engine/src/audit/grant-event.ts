import { canonicalJson, type JsonObject, type JsonValue } from "@sallyport/protocol";
import type { CapabilityGrant, GrantRecord, StandingGrant } from "../ports/grants.ts";
import { redact, redactText } from "../redact/redact.ts";

/** What happened to a grant (RFC-0003). */
export type GrantEventKind = "GRANT_ISSUED" | "GRANT_DELEGATED" | "GRANT_REVOKED";

const MAX_REASON_CHARS = 500;

/** The body of the event that a grant was given or taken; canonical JSON like every other, without secrets. */
export function grantEventBody(
  kind: GrantEventKind,
  record: GrantRecord,
  at: { eventId: string; timestamp: number },
): string {
  const { grantId, tenant, grantor, issuedAt, expiresAt, signature } = record;
  return canonicalJson({
    ...at,
    state: kind,
    tenant,
    grantId,
    grantKind: record.kind,
    grantor: clean(grantor),
    issuedAt,
    ...(expiresAt !== undefined && { expiresAt }),
    signature,
    ...(record.kind === "capability" ? capabilityPart(record) : standingPart(record)),
    ...(kind === "GRANT_REVOKED" && revocationPart(record)),
  });
}

function capabilityPart(record: CapabilityGrant): JsonObject {
  const { capabilityId, grantee, scope, constraints, delegatable, delegationDepth, parentGrantId } = record;
  return {
    capabilityId,
    grantee: { ...grantee },
    scope: redact(plain(scope)),
    constraints: redact(plain(constraints)),
    delegatable,
    delegationDepth,
    ...(parentGrantId !== undefined && { parentGrantId }),
  };
}

function standingPart(record: StandingGrant): JsonObject {
  const { tier, tool, versions, operations, agent, session, project, approvalId } = record;
  return {
    tier,
    toolId: tool,
    versions,
    operations,
    agent,
    arguments: redact(plain(record.arguments)),
    ...(session !== undefined && { session }),
    ...(project !== undefined && { project }),
    ...(approvalId !== undefined && { approvalId }),
  };
}

function revocationPart({ revokedBy = "", revokedBecause = "" }: GrantRecord): JsonObject {
  return { revokedBy: clean(revokedBy), reason: clean(revokedBecause) };
}

/** Grants are JSON; their types just do not say so. */
function plain(part: object): JsonValue {
  return JSON.parse(JSON.stringify(part));
}

function clean(text: string): string {
  return redactText(text).slice(0, MAX_REASON_CHARS).toWellFormed();
}
