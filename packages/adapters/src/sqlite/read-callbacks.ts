import type { DatabaseSync, SQLOutputValue, StatementSync } from "node:sqlite";
import type { Callback, CallbackState } from "@sallyport/engine/ports";

/** What a callback is made of. */
export const CALLBACK_COLUMNS = "call_id, tenant_id, url, state, attempts, due_at, problem";

const GET_CALLBACK = `SELECT ${CALLBACK_COLUMNS} FROM callbacks WHERE call_id = ?`;

/** Reads callbacks, synchronously. */
export class CallbackReads {
  readonly #ofCall: StatementSync;

  constructor(database: DatabaseSync) {
    this.#ofCall = database.prepare(GET_CALLBACK);
  }

  ofCall(callId: string): Callback | undefined {
    const row = this.#ofCall.get(callId);
    return row && callbackOf(row);
  }
}

/** A row of those columns. */
export function callbackOf(row: Record<string, SQLOutputValue>): Callback {
  return {
    callId: String(row.call_id),
    tenant: String(row.tenant_id),
    url: String(row.url),
    state: String(row.state) as CallbackState,
    attempts: Number(row.attempts),
    dueAt: Number(row.due_at),
    ...(typeof row.problem === "string" && { problem: row.problem }),
  };
}
