import type { DatabaseSync, SQLOutputValue, StatementSync } from "node:sqlite";
import type { QueuedCall } from "@sallyport/engine/ports";
import type { Priority } from "@sallyport/protocol";

/** What a place in the queue is made of. */
export const QUEUE_COLUMNS = "call_id, tenant_id, agent_did, tool_id, priority, queued_at";

const GET_ORDER = `SELECT call_order FROM queue
  WHERE position = (SELECT position FROM tool_invocations WHERE invocation_id = ?)`;

/** Reads the orders of accepted calls, and how many there are, synchronously. */
export class QueueReads {
  readonly #order: StatementSync;
  readonly #size: StatementSync;

  constructor(database: DatabaseSync) {
    this.#order = database.prepare(GET_ORDER);
    this.#size = database.prepare("SELECT count(*) AS size FROM queue");
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
