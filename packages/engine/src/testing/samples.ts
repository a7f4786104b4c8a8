import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { approvalDigest, ask, DEFAULT_RULES } from "../approvals/record.ts";
import type { ApprovalRecord } from "../ports/approvals.ts";
import type { AuthorityRequest } from "../ports/authority.ts";

/** When the sample question was put. */
export const ASKED_AT = Date.UTC(2026, 0, 1);

/** A pending question about a harmless call, with the given changes. */
export function approvalRecord(change: Partial<ApprovalRecord> = {}): ApprovalRecord {
  const call = {
    callId: "call-1",
    tenant: "acme",
    agent: "agent-7",
    tool: "mail.send",
    version: "1.0.0",
    operation: "run",
    inputHash: "1".repeat(64),
    manifestHash: "2".repeat(64),
    policyVersion: "policy-1",
  };
  const said = { summary: "Send a mail", risk: "medium", input: { to: "x" } } as const;
  const content = { ...call, ...said, digest: approvalDigest(call) };
  const decision = { reason: "mail leaves the house", rules: ["ask-mail"], tier: "operator" as const };
  const record = ask(
    { approvalId: "approval-1", content, because: "policy", decision, round: 1, at: ASKED_AT },
    DEFAULT_RULES,
  );
  return { ...record, ...change };
}

/** A harmless call of `file.read` by `agent-7` of `acme`, with the given changes. */
export function authorityRequest(change: Partial<AuthorityRequest> = {}): AuthorityRequest {
  return {
    caller: { tenant: "acme", agent: "agent-7" },
    tool: "file.read",
    version: "1.0.0",
    operation: "run",
    manifestHash: "0".repeat(64),
    category: "data_access",
    tags: [],
    source: "native",
    securityLevel: 0,
    permissions: { filesystem: [], network: [], credentials: [] },
    requiredCapabilities: ["filesystem.read"],
    sideEffects: "none",
    risk: "low",
    isolation: "LEVEL_0",
    input: {},
    at: Date.UTC(2026, 0, 1),
    ...change,
  };
}

/** A fresh RSA key to sign tokens with. */
export function signingKey(kid: string): { kid: string; privateKey: KeyObject; publicKey: KeyObject } {
  return { kid, ...generateKeyPairSync("rsa", { modulusLength: 2048 }) };
}
