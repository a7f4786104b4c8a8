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
    backlogs: async () => {
      const rows = await database.rows(
        "SELECT sink, count(*) AS batches, min(written_at) AS oldest FROM outbox GROUP BY sink ORDER BY sink",
      );
      return rows.map(
        (row): Backlog => ({
          sink: String(row.sink),
          batches: Number(row.batches),
          oldestAt: Number(row.oldest),
        }),
      );
    },
  };
}

function pendingBatch(row: Row): PendingBatch {
  return { id: String(row.position), tenant: String(row.tenant_id), events: JSON.parse(String(row.events)) };
}
