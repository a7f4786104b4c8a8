import type { DatabaseSync, SQLInputValue, SQLOutputValue, StatementSync } from "node:sqlite";
import type { ApprovalFilter, ApprovalRecord, ApprovalState } from "@sallyport/engine/ports";

const GET_APPROVAL = "SELECT record FROM approvals WHERE approval_id = ?";

const NEWEST_OF_CALL = "SELECT record FROM approvals WHERE call_id = ? ORDER BY position DESC LIMIT 1";

const GET_ORDER = "SELECT call_order FROM approvals WHERE approval_id = ?";

/** Every state, and whether `approvals_open` holds it. */
const IN_OPEN: Readonly<Record<ApprovalState, boolean>> = {
  pending: true,
  approved: true,
  edited: true,
  reserved: true,
  consumed: false,
  denied: false,
  expired: false,
  withdrawn: false,
  void: false,
};

/** The condition of `approvals_open`, in its own words. */
const OPEN_TERM = "state IN ('pending', 'approved', 'edited', 'reserved')";

/** Reads approvals, and apart from them the orders they are about, synchronously. */
export class ApprovalReads {
  readonly #database: DatabaseSync;
  readonly #get: StatementSync;
  readonly #ofCall: StatementSync;
  readonly #order: StatementSync;
  /** One statement for each combination of filters, prepared on first use. */
  readonly #lists = new Map<string, StatementSync>();

  constructor(database: DatabaseSync) {
    this.#database = database;
    this.#get = database.prepare(GET_APPROVAL);
    this.#ofCall = database.prepare(NEWEST_OF_CALL);
    this.#order = database.prepare(GET_ORDER);
  }

  get(approvalId: string): ApprovalRecord | undefined {
    const row = this.#get.get(approvalId);
    return row && approvalOf(row);
  }

  ofCall(callId: string): ApprovalRecord | undefined {
    const row = this.#ofCall.get(callId);
    return row && approvalOf(row);
  }

  order(approvalId: string): string | undefined {
    const order = this.#order.get(approvalId)?.call_order;
    return typeof order === "string" ? order : undefined;
  }

  list(filter: ApprovalFilter): ApprovalRecord[] {
    const { sql, values } = listQuery(filter);
    const statement = this.#lists.get(sql) ?? this.#database.prepare(sql);
    this.#lists.set(sql, statement);
    return statement.all(...values).map(approvalOf);
  }
}

function listQuery(filter: ApprovalFilter): { sql: string; values: SQLInputValue[] } {
  const { tenant, before } = filter;
  const states = filter.states && knownStates(filter.states);
  const conditions: [sql: string, values: SQLInputValue[] | undefined][] = [
    [OPEN_TERM, isOpen(states) ? [] : undefined],
    [`state IN (${states?.map(() => "?").join()})`, states],
    ["tenant_id = ?", tenant === undefined ? undefined : [tenant]],
    ["created_at <= ? AND (created_at < ? OR approval_id < ?)", before && [before.at, before.at, before.id]],
  ];
  const used = conditions.filter(([, values]) => values !== undefined);
  const where = used.length === 0 ? "" : `WHERE ${used.map(([sql]) => sql).join(" AND ")}`;
  const sql = `SELECT record FROM approvals ${indexFor(tenant, states)} ${where} ORDER BY created_at DESC, approval_id DESC LIMIT ?`;
  return { sql, values: [...used.flatMap(([, values]) => values ?? []), Math.max(0, filter.limit)] };
}

/** The index with the fewest rows to look at, named because SQLite has no statistics to choose by. */
function indexFor(tenant: string | undefined, states: ApprovalState[] | undefined): string {
  if (isOpen(states)) return "INDEXED BY approvals_open";
  return tenant === undefined ? "INDEXED BY approvals_by_time" : "INDEXED BY approvals_by_tenant";
}

/** SQLite uses a partial index only when the query repeats the index's own condition. */
function isOpen(states: ApprovalState[] | undefined): boolean {
  return states !== undefined && states.length > 0 && states.every((state) => IN_OPEN[state]);
}

/** Each state once and in one order, and nothing no approval can be in: so there are few different statements. */
function knownStates(asked: readonly ApprovalState[]): ApprovalState[] {
  const known = Object.keys(IN_OPEN) as ApprovalState[];
  return known.filter((state) => asked.includes(state));
}

/** The approval of a row that has its record. */
export function approvalOf({ record }: Record<string, SQLOutputValue>): ApprovalRecord {
  return JSON.parse(String(record));
}
