import type { DatabaseSync, SQLOutputValue, StatementSync } from "node:sqlite";
import type { Callback, CallbackState } from "@sallyport/engine/ports";

/** What a callback is made of. */
export const CALLBACK_COLUMNS = "call_id, tenant_id, url, state, attempts, due_at, problem";

/** Of those due at the same time, the one that was written first comes first. */
const LIST_DUE = `SELECT ${CALLBACK_COLUMNS} FROM callbacks INDEXED BY callbacks_due
  WHERE state = 'due' AND due_at <= ? ORDER BY due_at, position LIMIT ?`;

const GET_CALLBACK = `SELECT ${CALLBACK_COLUMNS} FROM callbacks WHERE call_id = ?`;

/** Reads callbacks, synchronously. */
export class CallbackReads {
  readonly #due: StatementSync;
  readonly #ofCall: StatementSync;

  constructor(database: DatabaseSync) {
    this.#due = database.prepare(LIST_DUE);
    this.#ofCall = database.prepare(GET_CALLBACK);
  }

  due(by: number, limit: number): Callback[] {
    return this.#due.all(by, Math.max(0, limit)).map(callbackOf);
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
