import {
  type Backlog,
  type OutboxReader,
  PARTITION_LEASE_MS,
  PARTITIONS,
  PENDING_CHARS,
  type PendingBatch,
} from "@sallyport/engine/ports";
import type { Row } from "../store-rows/rows.ts";
import type { Database } from "./database.ts";

/** So many batches of a sink and partition are counted; from there on their number is estimated. */
const COUNTED = 250;

/**
 * By the index alone, however much waits: the sinks one after the other, and the first batches of each partition. What
 * follows those is taken to lie as close together as they do. Ranges of the index, not equality: without statistics the
 * planner would take a sink for a few rows, and sort them.
 */
const BACKLOGS = `WITH RECURSIVE sinks AS (
    (SELECT sink FROM outbox ORDER BY sink, partition, position LIMIT 1)
    UNION ALL SELECT (SELECT o.sink FROM outbox AS o WHERE o.sink > s.sink ORDER BY o.sink, o.partition, o.position LIMIT 1)
      FROM sinks AS s WHERE s.sink IS NOT NULL)
  SELECT s.sink, bool_or(n = $1) AS estimated, min(oldest) AS oldest,
    round(sum(CASE WHEN n < $1 THEN n ELSE n * (last - first + 1)::numeric / (mark - first + 1) END))::bigint AS batches
  FROM sinks AS s, generate_series(0, $2::integer) AS each,
    LATERAL (SELECT count(*) AS n, min(position) AS first, max(position) AS mark, min(written_at) AS oldest
      FROM (SELECT * FROM outbox AS o WHERE (o.sink, o.partition, o.position) > (s.sink, each, 0)
        ORDER BY o.sink, o.partition, o.position LIMIT $1::integer) AS firsts
      WHERE firsts.sink = s.sink AND firsts.partition = each) AS counted,
    LATERAL (SELECT (SELECT position FROM outbox AS o
        WHERE (o.sink, o.partition, o.position) < (s.sink, each, ${Number.MAX_SAFE_INTEGER})
        ORDER BY o.sink DESC, o.partition DESC, o.position DESC LIMIT 1) AS last) AS ends
  WHERE n > 0 GROUP BY s.sink ORDER BY s.sink`;

/** Events for the sinks; each partition of tenants is published by one live instance. */
export function outboxReader(database: Database): OutboxReader {
  return {
    pending: async ({ sink, instance, limit }) => {
      const most = {
        batches: Math.max(0, limit),
        chars: PENDING_CHARS,
        partitions: PARTITIONS,
        leaseMs: PARTITION_LEASE_MS,
      };
      const rows = await database.rows("SELECT * FROM outbox_pending($1, $2, $3::jsonb)", [
        sink,
        instance,
        JSON.stringify(most),
      ]);
      return rows.map(pendingBatch);
    },
    renew: async ({ sink, instance }) => {
      const renewed = `UPDATE outbox_publishers SET expires_at = now_ms() + $3
        WHERE sink = $1 AND instance = $2 AND expires_at > now_ms() RETURNING true`;
      return (await database.leaseRows(renewed, [sink, instance, PARTITION_LEASE_MS])).length > 0;
    },
    delivered: async ({ sink, ids }) =>
      void (await database.rows("DELETE FROM outbox WHERE sink = $1 AND position = ANY ($2::bigint[])", [
        sink,
        ids.filter((id) => /^\d{1,18}$/.test(id)),
      ])),
    backlogs: async () =>
      (await database.rows(BACKLOGS, [COUNTED, PARTITIONS - 1])).map(
        (row): Backlog => ({
          sink: String(row.sink),
          batches: Number(row.batches),
          ...(row.estimated === true && { isEstimate: true }),
          oldestAt: Number(row.oldest),
        }),
      ),
  };
}

function pendingBatch(row: Row): PendingBatch {
  return { id: String(row.position), tenant: String(row.tenant_id), events: JSON.parse(String(row.events)) };
}
