import type {
  ArchivedPart,
  ArchiveOrder,
  ArchiveState,
  AuditArchiver,
  WaitingMonth,
} from "@sallyport/engine/ports";
import { failure } from "@sallyport/protocol";
import type { Row } from "../store-rows/rows.ts";
import { moveMonth } from "./archive-month.ts";
import type { Database } from "./database.ts";
import type { Client } from "./driver.ts";
import { failedBy, isLockTimeout, isMadeMeanwhile } from "./failures.ts";

const HOUR_MS = 3_600_000;
/** A month that could not be moved rests for an hour, then twice as long each time, up to a day. */
const LONGEST_REST_MS = 24 * HOUR_MS;

const WAITING = `SELECT replace(right(relname, 7), '_', '-') AS month, greatest(reltuples, 0)::bigint AS rows, m.ends IS NOT NULL AS written,
    m.problem, coalesce(m.tries, 0) AS tries, coalesce(m.retry_at, 0) AS retry_at, now_ms() AS now
  FROM pg_inherits JOIN pg_class ON oid = inhrelid LEFT JOIN audit_months AS m ON m.month = replace(right(relname, 7), '_', '-')
  WHERE inhparent = 'audit'::regclass AND relname ~ '^audit_[0-9]{4}_[0-9]{2}$'
    AND to_date(right(relname, 7), 'YYYY_MM') + interval '1 month' <= as_time(now_ms() - $1)
  ORDER BY relname`;

const LAST = `SELECT month, name, units, archived_at FROM audit_months WHERE archived_at IS NOT NULL
  ORDER BY month DESC LIMIT 1`;

/** A month of which rows are where no month is, because nobody could make its partition in time. */
const LEFT_OVER = `SELECT to_char(written_at AT TIME ZONE 'UTC', 'YYYY_MM') AS month FROM audit_other
  WHERE written_at < as_time(now_ms() - $1) AT TIME ZONE 'UTC' - interval '1 month' LIMIT 1`;

/** Moves months of the audit record to the archive; one process at a time does. */
export function auditArchiver(database: Database): AuditArchiver {
  return {
    archiveAudit: async (order) => {
      const parts: ArchivedPart[] = [];
      if (order.signal?.aborted) return parts;
      try {
        const client = await database.connectApart();
        const done = new AbortController();
        try {
          await Promise.race([archiveMonths(client, order, parts), aborted(order.signal, done.signal)]);
        } finally {
          done.abort();
          // What still goes on behind the signal ends with its connection.
          const ended = client.end().catch(() => undefined);
          if (!order.signal?.aborted) await ended;
        }
      } catch (error) {
        throw failedBy(error, "The audit record could not be archived");
      }
      return parts;
    },
    archiveState: async (keepMs): Promise<ArchiveState> => {
      const waiting = (await database.rows(WAITING, [keepMs])).map(waitingOf);
      const [last] = await database.rows(LAST);
      return { waiting, ...(last && { last: lastOf(last) }) };
    },
  };
}

/** Resolves when the signal comes; never, once the work is done. */
function aborted(signal: AbortSignal | undefined, done: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    signal?.addEventListener("abort", () => resolve(), { once: true, signal: done });
  });
}

async function archiveMonths(client: Client, order: ArchiveOrder, parts: ArchivedPart[]): Promise<void> {
  const lock = "(hashtext('sallyport-archive'), hashtext(current_schema()))";
  const { rows } = await client.query<{ mine: boolean }>(`SELECT pg_try_advisory_lock${lock} AS mine`);
  if (!rows[0]?.mine) return;
  // A month is read by its index, however its statistics look.
  await client.query("SET enable_seqscan TO off");
  if (!order.isTrial) await takeLeftOvers(client, order);
  const waiting = await client.query<Row>(WAITING, [order.keepMs]);
  for (const row of waiting.rows) {
    const { month, tries, retryAt } = waitingOf(row);
    if (retryAt > Number(row.now) && !order.isUrgent) continue;
    parts.push(
      await moveMonth(client, month, order).catch((error) => leftBy(error, { client, month, tries, order })),
    );
  }
  await client.query(`SELECT pg_advisory_unlock${lock}`);
}

/** Rows of months that are over and have no partition get one, so that they can be archived. */
async function takeLeftOvers(client: Client, { keepMs }: ArchiveOrder): Promise<void> {
  for (let isMore = true; isMore; ) {
    const { rows } = await client.query<{ month: string }>(LEFT_OVER, [keepMs]);
    isMore = rows[0] !== undefined;
    try {
      if (rows[0]) await client.query("SELECT make_audit_partition($1)", [rows[0].month]);
    } catch (error) {
      if (!isLockTimeout(error) && !isMadeMeanwhile(error)) throw error;
      return;
    }
  }
}

interface Left {
  client: Client;
  month: string;
  tries: number;
  order: ArchiveOrder;
}

/** Notes why a month stays. Where somebody reads it, the next turn tries again. Rejects when the store is lost. */
async function leftBy(error: unknown, { client, month, tries, order }: Left): Promise<ArchivedPart> {
  if (order.signal?.aborted) throw error;
  await client.query("ROLLBACK").catch(() => {
    throw error;
  });
  const isRead = isLockTimeout(error);
  const problem = isRead
    ? failure("E3914", {
        message: `The month ${month} is in the archive, and stays in the database while it is read.`,
      })
    : failedBy(error, `The month ${month} of the audit record could not be archived`).failure;
  if (!order.isTrial) {
    const restMs = isRead ? 0 : Math.min(LONGEST_REST_MS, HOUR_MS * 2 ** tries);
    await client.query(
      `INSERT INTO audit_months (month, problem, tries, retry_at) VALUES ($1, $2, 1, now_ms() + $3)
        ON CONFLICT (month) DO UPDATE SET problem = excluded.problem, retry_at = excluded.retry_at,
          tries = audit_months.tries + 1`,
      [month, `${problem.code} ${problem.message}`, restMs],
    );
  }
  return { month, units: 0, problem };
}

function waitingOf(row: Row): WaitingMonth {
  return {
    month: String(row.month),
    units: Number(row.rows),
    isWritten: row.written === true,
    tries: Number(row.tries),
    retryAt: Number(row.retry_at),
    ...(typeof row.problem === "string" && { problem: row.problem }),
  };
}

function lastOf(row: Row): NonNullable<ArchiveState["last"]> {
  const { name, units, archived_at: at } = row;
  return {
    month: String(row.month),
    units: Number(units),
    at: Number(at),
    ...(typeof name === "string" && { name }),
  };
}
