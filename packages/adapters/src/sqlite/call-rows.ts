import type { AuditLink, CallIntent, CallPhase, CallRecord } from "@sallyport/engine/ports";
import { closingOf, type Row } from "../store-rows/rows.ts";

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
  const facts: Facts = JSON.parse(String(row.facts));
  const record: CallRecord = {
    callId: String(row.invocation_id),
    tenant: String(row.tenant_id),
    agent: String(row.agent_did),
    tool: String(row.tool_id),
    version: String(row.tool_version),
    ...facts,
    input: String(row.parameters),
    startedAt: Number(row.started_at),
    phase: String(row.phase) as CallPhase,
  };
  if (typeof row.session_id === "string") record.session = row.session_id;
  if (typeof row.idempotency_key === "string") record.idempotencyKey = row.idempotency_key;
  if (typeof row.answer === "string") record.closing = closingOf(row, record, decodeReceipt(row.receipt));
  return record;
}

function decodeReceipt(receipt: unknown): AuditLink | undefined {
  if (typeof receipt !== "string") return undefined;
  const [sequence, hash = "", strand = 0] = receipt.split(" ");
  return { strand: Number(strand), sequence: Number(sequence), hash };
}
