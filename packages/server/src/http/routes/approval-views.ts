import { levelAt } from "@sallyport/engine/host";
import type { ApprovalRecord, ApprovalStanding } from "@sallyport/engine/ports";
import { type ApprovalMessage, defined } from "@sallyport/protocol";
import { iso } from "./iso-time.ts";

/** A question as a person, or a program for one, has to see it. */
export function approvalView(record: ApprovalRecord, now: number): ApprovalMessage {
  return {
    approval_id: record.approvalId,
    invocation_id: record.callId,
    state: record.standing.state,
    tenant_id: record.tenant,
    agent_did: record.agent,
    ...defined({ user_did: record.user, session_id: record.session }),
    tool_id: record.tool,
    tool_version: record.version,
    operation: record.operation,
    summary: record.summary,
    risk: record.risk,
    because: record.because,
    ...defined({ tier: record.tier }),
    reason: record.reason,
    rules: [...record.rules],
    input: record.input,
    ...(record.effects !== undefined && { effects: record.effects }),
    digest: record.digest,
    ...approversOf(record, now),
    created_at: iso(record.createdAt),
    expires_at: iso(record.expiresAt),
    ...settledOf(record.standing),
  };
}

/** Who is asked, and what they said so far. */
function approversOf(record: ApprovalRecord, now: number) {
  return {
    levels: record.levels.map(({ level, approvers, timeoutMs, channels }) => ({
      level,
      approvers: [...approvers],
      timeout_seconds: Math.round(timeoutMs / 1_000),
      ...(channels && { channels: [...channels] }),
    })),
    present_level: levelAt(record, now),
    quorum: record.quorum,
    votes: record.votes.map(({ by, level, at, digest, comment }) => ({
      by,
      level,
      at: iso(at),
      digest,
      ...defined({ comment }),
    })),
    ...defined({ edited_by: record.editedBy }),
  };
}

function settledOf(standing: ApprovalStanding) {
  return {
    ...("at" in standing && { settled_at: iso(standing.at) }),
    ...("by" in standing && { settled_by: standing.by }),
    ...("reason" in standing && { settled_because: standing.reason }),
  };
}
