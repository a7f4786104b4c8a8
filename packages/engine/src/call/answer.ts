import {
  type ApprovalNote,
  type CallAnswer,
  entryOf,
  type Failure,
  failure,
  type JsonValue,
  type Receipt,
  type Unsuccessful,
} from "@sallyport/protocol";
import { levelAt } from "../approve/levels.ts";
import type { ApprovalRecord } from "../ports/approvals.ts";
import type { AuditLink } from "../ports/audit-log.ts";
import type { Attempt } from "./attempt.ts";
import type { Visit } from "./lifecycle.ts";

interface Facts {
  attempt: Attempt;
  trail: readonly Visit[];
  completedAt: number;
}

export function successAnswer(facts: Facts, result: JsonValue): CallAnswer {
  return { ...common(facts), status: "success", result };
}

export function failureAnswer(facts: Facts, error: Failure): Unsuccessful {
  return { ...common(facts), status: entryOf(error).status, error };
}

/** A person has to answer first: how the question stands, and how to get on. */
export function pendingAnswer(attempt: Attempt, approval: ApprovalRecord, now: number): Unsuccessful {
  const { approvalId, callId, summary, risk, expiresAt, reason, rules, quorum, votes } = approval;
  const isPending = approval.standing.state === "pending";
  const message = isPending
    ? `${summary} waits for approval ${approvalId} (${reason}).`
    : `${summary} was approved (${approvalId}) and has not run yet.`;
  const missing = quorum - votes.length;
  const error = failure("E3213", {
    message,
    advice: isPending
      ? `A person answers with \`sallyport approvals approve ${approvalId}\` or \`deny\`, or over HTTP at /v1/approvals/${approvalId}; then ask for call ${callId} again (\`sallyport calls resume ${callId}\`). Nothing has run yet.`
      : `Ask for call ${callId} again (\`sallyport calls resume ${callId}\`) to run it.`,
    details: {
      approvalId,
      approvalUnlocks: true,
      state: approval.standing.state,
      risk,
      rules,
      level: levelAt(approval, now),
      votesMissing: isPending ? missing : 0,
      expiresAt: new Date(expiresAt).toISOString(),
    },
  });
  const trail = attempt.visits;
  return { ...failureAnswer({ attempt, trail, completedAt: now }, error), approval: noteOf(approval) };
}

/** What the answer says about the approval it rests on. The model sees what really ran (an edit included). */
export function noteOf({ approvalId, votes, editedBy, input }: ApprovalRecord): ApprovalNote {
  const by = votes.map((vote) => vote.by);
  return { approvalId, by, ...(editedBy !== undefined && { editedInput: input }) };
}

/** The answer with the place its last event took in the chain. */
export function withReceipt(answer: CallAnswer, attempt: Attempt, links: readonly AuditLink[]): CallAnswer {
  const link = links.at(-1);
  if (!link) return answer;
  const { tenant, inputHash, outputHash, effectsHash } = attempt.facts;
  const receipt: Receipt = {
    tenant,
    ...pick(link),
    inputHash,
    ...(outputHash !== undefined && { outputHash }),
    ...(effectsHash !== undefined && { effectsHash }),
  };
  return { ...answer, receipt };
}

function pick({ sequence, hash }: AuditLink) {
  return { sequence, hash };
}

function common({ attempt, trail, completedAt }: Facts) {
  const { facts, usage } = attempt;
  return {
    callId: attempt.callId,
    executionId: attempt.executionId,
    tool: facts.toolId,
    version: facts.toolVersion,
    operation: facts.operation,
    attempts: attempt.number,
    lifecycle: [...trail],
    startedAt: attempt.startedAt,
    completedAt,
    usage: {
      durationMs: facts.durationMs ?? attempt.tookMs,
      cpuMs: usage.cpuMs,
      memoryPeakBytes: usage.memoryPeakBytes,
      networkBytesSent: usage.networkBytesSent ?? 0,
      networkBytesReceived: usage.networkBytesReceived ?? 0,
    },
    ...(facts.isolation && { isolation: facts.isolation }),
    ...(facts.enforcement && { enforcement: facts.enforcement }),
    ...(facts.violations && { violations: [...facts.violations] }),
    ...(attempt.effects && { effects: attempt.effects }),
    ...(attempt.request.dryRun && { dryRun: true }),
    ...(facts.rollback && { rollback: facts.rollback }),
    ...(attempt.approval && { approval: noteOf(attempt.approval) }),
    warnings: attempt.warnings,
    replayed: false,
  };
}
