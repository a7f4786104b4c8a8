import type { StatementSync } from "node:sqlite";
import type { Connection } from "./connection.ts";

/** Each step finds its batch by id and phase itself: another process may have sealed or closed it. */
const SQL = {
  open: `INSERT INTO batches (conversation, batch_id, model, phase, opened_at)
    SELECT position, ?2, ?3, 'streaming', ?4 FROM conversations WHERE conversation_id = ?1 ON CONFLICT DO NOTHING`,
  isElsewhere: `SELECT 1 FROM batches WHERE batch_id = ?1
    AND NOT EXISTS (SELECT 1 FROM batches WHERE conversation = ?2)`,
  find: "SELECT conversation, phase FROM batches WHERE batch_id = ?",
  recordText: `INSERT INTO batch_parts (conversation, part, number, position, value)
    SELECT conversation, 'text', 0, (SELECT coalesce(max(p.position), 0) + 1 FROM batch_parts AS p
      WHERE p.conversation = b.conversation AND p.part = 'text' AND p.number = 0), ?2
    FROM batches AS b WHERE batch_id = ?1 AND phase = 'streaming'`,
  recordArguments: `INSERT INTO batch_parts (conversation, part, number, position, value)
    SELECT c.conversation, 'arguments', c.number, (SELECT coalesce(max(p.position), 0) + 1 FROM batch_parts AS p
      WHERE p.conversation = c.conversation AND p.part = 'arguments' AND p.number = c.number), ?3
    FROM batches AS b JOIN batch_parts AS c ON c.conversation = b.conversation AND c.part = 'call' AND c.number = ?2
    WHERE b.batch_id = ?1 AND b.phase = 'streaming'`,
  recordCall: `INSERT INTO batch_parts (conversation, part, number, position, value)
    SELECT conversation, 'call', ?2, 0, ?3 FROM batches AS b WHERE batch_id = ?1 AND phase = 'streaming'
      AND ?2 = (SELECT coalesce(max(p.number) + 1, 0) FROM batch_parts AS p
        WHERE p.conversation = b.conversation AND p.part = 'call')`,
  markSealed: "UPDATE batches SET phase = 'sealed' WHERE conversation = ?",
  sealCall: `INSERT INTO batch_parts (conversation, part, number, position, value)
    SELECT conversation, 'sealed', number, 0, ?3 FROM batch_parts
    WHERE conversation = ?1 AND part = 'call' AND number = ?2`,
  countCalls: "SELECT count(*) AS calls FROM batch_parts WHERE conversation = ? AND part = 'call'",
  result: `INSERT INTO batch_parts (conversation, part, number, position, value)
    SELECT c.conversation, 'result', c.number, 0, ?3
    FROM batches AS b JOIN batch_parts AS c ON c.conversation = b.conversation AND c.part = 'sealed' AND c.number = ?2
    WHERE b.batch_id = ?1 ON CONFLICT DO NOTHING`,
  dropBatch: "DELETE FROM batches WHERE conversation = ?",
  dropParts: "DELETE FROM batch_parts WHERE conversation = ?",
  openOf: `SELECT conversation, batch_id, model, phase, opened_at FROM batches
    WHERE conversation = (SELECT position FROM conversations WHERE conversation_id = ?)`,
  parts: `SELECT part, number, value FROM batch_parts WHERE conversation = ?
    ORDER BY conversation, part, number, position`,
} as const;

/** Every statement of the journal, prepared. */
export type BatchStatements = Record<keyof typeof SQL, StatementSync>;

/** Prepares what the journal of a connection needs. */
export function prepareBatchStatements(connection: Connection): BatchStatements {
  const prepared = Object.entries(SQL).map(([name, sql]) => [name, connection.prepare(sql)]);
  return Object.fromEntries(prepared);
}
