import type { DatabaseSync } from "node:sqlite";
import type {
  ApprovalFilter,
  ApprovalReader,
  ApprovalState,
  GrantReader,
  Revocation,
  RevocationReader,
} from "@sallyport/engine/ports";
import { approvalOf, grantOf } from "../store-rows/rows.ts";
import { changesOf, preparedOnce, type Sync, whereClause } from "./reading.ts";

/** Reads approvals, and apart from them the orders they are about. */
export function approvalReads(database: DatabaseSync): Sync<ApprovalReader> {
  const one = database.prepare("SELECT record FROM approvals WHERE approval_id = ?");
  const newestOfCall = database.prepare(
    "SELECT record FROM approvals WHERE call_id = ? ORDER BY position DESC LIMIT 1",
  );
  const orderOf = database.prepare("SELECT call_order FROM approvals WHERE approval_id = ?");
  const prepared = preparedOnce(database);
  return {
    get: (approvalId) => one.all(approvalId).map(approvalOf)[0],
    ofCall: (callId) => newestOfCall.all(callId).map(approvalOf)[0],
    order: (approvalId) => {
      const order = orderOf.get(approvalId)?.call_order;
      return typeof order === "string" ? order : undefined;
    },
    list: (filter) => {
      const { sql, values } = listQuery(filter);
      return prepared(sql)
        .all(...values)
        .map(approvalOf);
    },
  };
}

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

function listQuery(filter: ApprovalFilter) {
  const { tenant, before } = filter;
  const states = filter.states && knownStates(filter.states);
  const { where, values } = whereClause([
    [OPEN_TERM, isOpen(states) ? [] : undefined],
    [`state IN (${states?.map(() => "?").join()})`, states],
    ["tenant_id = ?", tenant === undefined ? undefined : [tenant]],
    ["created_at <= ? AND (created_at < ? OR approval_id < ?)", before && [before.at, before.at, before.id]],
  ]);
  const sql = `SELECT record FROM approvals ${indexFor(tenant, states)} ${where} ORDER BY created_at DESC, approval_id DESC LIMIT ?`;
  return { sql, values: [...values, Math.max(0, filter.limit)] };
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

/** Reads grants with their counts. */
export function grantReads(database: DatabaseSync): Sync<GrantReader> {
  const one = database.prepare("SELECT record, uses, last_used_at FROM grants WHERE grant_id = ?");
  const changed = database.prepare(
    "SELECT record, uses, last_used_at, change FROM grants WHERE change > ? ORDER BY position",
  );
  return {
    get: (grantId) => one.all(grantId).map(grantOf)[0],
    changedSince: (cursor) => changesOf(changed, cursor, grantOf),
  };
}

/** Reads the revoked tokens, in the order they were revoked. They never change, so their position counts their changes. */
export function revocationReads(database: DatabaseSync): Sync<RevocationReader> {
  const changed = database.prepare(
    "SELECT record, position AS change FROM token_revocations WHERE position > ? ORDER BY position",
  );
  return {
    changedSince: (cursor) =>
      changesOf(changed, cursor, ({ record }): Revocation => JSON.parse(String(record))),
  };
}
