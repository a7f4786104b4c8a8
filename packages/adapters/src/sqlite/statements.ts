import type { DatabaseSync } from "node:sqlite";
import { prepareCallbackStatements } from "./callback-statements.ts";
import { preparePermitStatements } from "./permit-statements.ts";

const FIND_PHASE = "SELECT phase FROM tool_invocations WHERE invocation_id = ?";

const FIND_CALL = "SELECT phase, tenant_id, idempotency_key FROM tool_invocations WHERE invocation_id = ?";

const FIND_KEY = `SELECT invocation_id FROM tool_invocations
  WHERE tenant_id = ? AND agent_did = ? AND idempotency_key = ?`;

const INSERT_CALL = `INSERT INTO tool_invocations (
    invocation_id, tenant_id, agent_did, idempotency_key, session_id, tool_id, tool_version, parameters, facts,
    started_at, phase, status, completed_at, output_hash, answer, receipt)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT DO NOTHING`;

/** A key, its digest and a callback that the intent does not bring, and the receipt without a new one, stay as they are. */
const BEGIN_CALL = `UPDATE tool_invocations
  SET agent_did = ?3, idempotency_key = coalesce(?4, idempotency_key), session_id = ?5, tool_id = ?6,
    tool_version = ?7, parameters = ?8, started_at = ?10, phase = 'executing', status = NULL,
    completed_at = NULL, output_hash = NULL, answer = NULL, receipt = coalesce(?11, receipt),
    facts = json_patch(?9, json_object(
      'requestDigest', coalesce(?9 ->> '$.requestDigest', facts ->> '$.requestDigest'),
      'callbackUrl', coalesce(?9 ->> '$.callbackUrl', facts ->> '$.callbackUrl')))
  WHERE invocation_id = ?1 AND tenant_id = ?2`;

/**
 * What a closing does not bring, the receipt included, stays as it is. The answer to a call that never began also
 * keeps what its row may know otherwise: two JSON objects made one by their text.
 */
const CLOSE_CALL = `UPDATE tool_invocations
  SET phase = ?2, status = coalesce(?3, status), completed_at = coalesce(?4, completed_at),
    output_hash = coalesce(?5, output_hash), receipt = coalesce(?8, receipt),
    answer = CASE WHEN ?6 IS NULL THEN answer
      WHEN phase IN ('waiting', 'queued') THEN substr(?6, 1, length(?6) - 1) || ',' || substr(?7, 2) ELSE ?6 END
  WHERE invocation_id = ?1`;

const ENQUEUE = `INSERT INTO queue (
    position, call_id, tenant_id, agent_did, tool_id, priority, queued_at, call_order)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?)`;

const DEQUEUE = `DELETE FROM queue
  WHERE position = (SELECT position FROM tool_invocations WHERE invocation_id = ?)`;

const FIND_SCOPE = "SELECT scope_id FROM state_scopes WHERE tenant_id = ? AND tool_id = ?";

const RAISE_SCOPE = `INSERT INTO state_scopes (tenant_id, tool_id, version) VALUES (?, ?, 1)
  ON CONFLICT DO UPDATE SET version = version + 1 RETURNING scope_id, version`;

const LIST_VERSIONS = "SELECT version FROM state WHERE scope_id = ? AND key = ? ORDER BY version";

const INSERT_STATE = "INSERT INTO state (scope_id, key, version, call_id, value) VALUES (?, ?, ?, ?, ?)";

const DELETE_VERSION = "DELETE FROM state WHERE scope_id = ? AND key = ? AND version = ?";

const LIST_DELETIONS = `SELECT key, version FROM state
  WHERE scope_id = ? AND value IS NULL AND version <= ? ORDER BY version LIMIT 64`;

const DELETE_UP_TO = "DELETE FROM state WHERE scope_id = ? AND key = ? AND version <= ?";

const PUT_DEFINITION = `INSERT INTO tool_definitions (
    tool_id, tool_name, description, category, tags, latest_version, source_type, created_at, updated_at)
  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8)
  ON CONFLICT DO UPDATE SET tool_name = ?2, description = ?3, category = ?4, tags = ?5, latest_version = ?6,
    source_type = ?7, updated_at = ?8 WHERE ?8 >= updated_at`;

const PUT_VERSION = `INSERT INTO tool_versions (
    tool_id, version, manifest, manifest_hash, retirement, module, created_at, quarantine)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT DO UPDATE SET retirement = excluded.retirement, module = excluded.module,
    quarantine = excluded.quarantine`;

const FIND_HEAD = "SELECT sequence, hash FROM audit_heads WHERE tenant_id = ?";

const PUT_HEAD = `INSERT INTO audit_heads (tenant_id, sequence, hash) VALUES (?1, ?2, ?3)
  ON CONFLICT DO UPDATE SET sequence = ?2, hash = ?3`;

const INSERT_AUDIT = `INSERT INTO audit (tenant_id, first_sequence, last_sequence, lines)
  VALUES (?, ?, ?, ?)`;

const LAST_POSITION = "SELECT max(last_position) AS position FROM outbox";

const INSERT_OUTBOX = "INSERT INTO outbox (last_position, lines) VALUES (?, ?)";

/** The newest row stays, emptied, so that a position is never given twice. */
const DELETE_DELIVERED = `DELETE FROM outbox
  WHERE last_position <= ?1 AND last_position < (SELECT max(last_position) FROM outbox)`;

const FIRST_OUTBOX = "SELECT last_position, lines FROM outbox ORDER BY last_position LIMIT 1";

const SHORTEN_OUTBOX = "UPDATE outbox SET lines = ? WHERE last_position = ?";

/** Every statement that writes, and those its checks need, prepared on the writer's connection. */
export function prepareStatements(database: DatabaseSync) {
  return {
    findPhase: database.prepare(FIND_PHASE),
    findCall: database.prepare(FIND_CALL),
    findKey: database.prepare(FIND_KEY),
    insertCall: database.prepare(INSERT_CALL),
    beginCall: database.prepare(BEGIN_CALL),
    closeCall: database.prepare(CLOSE_CALL),
    enqueue: database.prepare(ENQUEUE),
    dequeue: database.prepare(DEQUEUE),
    findScope: database.prepare(FIND_SCOPE),
    raiseScope: database.prepare(RAISE_SCOPE),
    listVersions: database.prepare(LIST_VERSIONS),
    insertState: database.prepare(INSERT_STATE),
    deleteVersion: database.prepare(DELETE_VERSION),
    listDeletions: database.prepare(LIST_DELETIONS),
    deleteUpTo: database.prepare(DELETE_UP_TO),
    putDefinition: database.prepare(PUT_DEFINITION),
    putVersion: database.prepare(PUT_VERSION),
    findHead: database.prepare(FIND_HEAD),
    putHead: database.prepare(PUT_HEAD),
    insertAudit: database.prepare(INSERT_AUDIT),
    lastPosition: database.prepare(LAST_POSITION),
    insertOutbox: database.prepare(INSERT_OUTBOX),
    deleteDelivered: database.prepare(DELETE_DELIVERED),
    firstOutbox: database.prepare(FIRST_OUTBOX),
    shortenOutbox: database.prepare(SHORTEN_OUTBOX),
    ...preparePermitStatements(database),
    ...prepareCallbackStatements(database),
    begin: database.prepare("BEGIN IMMEDIATE"),
    commit: database.prepare("COMMIT"),
    rollback: database.prepare("ROLLBACK"),
  };
}

export type Statements = ReturnType<typeof prepareStatements>;
