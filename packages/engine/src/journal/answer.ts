import {
  type ApprovalNote,
  type CallAnswer,
  entryOf,
  type Failure,
  failure,
  type JsonValue,
  type LifecycleState,
  type Receipt,
  type Unsuccessful,
} from "@sallyport/protocol";
import { levelAt } from "../approvals/record.ts";
import type { ApprovalRecord } from "../ports/approvals.ts";
import type { AuditLink } from "../ports/store.ts";
import type { Progress } from "./progress.ts";

/** When an execution ended, and by which states. */
interface Ended {
  visits: { state: LifecycleState; at: number }[];
  completedAt: number;
  /** How long it executed, where the progress does not say. */
  tookMs?: number;
}

export function successAnswer(progress: Progress, ended: Ended, result: JsonValue): CallAnswer {
  return { ...common(progress, ended), status: "success", result };
}

export function failureAnswer(progress: Progress, ended: Ended, error: Failure): Unsuccessful {
  return { ...common(progress, ended), status: entryOf(error).status, error };
}

function common(progress: Progress, { visits, completedAt, tookMs = 0 }: Ended) {
  const { call, usage, isolation, enforcement, violations, effects, rollback, question } = progress;
  const known: Pick<
    CallAnswer,
    "isolation" | "enforcement" | "violations" | "effects" | "dryRun" | "rollback" | "approval"
  > = {};
  if (isolation) known.isolation = isolation;
  if (enforcement) known.enforcement = enforcement;
  if (violations) known.violations = [...violations];
  if (effects) known.effects = effects;
  if (progress.dryRun) known.dryRun = true;
  if (rollback) known.rollback = rollback;
  if (question) known.approval = noteOf(question);
  return {
    callId: call.callId,
    executionId: progress.executionId,
    tool: call.tool,
    version: call.version,
    operation: call.operation,
    attempts: progress.number,
    lifecycle: visits,
    startedAt: progress.startedAt,
    completedAt,
    usage: {
      durationMs: progress.durationMs ?? tookMs,
      cpuMs: usage.cpuMs,
      memoryPeakBytes: usage.memoryPeakBytes,
      networkBytesSent: usage.networkBytesSent ?? 0,
      networkBytesReceived: usage.networkBytesReceived ?? 0,
    },
    ...known,
    warnings: [...progress.warnings],
    replayed: false,
  };
}

/** What the answer says about the approval it rests on. The model sees what really ran (an edit included). */
function noteOf({ approvalId, votes, editedBy, input }: ApprovalRecord): ApprovalNote {
  const by = votes.map((vote) => vote.by);
  return { approvalId, by, ...(editedBy !== undefined && { editedInput: input }) };
}

/** A person has to answer first: how the question stands, and how to get on; `goesOn`: the server then runs the call. */
export function pendingAnswer(
  progress: Progress,
  ended: Ended,
  { approval, goesOn }: { approval: ApprovalRecord; goesOn: boolean },
): Unsuccessful {
  const { approvalId, callId, summary, risk, expiresAt, reason, rules, quorum, votes } = approval;
  const isPending = approval.standing.state === "pending";
  const message = isPending
    ? `${summary} waits for approval ${approvalId} (${reason}).`
    : `${summary} was approved (${approvalId}) and has not run yet.`;
  const error = failure("E3213", {
    message,
    advice: isPending
      ? `A person answers with \`sallyport approvals approve ${approvalId}\` or \`deny\`, or over HTTP at /v1/approvals/${approvalId}; ${goesOn ? `then the server runs the call by itself (\`sallyport calls show ${callId}\`)` : `then ask for call ${callId} again (\`sallyport calls resume ${callId}\`)`}. Nothing has run yet.`
      : goesOn
        ? `The server runs it by itself: \`sallyport calls show ${callId}\` says what comes of it.`
        : `Ask for call ${callId} again (\`sallyport calls resume ${callId}\`) to run it.`,
    details: {
      approvalId,
      approvalUnlocks: true,
      state: approval.standing.state,
      risk,
      rules,
      level: levelAt(approval, ended.completedAt),
      votesMissing: isPending ? quorum - votes.length : 0,
      expiresAt: new Date(expiresAt).toISOString(),
    },
  });
  return failureAnswer({ ...progress, question: approval }, ended, error);
}

/** The answer with the place that its unit took in the chain. */
export function withReceipt(answer: CallAnswer, progress: Progress, link: AuditLink | undefined): CallAnswer {
  if (!link) return answer;
  const { call, chain, inputHash, outputHash, effectsHash } = progress;
  const receipt: Receipt = {
    tenant: chain ?? call.tenant,
    strand: link.strand,
    sequence: link.sequence,
    hash: link.hash,
    inputHash,
    ...(outputHash !== undefined && { outputHash }),
    ...(effectsHash !== undefined && { effectsHash }),
  };
  return { ...answer, receipt };
}

/** An answer as the journal gives it, which nobody else holds. Copies nothing, so that no answer on record is too deep. */
export function replayed(answer: CallAnswer): CallAnswer {
  return { ...answer, replayed: true };
}
