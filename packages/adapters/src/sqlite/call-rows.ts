import type { SQLOutputValue } from "node:sqlite";
import type { AuditLink, CallIntent, CallPhase, CallRecord, ClosedWith } from "@sallyport/engine";
import type { CallStatus, Receipt } from "@sallyport/protocol";
import { decodeAnswer } from "./answer-text.ts";

type Row = Record<string, SQLOutputValue>;

/** The parts of an intent that no query asks for; kept as one JSON text, because each column costs time. */
type Facts = Pick<
  CallIntent,
  | "user"
  | "operation"
  | "manifestHash"
  | "sideEffects"
  | "inputHash"
  | "requestDigest"
  | "callbackUrl"
  | "owner"
  | "attempt"
>;

/** What a record is made of. */
export const CALL_COLUMNS = `invocation_id, tenant_id, agent_did, idempotency_key, session_id, tool_id, tool_version,
  parameters, facts, started_at, phase, status, completed_at, output_hash, answer, receipt`;

/** Members without a value are left out by JSON itself. */
export function encodeFacts(call: CallIntent): string {
  const facts = {
    user: call.user,
    operation: call.operation,
    manifestHash: call.manifestHash,
    sideEffects: call.sideEffects,
    inputHash: call.inputHash,
    requestDigest: call.requestDigest,
    callbackUrl: call.callbackUrl,
    owner: call.owner,
    attempt: call.attempt,
  } satisfies Record<keyof Facts, unknown>;
  return JSON.stringify(facts);
}

/** The part of a receipt that is not in the row already. */
export function encodeReceipt(link: AuditLink): string {
  return `${link.sequence} ${link.hash}`;
}

/** A journal row as the port knows it, the answer's receipt filled in. */
export function recordOf(row: Row): CallRecord {
  const facts: Facts = JSON.parse(text(row.facts));
  const closing = closingOf(row, facts);
  return {
    callId: text(row.invocation_id),
    tenant: text(row.tenant_id),
    agent: text(row.agent_did),
    ...optional("session", row.session_id),
    tool: text(row.tool_id),
    version: text(row.tool_version),
    ...facts,
    input: text(row.parameters),
    ...optional("idempotencyKey", row.idempotency_key),
    startedAt: Number(row.started_at),
    phase: text(row.phase) as CallPhase,
    ...(closing && { closing }),
  };
}

function closingOf(row: Row, facts: Facts): ClosedWith | undefined {
  if (typeof row.answer !== "string") return undefined;
  const answer = decodeAnswer(row.answer, {
    callId: text(row.invocation_id),
    tool: text(row.tool_id),
    version: text(row.tool_version),
    operation: facts.operation,
    startedAt: Number(row.started_at),
    completedAt: Number(row.completed_at),
  });
  if (typeof row.receipt === "string") answer.receipt = receiptOf(row, row.receipt, facts);
  const status = text(row.status) as CallStatus;
  return { status, closedAt: Number(row.completed_at), ...optional("outputHash", row.output_hash), answer };
}

function receiptOf(row: Row, link: string, { inputHash }: Facts): Receipt {
  const [sequence, hash = ""] = link.split(" ");
  const outputHash = optional("outputHash", row.output_hash);
  return { tenant: text(row.tenant_id), sequence: Number(sequence), hash, inputHash, ...outputHash };
}

function optional<Name extends string>(
  name: Name,
  value: SQLOutputValue | undefined,
): { [Key in Name]?: string } {
  const fields: { [Key in Name]?: string } = {};
  if (typeof value === "string") Object.assign(fields, { [name]: value });
  return fields;
}

function text(value: SQLOutputValue | undefined): string {
  return String(value);
}
