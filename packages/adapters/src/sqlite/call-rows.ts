import type { SQLOutputValue } from "node:sqlite";
import type { AuditLink, CallIntent, CallPhase, CallRecord, ClosedWith } from "@sallyport/engine/ports";
import type { CallAnswer, CallStatus, Receipt } from "@sallyport/protocol";
import { decodeAnswer, decodeTimeline } from "./answer-text.ts";

type Row = Record<string, SQLOutputValue>;

/** The parts of an intent that no query asks for; kept as one JSON text, because each column costs time. */
type Facts = Pick<
  CallRecord,
  | "user"
  | "operation"
  | "manifestHash"
  | "sideEffects"
  | "inputHash"
  | "requestDigest"
  | "callbackUrl"
  | "asyncMode"
  | "priority"
  | "owner"
  | "runId"
  | "stagedIn"
  | "cancelReason"
  | "attempt"
  | "grants"
>;

/** What a record is made of. */
export const CALL_COLUMNS = `invocation_id, tenant_id, agent_did, idempotency_key, session_id, tool_id, tool_version,
  parameters, facts, started_at, phase, status, completed_at, output_hash, answer, receipt, timeline`;

/** Members without a value are left out by JSON itself. */
export function encodeFacts(call: CallIntent & Pick<CallRecord, "cancelReason">): string {
  const facts = {
    user: call.user,
    operation: call.operation,
    manifestHash: call.manifestHash,
    sideEffects: call.sideEffects,
    inputHash: call.inputHash,
    requestDigest: call.requestDigest,
    callbackUrl: call.callbackUrl,
    asyncMode: call.asyncMode,
    priority: call.priority,
    owner: call.owner,
    runId: call.runId,
    stagedIn: call.stagedIn,
    cancelReason: call.cancelReason,
    attempt: call.attempt,
    grants: call.grants,
  } satisfies Record<keyof Facts, unknown>;
  return JSON.stringify(facts);
}

/** The part of a receipt that is not in the row already; rows of the first versions name no strand, as those of strand 0. */
export function encodeReceipt(link: AuditLink): string {
  const { strand, sequence, hash } = link;
  return strand === 0 ? `${sequence} ${hash}` : `${sequence} ${hash} ${strand}`;
}

/** A journal row as the port knows it, the answer's receipt filled in. */
export function recordOf(row: Row): CallRecord {
  const facts: Facts = JSON.parse(text(row.facts));
  const record: CallRecord = {
    callId: text(row.invocation_id),
    tenant: text(row.tenant_id),
    agent: text(row.agent_did),
    tool: text(row.tool_id),
    version: text(row.tool_version),
    ...facts,
    input: text(row.parameters),
    startedAt: Number(row.started_at),
    phase: text(row.phase) as CallPhase,
  };
  if (typeof row.session_id === "string") record.session = row.session_id;
  if (typeof row.idempotency_key === "string") record.idempotencyKey = row.idempotency_key;
  if (typeof row.answer === "string") record.closing = closingOf(row, row.answer, record);
  return record;
}

function closingOf(row: Row, kept: string, call: CallRecord): ClosedWith {
  const { callId, tool, version, operation, startedAt } = call;
  const closedAt = Number(row.completed_at);
  const answer = decodeAnswer(kept, { callId, tool, version, operation, startedAt, completedAt: closedAt });
  if (typeof row.receipt === "string") answer.receipt = receiptOf(row, row.receipt, { ...call, answer });
  const closing: ClosedWith = { status: text(row.status) as CallStatus, closedAt, answer };
  if (typeof row.output_hash === "string") closing.outputHash = row.output_hash;
  if (typeof row.timeline === "string") closing.timeline = decodeTimeline(row.timeline);
  return closing;
}

function receiptOf(
  row: Row,
  link: string,
  { tenant, inputHash, answer }: CallRecord & { answer: CallAnswer },
): Receipt {
  const [sequence, hash = "", strand = 0] = link.split(" ");
  const receipt: Receipt = {
    tenant,
    strand: Number(strand),
    sequence: Number(sequence),
    hash,
    inputHash,
  };
  if (typeof row.output_hash === "string") receipt.outputHash = row.output_hash;
  if (answer.effects && !answer.dryRun) receipt.effectsHash = answer.effects.digest;
  return receipt;
}

function text(value: SQLOutputValue | undefined): string {
  return String(value);
}
