import { ask, DEFAULT_RULES } from "../approve/ask.ts";
import type { ApprovalRecord } from "../ports/approvals.ts";

/** When the sample question was put. */
export const ASKED_AT = Date.UTC(2026, 0, 1);

/** A pending question about a harmless call, with the given changes. */
export function approvalRecord(change: Partial<ApprovalRecord> = {}): ApprovalRecord {
  const record = ask(
    {
      approvalId: "approval-1",
      callId: "call-1",
      tool: "mail.send",
      version: "1.0.0",
      operation: "run",
      inputHash: "1".repeat(64),
      manifestHash: "2".repeat(64),
      policyVersion: "policy-1",
      caller: { tenant: "acme", agent: "agent-7" },
      because: "policy",
      decision: {
        outcome: "ask",
        reason: "mail leaves the house",
        rules: ["ask-mail"],
        capabilities: [],
        missing: [],
        policyVersion: "policy-1",
        tier: "operator",
      },
      risk: "medium",
      summary: "Send a mail",
      input: { to: "x" },
      at: ASKED_AT,
    },
    DEFAULT_RULES,
  );
  return { ...record, ...change };
}
