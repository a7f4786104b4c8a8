import type {
  ApprovalRecord,
  AuditLink,
  Callback,
  CallbackState,
  CallRecord,
  ClosedWith,
  GrantRecord,
  InstanceRecord,
  QueuedCall,
  StoredRecord,
  ToolRecord,
} from "@sallyport/engine/ports";
import type { CallStatus, Priority, Receipt } from "@sallyport/protocol";
import { decodeAnswer, decodeTimeline } from "./answer-text.ts";

/** A row as a driver gives it. The columns have one name and one meaning in every store. */
export type Row = Record<string, unknown>;

/** How a call ended, by its row. Without a link its answer has no receipt. */
export function closingOf(row: Row, call: CallRecord, link: AuditLink | undefined): ClosedWith {
  const { callId, tool, version, operation, startedAt, tenant, inputHash } = call;
  const closedAt = Number(row.completed_at);
  const known = { callId, tool, version, operation, startedAt, completedAt: closedAt };
  const answer = decodeAnswer(String(row.answer), known);
  const outputHash = typeof row.output_hash === "string" ? { outputHash: row.output_hash } : {};
  const effects = answer.effects && !answer.dryRun ? { effectsHash: answer.effects.digest } : {};
  if (link) answer.receipt = { tenant, ...link, inputHash, ...outputHash, ...effects } satisfies Receipt;
  return {
    status: String(row.status) as CallStatus,
    closedAt,
    ...outputHash,
    answer,
    ...(typeof row.timeline === "string" && { timeline: decodeTimeline(row.timeline) }),
  };
}

export function linkOf(row: Row): AuditLink {
  return { strand: Number(row.strand), sequence: Number(row.sequence), hash: String(row.hash) };
}

/** What is said of rows whose tenant no text is kept as, so that nothing can be asked for by it. */
export function strayTenant(bytes: string): string {
  return `Rows of the audit record have a tenant that no store writes: the bytes ${bytes.slice(0, 80)}`;
}

export function queuedCall(row: Row): QueuedCall {
  return {
    callId: String(row.call_id),
    tenant: String(row.tenant_id),
    agent: String(row.agent_did),
    tool: String(row.tool_id),
    priority: String(row.priority) as Priority,
    queuedAt: Number(row.queued_at),
  };
}

export function callbackOf(row: Row): Callback {
  return {
    callId: String(row.call_id),
    tenant: String(row.tenant_id),
    url: String(row.url),
    state: String(row.state) as CallbackState,
    attempts: Number(row.attempts),
    dueAt: Number(row.due_at),
    ...(typeof row.problem === "string" && { problem: row.problem }),
  };
}

export function approvalOf({ record }: Row): ApprovalRecord {
  return JSON.parse(String(record));
}

/** The counts stand beside the record. */
export function grantOf(row: Row): GrantRecord {
  const record: GrantRecord = JSON.parse(String(row.record));
  record.uses = Number(row.uses);
  if (typeof row.last_used_at === "number") record.lastUsedAt = row.last_used_at;
  else delete record.lastUsedAt;
  return record;
}

export function toolOf(row: Row): ToolRecord {
  return {
    manifest: JSON.parse(String(row.manifest)),
    manifestHash: String(row.manifest_hash),
    registeredAt: Number(row.registered_at),
    retirement: JSON.parse(String(row.retirement)),
    ...(typeof row.module === "string" && { module: row.module }),
    ...(typeof row.quarantine === "string" && { quarantine: JSON.parse(row.quarantine) }),
    revision: Number(row.revision),
  };
}

export function storedRecord(row: Row): StoredRecord {
  return {
    kind: String(row.kind),
    id: String(row.id),
    body: String(row.body),
    revision: Number(row.revision),
    ...(typeof row.expires_at === "number" && { expiresAt: row.expires_at }),
  };
}

export function instanceOf(row: Row): InstanceRecord {
  return {
    instance: String(row.instance),
    slot: Number(row.slot),
    expiresAt: Number(row.expires_at),
    startedAt: Number(row.started_at),
    about: JSON.parse(String(row.about)),
  };
}
