import type {
  ApprovalFilter,
  ApprovalReader,
  Changes,
  GrantReader,
  Revocation,
  RevocationReader,
} from "@sallyport/engine/ports";
import { approvalOf, grantOf, type Row } from "../store-rows/rows.ts";
import type { Database, Value } from "./database.ts";

/** Reads approvals, and apart from them the orders they are about. */
export function approvalReader(database: Database): ApprovalReader {
  const one = async (text: string, id: string) => (await database.rows(text, [id])).map(approvalOf)[0];
  return {
    get: (approvalId) => one("SELECT record FROM approvals WHERE approval_id = $1", approvalId),
    ofCall: (callId) =>
      one("SELECT record FROM approvals WHERE call_id = $1 ORDER BY position DESC LIMIT 1", callId),
    list: async (filter) => (await database.rows(...listQuery(filter))).map(approvalOf),
    order: async (approvalId) => {
      const [row] = await database.rows("SELECT call_order FROM approvals WHERE approval_id = $1", [
        approvalId,
      ]);
      return typeof row?.call_order === "string" ? row.call_order : undefined;
    },
  };
}

function listQuery({ tenant, states, before, limit }: ApprovalFilter): [text: string, values: Value[]] {
  const values: Value[] = [Math.max(0, limit)];
  const terms: string[] = [];
  if (tenant !== undefined) terms.push(`tenant_id = $${values.push(tenant)}`);
  if (states !== undefined) terms.push(`state = ANY ($${values.push(states)}::text[])`);
  if (before !== undefined)
    terms.push(`(created_at, approval_id) < ($${values.push(before.at)}, $${values.push(before.id)})`);
  const where = terms.length === 0 ? "" : `WHERE ${terms.join(" AND ")}`;
  return [
    `SELECT record FROM approvals ${where} ORDER BY created_at DESC, approval_id DESC LIMIT $1`,
    values,
  ];
}

const GRANTS = `SELECT position, record, uses + coalesce(counted, 0) AS uses, greatest(last_used_at, counted_at) AS last_used_at
  FROM grants AS g, LATERAL (SELECT sum(c.uses)::bigint AS counted, max(c.last_used_at) AS counted_at
    FROM grant_counts AS c WHERE c.grant_id = g.grant_id) AS beside`;

/** Reads grants with their counts. */
export function grantReader(database: Database): GrantReader {
  return {
    get: async (grantId) => (await database.rows(`${GRANTS} WHERE grant_id = $1`, [grantId])).map(grantOf)[0],
    changedSince: (cursor) => changesOf(database, { select: GRANTS, cursor, of: grantOf }),
  };
}

/** Reads the revoked tokens. */
export function revocationReader(database: Database): RevocationReader {
  const of = (row: Row): Revocation => JSON.parse(String(row.record));
  return {
    changedSince: (cursor) =>
      changesOf(database, { select: "SELECT position, record FROM token_revocations", cursor, of }),
  };
}

interface Question<Changed> {
  select: string;
  cursor: string | undefined;
  of(row: Row): Changed;
}

/** Where the numbers of transactions are counted: a server that was promoted or restored counts on from older ones. */
const HISTORY =
  "(SELECT system_identifier FROM pg_control_system()) || '-' || left(pg_walfile_name(pg_current_wal_lsn()), 8)";
const XMIN = "pg_snapshot_xmin(pg_current_snapshot())";
/** The transaction of the cursor; the first one when the cursor is of another history, or from the future of this one. */
const SINCE = `(SELECT CASE WHEN $1 = ${HISTORY} AND $2::xid8 <= ${XMIN} THEN $2 ELSE '0' END::xid8)`;

/**
 * What transactions from the cursor on have written, in the order rows were first written. A cursor is the server's
 * history and the oldest transaction that still ran when it was given: whatever is older was visible then, and the rest is
 * told again. After a fail-over everything is told.
 */
export async function changesOf<Changed>(
  database: Database,
  { select, cursor, of }: Question<Changed>,
): Promise<Changes<Changed>> {
  const [, history = "", transaction = "0"] = /^(.*) (\d{1,19})$/.exec(cursor ?? "") ?? [];
  const since = cursor === undefined ? "" : `WHERE changed_in >= ${SINCE}`;
  const rows = await database.rows(
    `WITH changed AS (${select} ${since})
      SELECT changed.*, ${HISTORY} || ' ' || ${XMIN} AS cursor
      FROM (SELECT) AS always LEFT JOIN changed ON true ORDER BY position`,
    cursor === undefined ? [] : [history, transaction],
  );
  return {
    changed: rows.filter(({ position }) => position !== null).map(of),
    cursor: String(rows[0]?.cursor),
  };
}
