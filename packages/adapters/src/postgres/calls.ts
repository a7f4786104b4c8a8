import type { CallFilter, CallPhase, CallReader, CallRecord, QueueReader } from "@sallyport/engine/ports";
import type { Priority, SideEffects } from "@sallyport/protocol";
import { type OutlineReader, outlineOf } from "../store-rows/outlines.ts";
import { closingOf, linkOf, type Row } from "../store-rows/rows.ts";
import type { Database, Value } from "./database.ts";

/** An answer is looked into only where it is an error, which is short. */
const OUTLINE_COLUMNS = `call_id AS invocation_id, tenant_id, agent_did, session_id, tool_id, tool_version, started_at,
  phase, status, completed_at, user_id, operation,
  CASE WHEN status <> 'success' THEN substring(answer FROM '"error":\\{"code":"([^"\\\\]*)"') END AS error_code`;

/** Reads the journal. */
export function callReader(database: Database): CallReader & OutlineReader {
  const one = async (text: string, values: Value[]) => (await database.rows(text, values)).map(recordOf)[0];
  return {
    get: (callId) => one("SELECT * FROM calls WHERE call_id = $1", [callId]),
    byIdempotencyKey: ({ tenant, agent, key }) =>
      one("SELECT * FROM calls WHERE tenant_id = $1 AND agent_did = $2 AND idempotency_key = $3", [
        tenant,
        agent,
        key,
      ]),
    list: async (filter) => (await database.rows(...listQuery(filter, "*"))).map(recordOf),
    outlines: async (filter) => (await database.rows(...listQuery(filter, OUTLINE_COLUMNS))).map(outlineOf),
  };
}

/** Reads the orders of accepted calls, and how many there are. */
export function queueReader(database: Database): QueueReader {
  return {
    order: async (callId: string) => {
      const [row] = await database.rows("SELECT call_order FROM queue WHERE call_id = $1", [callId]);
      return row && String(row.call_order);
    },
    size: async () => Number((await database.rows("SELECT count(*) AS size FROM queue"))[0]?.size ?? 0),
  };
}

/** Newest first. */
function listQuery(filter: CallFilter, columns: string): [text: string, values: Value[]] {
  const asked = {
    tenant_id: filter.tenant,
    agent_did: filter.agent,
    tool_id: filter.tool,
    phase: filter.phase,
    status: filter.status,
  };
  const values: Value[] = [Math.max(0, filter.limit)];
  const terms = Object.entries(asked).flatMap(([column, value]) =>
    value === undefined ? [] : `${column} = $${values.push(value)}`,
  );
  // A partial index is used only where the query repeats its condition.
  if (filter.phase !== undefined && filter.phase !== "closed") terms.push("phase <> 'closed'");
  if (filter.status !== undefined && filter.status !== "success") terms.push("status <> 'success'");
  if (filter.before !== undefined)
    terms.push(
      `(started_at, call_id) < ($${values.push(filter.before.at)}, $${values.push(filter.before.id)})`,
    );
  const where = terms.length === 0 ? "" : `WHERE ${terms.join(" AND ")}`;
  return [`SELECT ${columns} FROM calls ${where} ORDER BY started_at DESC, call_id DESC LIMIT $1`, values];
}

/** A row of `calls` as the port knows it, the answer's receipt filled in. */
export function recordOf(row: Row): CallRecord {
  const record: CallRecord = {
    callId: String(row.call_id),
    tenant: String(row.tenant_id),
    agent: String(row.agent_did),
    ...(typeof row.user_id === "string" && { user: row.user_id }),
    ...(typeof row.session_id === "string" && { session: row.session_id }),
    tool: String(row.tool_id),
    version: String(row.tool_version),
    operation: String(row.operation),
    manifestHash: String(row.manifest_hash),
    sideEffects: String(row.side_effects) as SideEffects,
    input: String(row.parameters),
    inputHash: String(row.input_hash),
    ...(typeof row.idempotency_key === "string" && { idempotencyKey: row.idempotency_key }),
    ...(typeof row.request_digest === "string" && { requestDigest: row.request_digest }),
    ...(typeof row.callback_url === "string" && { callbackUrl: row.callback_url }),
    ...(typeof row.async_mode === "boolean" && { asyncMode: row.async_mode }),
    ...(typeof row.priority === "string" && { priority: row.priority as Priority }),
    owner: String(row.owner),
    ...(typeof row.run_id === "string" && { runId: row.run_id }),
    ...(typeof row.staged_in === "string" && { stagedIn: row.staged_in }),
    attempt: Number(row.attempt),
    startedAt: Number(row.started_at),
    ...(typeof row.grants === "string" && { grants: JSON.parse(row.grants) }),
    phase: String(row.phase) as CallPhase,
    ...(typeof row.cancel_reason === "string" && { cancelReason: row.cancel_reason }),
  };
  const link = typeof row.hash === "string" ? linkOf(row) : undefined;
  if (typeof row.answer === "string") record.closing = closingOf(row, record, link);
  return record;
}
