import type { DatabaseSync } from "node:sqlite";

const FIND_CALLBACK = "SELECT attempts, state FROM callbacks WHERE call_id = ?";

const INSERT_CALLBACK = `INSERT INTO callbacks (call_id, tenant_id, url, state, attempts, due_at, problem)
  VALUES (?, ?, ?, ?, ?, ?, ?)`;

const UPDATE_CALLBACK = `UPDATE callbacks
  SET tenant_id = ?2, url = ?3, state = ?4, attempts = ?5, due_at = ?6, problem = ?7 WHERE call_id = ?1`;

/** The statements that write callbacks, and the one their check needs. */
export function prepareCallbackStatements(database: DatabaseSync) {
  return {
    findCallback: database.prepare(FIND_CALLBACK),
    insertCallback: database.prepare(INSERT_CALLBACK),
    updateCallback: database.prepare(UPDATE_CALLBACK),
  };
}
