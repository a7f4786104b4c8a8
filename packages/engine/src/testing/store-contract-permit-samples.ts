import type { ApprovalRecord, ApprovalStanding, ApprovalState } from "../ports/approvals.ts";
import type { CapabilityGrant, StandingGrant } from "../ports/grants.ts";
import type { Revocation } from "../ports/tokens.ts";
import { newCallId } from "./store-contract-samples.ts";

/** A first revision that waits for an answer. */
export function sampleApproval(fields: Partial<ApprovalRecord> = {}): ApprovalRecord {
  return {
    approvalId: `approval-${newCallId()}`,
    callId: newCallId(),
    tenant: "acme",
    agent: "agent-1",
    tool: "calc",
    version: "1.2.3",
    operation: "run",
    digest: "d".repeat(64),
    inputHash: "i".repeat(64),
    manifestHash: "m".repeat(64),
    policyVersion: "7",
    because: "policy",
    tier: "operator",
    reason: "It costs money.",
    rules: ["money"],
    summary: "calc run",
    risk: "medium",
    input: { a: 1 },
    levels: [{ level: 1, approvers: ["*"], timeoutMs: 60_000 }],
    round: 1,
    quorum: 1,
    votes: [],
    createdAt: 1_767_225_600_000,
    expiresAt: 1_767_225_660_000,
    standing: { state: "pending" },
    revision: 1,
    ...fields,
  };
}

const STANDINGS: { [State in ApprovalState]: ApprovalStanding & { state: State } } = {
  pending: { state: "pending" },
  approved: { state: "approved", at: 1 },
  edited: { state: "edited", at: 1 },
  reserved: { state: "reserved", owner: "run-1", until: 9 },
  consumed: { state: "consumed", at: 2 },
  denied: { state: "denied", at: 2, by: "ada", reason: "No." },
  expired: { state: "expired", at: 2 },
  withdrawn: { state: "withdrawn", at: 2, reason: "Not needed." },
  void: { state: "void", at: 2, reason: "The manifest changed." },
};

/** The next revision, in another state. */
export function moved(record: ApprovalRecord, state: ApprovalState): ApprovalRecord {
  return { ...record, standing: STANDINGS[state], revision: record.revision + 1 };
}

export function sampleCapabilityGrant(fields: Partial<CapabilityGrant> = {}): CapabilityGrant {
  return {
    kind: "capability",
    grantId: `grant-${newCallId()}`,
    tenant: "acme",
    grantor: "ada",
    issuedAt: 1_767_225_600_000,
    signature: "s".repeat(64),
    uses: 0,
    revision: 1,
    capabilityId: "filesystem.read",
    grantee: { type: "TOOL", id: "calc" },
    scope: { resources: ["/data/**"], actions: [], conditions: [{ type: "time", expression: "day" }] },
    constraints: [{ type: "rate", value: { perMinute: 5 } }],
    delegatable: false,
    delegationDepth: 0,
    ...fields,
  };
}

export function sampleStandingGrant(fields: Partial<StandingGrant> = {}): StandingGrant {
  return {
    kind: "standing",
    grantId: `grant-${newCallId()}`,
    tenant: "acme",
    grantor: "ada",
    issuedAt: 1_767_225_600_000,
    signature: "s".repeat(64),
    uses: 0,
    revision: 1,
    tier: "user",
    tool: "calc",
    versions: "^1.0.0",
    operations: ["run"],
    arguments: [{ pointer: "/a", match: { const: 1 } }],
    agent: "agent-1",
    ...fields,
  };
}

export function sampleRevocation(fields: Partial<Revocation> = {}): Revocation {
  return {
    jti: newCallId(),
    revokedAt: 5,
    by: "ada",
    reason: "Lost.",
    forgetAt: 1_767_229_200_000,
    ...fields,
  };
}
