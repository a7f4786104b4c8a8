import type { DatabaseSync } from "node:sqlite";
import type {
  CallbackReader,
  CallFilter,
  CallReader,
  HeldOrder,
  HeldWork,
  QueueReader,
} from "@sallyport/engine/ports";
import { type OutlineReader, outlineOf } from "../store-rows/outlines.ts";
import { approvalOf, callbackOf, queuedCall, type Row } from "../store-rows/rows.ts";
import { CALL_COLUMNS, recordOf } from "./call-rows.ts";
import { preparedOnce, type Sync, whereClause } from "./reading.ts";

/** An answer stands last in its row and is looked into only where it is an error, which is short. */
const OUTLINE_COLUMNS = `invocation_id, tenant_id, agent_did, session_id, tool_id, tool_version,
  started_at, phase, status, completed_at, facts ->> '$.user' AS user_id, facts ->> '$.operation' AS operation,
  CASE WHEN status <> 'success' THEN answer ->> '$.error.code' END AS error_code`;

/** Reads the journal. */
export function callReads(database: DatabaseSync): Sync<CallReader & OutlineReader> {
  const calls = `SELECT ${CALL_COLUMNS} FROM tool_invocations`;
  const one = database.prepare(`${calls} WHERE invocation_id = ?`);
  const ofKey = database.prepare(`${calls} WHERE tenant_id = ? AND agent_did = ? AND idempotency_key = ?`);
  const prepared = preparedOnce(database);
  const rows = (filter: CallFilter, columns: string) => {
    const { sql, values } = listQuery(filter, columns);
    return prepared(sql).all(...values);
  };
  return {
    get: (callId) => one.all(callId).map(recordOf)[0],
    byIdempotencyKey: ({ tenant, agent, key }) => ofKey.all(tenant, agent, key).map(recordOf)[0],
    list: (filter) => rows(filter, CALL_COLUMNS).map(recordOf),
    outlines: (filter) => rows(filter, OUTLINE_COLUMNS).map(outlineOf),
  };
}

/** Reads the orders of accepted calls, and how many there are. */
export function queueReads(database: DatabaseSync): Sync<QueueReader> {
  const orderOf = database.prepare(`SELECT call_order FROM queue
    WHERE position = (SELECT position FROM tool_invocations WHERE invocation_id = ?)`);
  const size = database.prepare("SELECT count(*) AS size FROM queue");
  return {
    order: (callId) => {
      const order = orderOf.get(callId)?.call_order;
      return typeof order === "string" ? order : undefined;
    },
    size: () => Number(size.get()?.size),
  };
}

/** What an instance holds: the name of the call's id in each table, and which rows. */
const HELD: { [Kind in keyof HeldWork]: { id: string; sql: string; of(row: Row): HeldWork[Kind] } } = {
  executing: {
    id: "invocation_id",
    sql: `SELECT ${CALL_COLUMNS} FROM tool_invocations INDEXED BY invocations_open
      WHERE phase <> 'closed' AND phase = 'executing' AND facts ->> '$.owner' = :instance`,
    of: recordOf,
  },
  queued: {
    id: "call_id",
    sql: `SELECT call_id, tenant_id, agent_did, tool_id, priority, queued_at FROM queue
      WHERE claimed_by = :instance`,
    of: queuedCall,
  },
  approved: {
    id: "call_id",
    sql: `SELECT record FROM approvals INDEXED BY approvals_open WHERE state IN ('approved', 'edited')
      AND state IN ('pending', 'approved', 'edited', 'reserved') AND claimed_by = :instance AND expires_at > :now`,
    of: approvalOf,
  },
};

/** Reads what an instance holds. */
export function heldReads(database: DatabaseSync) {
  const prepared = preparedOnce(database);
  return <Kind extends keyof HeldWork>({
    kind,
    instance,
    limit,
    except,
  }: HeldOrder<Kind>): HeldWork[Kind][] => {
    const { id, sql, of } = HELD[kind];
    const text = `${sql} AND ${id} NOT IN (SELECT value FROM json_each(:except)) ORDER BY ${id} LIMIT :limit`;
    const values = { instance, now: Date.now(), except: JSON.stringify(except), limit: Math.max(0, limit) };
    return prepared(text).all(values).map(of);
  };
}

/** Reads callbacks. */
export function callbackReads(database: DatabaseSync): Sync<CallbackReader> {
  const one = database.prepare("SELECT * FROM callbacks WHERE call_id = ?");
  return { ofCall: (callId) => one.all(callId).map(callbackOf)[0] };
}

function listQuery(filter: CallFilter, columns: string) {
  const { before, phase, status } = filter;
  const one = (value: string | undefined) => (value === undefined ? undefined : [value]);
  const { where, values } = whereClause([
    ["tenant_id = ?", one(filter.tenant)],
    ["agent_did = ?", one(filter.agent)],
    ["tool_id = ?", one(filter.tool)],
    ["phase = ?", one(phase)],
    ["status = ?", one(status)],
    // The first term bounds the index, which holds the time alone.
    [
      "started_at <= ? AND (started_at < ? OR invocation_id < ?)",
      before && [before.at, before.at, before.id],
    ],
    // SQLite uses a partial index only when the query repeats the index's own condition.
    ["phase <> 'closed'", isOpen(phase) ? [] : undefined],
    ["status <> 'success'", isRare(status) && !isOpen(phase) ? [] : undefined],
  ]);
  const sql = `SELECT ${columns} FROM tool_invocations ${indexFor(filter)} ${where}
    ORDER BY started_at DESC, invocation_id DESC LIMIT ?`;
  return { sql, values: [...values, Math.max(0, filter.limit)] };
}

/** The index with the fewest rows to look at, named because SQLite has no statistics to choose by. */
function indexFor({ phase, status, tool, tenant, agent }: CallFilter): string {
  if (isOpen(phase)) return "INDEXED BY invocations_open";
  if (isRare(status)) return "INDEXED BY invocations_unsuccessful";
  if (tenant !== undefined && agent !== undefined) return "INDEXED BY invocations_by_tenant";
  if (tool !== undefined) return "INDEXED BY invocations_by_tool";
  return tenant === undefined ? "INDEXED BY invocations_by_time" : "INDEXED BY invocations_by_tenant";
}

function isOpen(phase: CallFilter["phase"]): boolean {
  return phase !== undefined && phase !== "closed";
}

function isRare(status: CallFilter["status"]): boolean {
  return status !== undefined && status !== "success";
}
