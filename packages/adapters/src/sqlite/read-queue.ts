import type { DatabaseSync, SQLOutputValue, StatementSync } from "node:sqlite";
import type { QueuedCall } from "@sallyport/engine/ports";
import type { Priority } from "@sallyport/protocol";

/** What a place in the queue is made of. */
export const QUEUE_COLUMNS = "call_id, tenant_id, agent_did, tool_id, priority, queued_at";

const LIST_QUEUE = `SELECT ${QUEUE_COLUMNS} FROM queue ORDER BY position LIMIT ?`;

/** The journal knows where a call stood, also when it has left the queue. */
const LIST_AFTER = `SELECT ${QUEUE_COLUMNS} FROM queue
  WHERE position > (SELECT position FROM tool_invocations WHERE invocation_id = ?) ORDER BY position LIMIT ?`;

const GET_ORDER = `SELECT call_order FROM queue
  WHERE position = (SELECT position FROM tool_invocations WHERE invocation_id = ?)`;

/** Reads the accepted calls, and apart from them their orders, synchronously. */
export class QueueReads {
  readonly #list: StatementSync;
  readonly #listAfter: StatementSync;
  readonly #order: StatementSync;
  readonly #size: StatementSync;

  constructor(database: DatabaseSync) {
    this.#list = database.prepare(LIST_QUEUE);
    this.#listAfter = database.prepare(LIST_AFTER);
    this.#order = database.prepare(GET_ORDER);
    this.#size = database.prepare("SELECT count(*) AS size FROM queue");
  }

  /** Nothing when `after` is not in the journal. */
  list({ after, limit }: { after?: string; limit: number }): QueuedCall[] {
    const atMost = Math.max(0, limit);
    const rows = after === undefined ? this.#list.all(atMost) : this.#listAfter.all(after, atMost);
    return rows.map(placeOf);
  }

  size(): number {
    return Number(this.#size.get()?.size);
  }

  order(callId: string): string | undefined {
    const order = this.#order.get(callId)?.call_order;
    return typeof order === "string" ? order : undefined;
  }
}

/** A row of those columns. */
export function placeOf(row: Record<string, SQLOutputValue>): QueuedCall {
  return {
    callId: String(row.call_id),
    tenant: String(row.tenant_id),
    agent: String(row.agent_did),
    tool: String(row.tool_id),
    priority: String(row.priority) as Priority,
    queuedAt: Number(row.queued_at),
  };
}
