import type { CallStanding } from "@sallyport/engine";
import type { CallRecord, ClosedWith } from "@sallyport/engine/ports";
import {
  type CallAnswer,
  type CallStatus,
  defined,
  type FileEffects,
  failure,
  type InvocationEffects,
  type InvocationLinks,
  type InvocationReceipt,
  type InvocationRecord,
  type InvocationTimeline,
  type Receipt,
  type ToolStatusResponse,
  toolError,
} from "@sallyport/protocol";
import type { CallOutline, OutlinedEnd } from "../../runtime/store.ts";
import { approvalUrl, invocationUrl } from "./addresses.ts";
import { iso, isoIfAny } from "./iso-time.ts";

/** The status word of a call whose process ended while it ran: nobody knows, which is no success. */
const UNKNOWN: CallStatus = "error";

/** How a call stands, in the words of tool.status (L3 §4.1.3). */
export function statusView(callId: string, standing: CallStanding, origin: string): ToolStatusResponse {
  const { of, record } = standing;
  return {
    invocation_id: callId,
    status: standing.status === "unknown" ? UNKNOWN : standing.status,
    tool_id: of.tool,
    ...defined({ tool_version: record?.version, operation: record?.operation }),
    tenant_id: of.tenant,
    agent_did: of.agent,
    ...defined({
      user_did: record?.user,
      session_id: record?.session,
      started_at: isoIfAny(record?.startedAt),
    }),
    ...nowOf(standing),
    links: linksOf(callId, standing, origin),
  };
}

function nowOf(standing: CallStanding): Partial<ToolStatusResponse> {
  if ("answer" in standing) return answerFacts(standing.answer);
  switch (standing.status) {
    case "pending":
      return { state: "QUEUED" };
    case "pending_approval":
      return { state: "WAITING", ...defined({ approval_id: standing.approvalId || undefined }) };
    case "unknown":
      return { error: toolError(failure("E3909")) };
    default:
      return runningFacts(standing);
  }
}

function runningFacts(standing: CallStanding): Partial<ToolStatusResponse> {
  const progress = "progress" in standing ? standing.progress : undefined;
  return {
    // Nothing is on record of a call that has not begun to run.
    ...(standing.record && { state: "EXECUTING" }),
    ...defined({
      progress_percent: progress && wholePercent(progress.percent),
      current_phase: progress?.phase,
    }),
  };
}

/** What a tool says about itself is not trusted to be a percentage. */
export function wholePercent(percent: number): number {
  return Number.isFinite(percent) ? Math.round(Math.min(100, Math.max(0, percent))) : 0;
}

function linksOf(callId: string, standing: CallStanding, origin: string): InvocationLinks {
  const self = invocationUrl(origin, callId);
  const approvalId = "approvalId" in standing ? standing.approvalId : "";
  return {
    self,
    result: `${self}/result`,
    events: `${self}/events`,
    cancel: `${self}:cancel`,
    ...(approvalId !== "" && { approval: approvalUrl(origin, approvalId) }),
  };
}

/** One call of a list. */
export function recordView(record: CallOutline, origin: string): InvocationRecord {
  const { closing } = record;
  return {
    invocation_id: record.callId,
    status: statusOf(record),
    tool_id: record.tool,
    tool_version: record.version,
    operation: record.operation,
    tenant_id: record.tenant,
    agent_did: record.agent,
    ...defined({ user_did: record.user, session_id: record.session }),
    started_at: iso(record.startedAt),
    ...defined({ completed_at: isoIfAny(closing?.closedAt), error_code: closing?.errorCode }),
    status_url: invocationUrl(origin, record.callId),
  };
}

/** What a list shows of a whole call. */
export function outlineOf({ closing, input: _input, ...record }: CallRecord): CallOutline {
  return { ...record, ...(closing && { closing: closingOf(closing) }) };
}

function closingOf({ status, closedAt, answer }: ClosedWith): OutlinedEnd {
  return { status, closedAt, ...(answer.status !== "success" && { errorCode: answer.error.code }) };
}

function statusOf({ phase, closing }: CallOutline): CallStatus {
  if (closing) return closing.status;
  if (phase === "waiting") return "pending_approval";
  if (phase === "queued") return "pending";
  return phase === "executing" ? "running" : UNKNOWN;
}

/** What is on record of a call that has ended, beside its result. */
function answerFacts(answer: CallAnswer): Partial<ToolStatusResponse> {
  const { isolation, enforcement, rollback, approval, effects, receipt } = answer;
  return {
    completed_at: iso(answer.completedAt),
    lifecycle: answer.lifecycle.map(({ state, at }) => ({ state, at: iso(at) })),
    ...(answer.status !== "success" && { error: toolError(answer.error) }),
    ...(isolation && { isolation: { level: isolation.level, runner: isolation.runner } }),
    ...(enforcement && { enforcement: { ...enforcement } }),
    ...(answer.warnings.length > 0 && {
      warnings: answer.warnings.map(({ code, message }) => ({ code, message })),
    }),
    ...(rollback && {
      rollback: {
        verified: rollback.verified,
        snapshot_hash: rollback.snapshotHash,
        discarded_mutations: rollback.discardedMutations,
        ...defined({ covers: rollback.covers, unseen: rollback.unseen }),
      },
    }),
    ...defined({
      state: answer.lifecycle.at(-1)?.state,
      approval_id: approval?.approvalId,
      effects: effects && effectsView(effects),
      receipt: receipt && receiptView(receipt),
    }),
  };
}

/** Where the call's time went; what decides is shown to those alone who see every call. */
export function timelineOf(
  { record }: CallStanding,
  { seesAll }: { seesAll: boolean },
): InvocationTimeline | undefined {
  const { timeline } = record?.closing ?? {};
  if (!timeline) return undefined;
  const stages = timeline.stages.map(({ ms, ...rest }) => ({ ...rest, duration_ms: ms }));
  if (!seesAll) return { stages };
  const decisions = timeline.decisions.map(({ policyVersion: policy_version, ...rest }) => {
    return { ...rest, policy_version };
  });
  return { stages, decisions };
}

/** Without the folder they are in, which is the server's own business. */
function effectsView({ files, omitted, digest }: FileEffects): InvocationEffects {
  return {
    files: files.map(({ path, change, from, diff, note }) => ({
      path,
      change,
      ...defined({ from, diff, note }),
    })),
    omitted,
    digest,
  };
}

function receiptView({
  tenant,
  strand,
  sequence,
  hash,
  inputHash,
  outputHash,
  effectsHash,
}: Receipt): InvocationReceipt {
  return {
    tenant_id: tenant,
    strand,
    sequence,
    hash,
    input_hash: inputHash,
    ...defined({ output_hash: outputHash, effects_hash: effectsHash }),
  };
}
