import type { DatabaseSync, SQLInputValue, SQLOutputValue, StatementSync } from "node:sqlite";
import type { CallFilter, CallRecord } from "@sallyport/engine/ports";
import { type CallOutline, OUTLINE_COLUMNS, outlineOf } from "./call-outlines.ts";
import { CALL_COLUMNS, recordOf } from "./call-rows.ts";

const GET_CALL = `SELECT ${CALL_COLUMNS} FROM tool_invocations WHERE invocation_id = ?`;

const GET_BY_KEY = `SELECT ${CALL_COLUMNS} FROM tool_invocations
  WHERE tenant_id = ? AND agent_did = ? AND idempotency_key = ?`;

/** Reads the journal, synchronously, on the connection it is given. */
export class CallReads {
  readonly #database: DatabaseSync;
  readonly #get: StatementSync;
  readonly #byKey: StatementSync;
  /** One statement for each combination of filters, prepared on first use. */
  readonly #lists = new Map<string, StatementSync>();

  constructor(database: DatabaseSync) {
    this.#database = database;
    this.#get = database.prepare(GET_CALL);
    this.#byKey = database.prepare(GET_BY_KEY);
  }

  get(callId: string): CallRecord | undefined {
    const row = this.#get.get(callId);
    return row && recordOf(row);
  }

  byKey({ tenant, agent, key }: { tenant: string; agent: string; key: string }): CallRecord | undefined {
    const row = this.#byKey.get(tenant, agent, key);
    return row && recordOf(row);
  }

  list(filter: CallFilter): CallRecord[] {
    return this.#rows(filter, CALL_COLUMNS).map(recordOf);
  }

  /** The same calls, without what they were given and gave back. */
  outlines(filter: CallFilter): CallOutline[] {
    return this.#rows(filter, OUTLINE_COLUMNS).map(outlineOf);
  }

  #rows(filter: CallFilter, columns: string): Record<string, SQLOutputValue>[] {
    const { sql, values } = listQuery(filter, columns);
    const statement = this.#lists.get(sql) ?? this.#database.prepare(sql);
    this.#lists.set(sql, statement);
    return statement.all(...values);
  }
}

function listQuery(filter: CallFilter, columns: string): { sql: string; values: SQLInputValue[] } {
  const { before } = filter;
  const one = (value: string | undefined) => (value === undefined ? undefined : [value]);
  const conditions: [sql: string, values: SQLInputValue[] | undefined][] = [
    ["tenant_id = ?", one(filter.tenant)],
    ["agent_did = ?", one(filter.agent)],
    ["tool_id = ?", one(filter.tool)],
    ["phase = ?", one(filter.phase)],
    ["status = ?", one(filter.status)],
    // The first term bounds the index, which holds the time alone.
    [
      "started_at <= ? AND (started_at < ? OR invocation_id < ?)",
      before && [before.at, before.at, before.id],
    ],
  ];
  const used = conditions.filter(([, values]) => values !== undefined);
  const where = [...used.map(([sql]) => sql), ...partialIndexTerms(filter)].join(" AND ");
  const sql = `SELECT ${columns} FROM tool_invocations ${indexFor(filter)}
    ${where === "" ? "" : `WHERE ${where}`} ORDER BY started_at DESC, invocation_id DESC LIMIT ?`;
  return { sql, values: [...used.flatMap(([, values]) => values ?? []), Math.max(0, filter.limit)] };
}

/** SQLite uses a partial index only when the query repeats the index's own condition. */
function partialIndexTerms({ phase, status }: CallFilter): string[] {
  if (isOpen(phase)) return ["phase <> 'closed'"];
  return isRare(status) ? ["status <> 'success'"] : [];
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
