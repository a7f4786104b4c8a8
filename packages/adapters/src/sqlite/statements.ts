import type { DatabaseSync } from "node:sqlite";
import { SCHEMA_VERSION } from "./migrations.ts";

const FIND_APPROVAL = "SELECT revision FROM approvals WHERE approval_id = ?";

const INSERT_APPROVAL = `INSERT INTO approvals (
    approval_id, state, revision, record, expires_at, call_order, unattended, call_id, tenant_id, created_at)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

/** Its call and its tenant stay those it was first written with. Nobody holds it any more. */
const UPDATE_APPROVAL = `UPDATE approvals
  SET state = ?2, revision = ?3, record = ?4, expires_at = ?5, claimed_by = NULL, held_until = 0
  WHERE approval_id = ?1`;

const PUT_ORDER = "UPDATE approvals SET call_order = ?2 WHERE approval_id = ?1";

const FIND_GRANT = "SELECT revision FROM grants WHERE grant_id = ?";

const NEXT_GRANT_CHANGE = "(SELECT coalesce(max(change), 0) + 1 FROM grants)";

const INSERT_GRANT = `INSERT INTO grants (grant_id, revision, record, uses, last_used_at, change)
  VALUES (?, ?, ?, ?, ?, ${NEXT_GRANT_CHANGE})`;

/** The counts belong to the row, not to the record: a writer's are not taken over. */
const UPDATE_GRANT = `UPDATE grants SET revision = ?2, record = ?3, change = ${NEXT_GRANT_CHANGE}
  WHERE grant_id = ?1`;

const COUNT_USES = `UPDATE grants SET uses = uses + ?2, last_used_at = max(coalesce(last_used_at, ?3), ?3)
  WHERE grant_id = ?1`;

const USES_OF = "SELECT uses FROM grants WHERE grant_id = ?";

const NTH_NEWEST_USE =
  "SELECT used_at FROM grant_uses WHERE grant_id = ?1 ORDER BY used_at DESC LIMIT 1 OFFSET ?2 - 1";

const INSERT_USE = "INSERT INTO grant_uses (grant_id, call_id, used_at) VALUES (?, ?, ?)";

const FORGET_USES = "DELETE FROM grant_uses WHERE grant_id = ? AND used_at <= ?";

const RETURN_USE = "UPDATE grants SET uses = max(0, uses - 1) WHERE grant_id = ?";

const DELETE_USE = "DELETE FROM grant_uses WHERE grant_id = ? AND call_id = ?";

const INSERT_REVOCATION = "INSERT INTO token_revocations (jti, record) VALUES (?, ?) ON CONFLICT DO NOTHING";

/** The statements that write approvals, grants and revocations, and those their checks need. */
function preparePermitStatements(database: DatabaseSync) {
  return {
    findApproval: database.prepare(FIND_APPROVAL),
    insertApproval: database.prepare(INSERT_APPROVAL),
    updateApproval: database.prepare(UPDATE_APPROVAL),
    putOrder: database.prepare(PUT_ORDER),
    findGrant: database.prepare(FIND_GRANT),
    insertGrant: database.prepare(INSERT_GRANT),
    updateGrant: database.prepare(UPDATE_GRANT),
    countUses: database.prepare(COUNT_USES),
    usesOf: database.prepare(USES_OF),
    nthNewestUse: database.prepare(NTH_NEWEST_USE),
    insertUse: database.prepare(INSERT_USE),
    forgetUses: database.prepare(FORGET_USES),
    returnUse: database.prepare(RETURN_USE),
    deleteUse: database.prepare(DELETE_USE),
    insertRevocation: database.prepare(INSERT_REVOCATION),
  };
}

const FIND_CALLBACK = "SELECT attempts, state FROM callbacks WHERE call_id = ?";

const INSERT_CALLBACK = `INSERT INTO callbacks (call_id, tenant_id, url, state, attempts, due_at, problem)
  VALUES (?, ?, ?, ?, ?, ?, ?)`;

const UPDATE_CALLBACK = `UPDATE callbacks
  SET tenant_id = ?2, url = ?3, state = ?4, attempts = ?5, due_at = ?6, problem = ?7 WHERE call_id = ?1`;

/** The statements that write callbacks, and the one their check needs. */
function prepareCallbackStatements(database: DatabaseSync) {
  return {
    findCallback: database.prepare(FIND_CALLBACK),
    insertCallback: database.prepare(INSERT_CALLBACK),
    updateCallback: database.prepare(UPDATE_CALLBACK),
  };
}

const FIND_RECORD = `SELECT revision FROM records
  WHERE kind = ?1 AND id = ?2 AND (expires_at IS NULL OR expires_at > ?3)`;

/** One that has expired counts as none: its successor begins anew. */
const PUT_RECORD = `INSERT INTO records (kind, id, body, revision, expires_at) VALUES (?1, ?2, ?3, 1, ?4)
  ON CONFLICT DO UPDATE SET body = ?3, expires_at = ?4,
    revision = CASE WHEN expires_at <= ?5 THEN 1 ELSE revision + 1 END`;

const DELETE_RECORD = "DELETE FROM records WHERE kind = ? AND id = ?";

const FORGET_EXPIRED = `DELETE FROM records WHERE (kind, id) IN (
  SELECT kind, id FROM records INDEXED BY records_expired WHERE expires_at <= ? ORDER BY expires_at LIMIT 64)`;

/** The statements that write records, and the one their check needs. */
function prepareRecordStatements(database: DatabaseSync) {
  return {
    findRecord: database.prepare(FIND_RECORD),
    putRecord: database.prepare(PUT_RECORD),
    deleteRecord: database.prepare(DELETE_RECORD),
    forgetExpired: database.prepare(FORGET_EXPIRED),
  };
}

const FIND_PHASE = "SELECT phase FROM tool_invocations WHERE invocation_id = ?";

const FIND_CALL = "SELECT phase, tenant_id, idempotency_key FROM tool_invocations WHERE invocation_id = ?";

const FIND_KEY = `SELECT invocation_id FROM tool_invocations
  WHERE tenant_id = ? AND agent_did = ? AND idempotency_key = ?`;

const INSERT_CALL = `INSERT INTO tool_invocations (
    invocation_id, tenant_id, agent_did, idempotency_key, session_id, tool_id, tool_version, parameters, facts,
    started_at, phase, status, completed_at, output_hash, answer, timeline, receipt)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT DO NOTHING`;

/** A key, its digest and a callback that the intent does not bring, and the receipt without a new one, stay as they are. */
const BEGIN_CALL = `UPDATE tool_invocations
  SET agent_did = ?3, idempotency_key = coalesce(?4, idempotency_key), session_id = ?5, tool_id = ?6,
    tool_version = ?7, parameters = ?8, phase = 'executing', status = NULL,
    completed_at = NULL, output_hash = NULL, answer = NULL, timeline = NULL, receipt = coalesce(?10, receipt),
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
    output_hash = coalesce(?5, output_hash), timeline = coalesce(?8, timeline), receipt = coalesce(?9, receipt),
    answer = CASE WHEN ?6 IS NULL THEN answer
      WHEN phase IN ('waiting', 'queued') THEN substr(?6, 1, length(?6) - 1) || ',' || substr(?7, 2) ELSE ?6 END
  WHERE invocation_id = ?1`;

const ENQUEUE = `INSERT INTO queue (
    position, call_id, tenant_id, agent_did, tool_id, priority, queued_at, call_order, urgency, claimed_by)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

const DEQUEUE = `DELETE FROM queue
  WHERE position = (SELECT position FROM tool_invocations WHERE invocation_id = ?)`;

const FIND_RUN = "SELECT phase, facts ->> '$.runId' AS run_id FROM tool_invocations WHERE invocation_id = ?";

const RERUN_CALL = `UPDATE tool_invocations
  SET facts = json_set(facts, '$.runId', ?2, '$.attempt', ?3), receipt = coalesce(?4, receipt)
  WHERE invocation_id = ?1`;

/** The first reason stays. */
const CANCEL_CALL = `UPDATE tool_invocations
  SET facts = json_insert(facts, '$.cancelReason', json(?2)), receipt = coalesce(?3, receipt)
  WHERE invocation_id = ?1`;

const INSERT_CANCELLATION =
  "INSERT INTO cancellations (call_id, held_until) VALUES (?, 0) ON CONFLICT DO NOTHING";

const FIND_SCOPE = "SELECT scope_id FROM state_scopes WHERE tenant_id = ? AND tool_id = ?";

const RAISE_SCOPE = `INSERT INTO state_scopes (tenant_id, tool_id, version) VALUES (?, ?, 1)
  ON CONFLICT DO UPDATE SET version = version + 1 RETURNING scope_id, version`;

const NEWEST_VERSION = "SELECT max(version) AS version FROM state WHERE scope_id = ? AND key = ?";

const INSERT_STATE = `INSERT INTO state (scope_id, key, version, call_id, value, outdated_at, outdated_by)
  VALUES (?, ?, ?, ?, ?, ?, ?)`;

/** A deletion is outdated already, and stays so from its own time. */
const OUTDATE_STATE = `UPDATE state SET outdated_at = ?3, outdated_by = ?4
  WHERE scope_id = ?1 AND key = ?2 AND outdated_at IS NULL`;

const LIST_OUTDATED = `SELECT scope_id, key, version, outdated_by FROM state INDEXED BY state_outdated
  WHERE outdated_at <= ? ORDER BY outdated_at, version LIMIT 64`;

const DELETE_VERSION = "DELETE FROM state WHERE scope_id = ? AND key = ? AND version = ?";

const RAISE_FLOOR = "UPDATE state_scopes SET floor = max(floor, ?2) WHERE scope_id = ?1";

const PUT_DEFINITION = `INSERT INTO tool_definitions (
    tool_id, tool_name, description, category, tags, latest_version, source_type, created_at, updated_at)
  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8)
  ON CONFLICT DO UPDATE SET tool_name = ?2, description = ?3, category = ?4, tags = ?5, latest_version = ?6,
    source_type = ?7, updated_at = ?8 WHERE ?8 >= updated_at`;

const FIND_VERSION = "SELECT revision FROM tool_versions WHERE tool_id = ? AND version = ?";

const PUT_VERSION = `INSERT INTO tool_versions (
    tool_id, version, manifest, manifest_hash, retirement, module, created_at, quarantine, revision, change)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, (SELECT coalesce(max(change), 0) + 1 FROM tool_versions))
  ON CONFLICT (tool_id, version) DO UPDATE SET retirement = excluded.retirement, module = excluded.module,
    quarantine = excluded.quarantine, revision = excluded.revision, change = excluded.change`;

const FIND_HEAD = "SELECT sequence, hash FROM audit_heads WHERE tenant_id = ? AND strand = ?";

const PUT_HEAD = `INSERT INTO audit_heads (tenant_id, strand, sequence, hash) VALUES (?1, ?2, ?3, ?4)
  ON CONFLICT DO UPDATE SET sequence = ?3, hash = ?4`;

const INSERT_AUDIT = `INSERT INTO audit (tenant_id, strand, first_sequence, last_sequence, lines)
  VALUES (?, ?, ?, ?, ?)`;

/** The statements that write the outbox, and those its upkeep needs. */
function prepareOutboxStatements(database: DatabaseSync) {
  return {
    lastPosition: database.prepare("SELECT max(position) AS position FROM outbox"),
    insertOutbox: database.prepare("INSERT INTO outbox (position, sinks, batches) VALUES (?, ?, ?)"),
    findSinks: database.prepare("SELECT sinks FROM outbox WHERE position = ?"),
    deleteOutbox: database.prepare("DELETE FROM outbox WHERE position = ?"),
    insertDue: database.prepare(
      "INSERT INTO outbox_due (sink, position, written_at, batches) VALUES (?, ?, ?, ?)",
    ),
    findDue: database.prepare("SELECT batches, places FROM outbox_due WHERE sink = ? AND position = ?"),
    shortenDue: database.prepare(
      "UPDATE outbox_due SET batches = ?, places = ? WHERE sink = ? AND position = ?",
    ),
    deleteDue: database.prepare("DELETE FROM outbox_due WHERE sink = ? AND position = ?"),
  };
}

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
    findRun: database.prepare(FIND_RUN),
    rerunCall: database.prepare(RERUN_CALL),
    cancelCall: database.prepare(CANCEL_CALL),
    insertCancellation: database.prepare(INSERT_CANCELLATION),
    findScope: database.prepare(FIND_SCOPE),
    raiseScope: database.prepare(RAISE_SCOPE),
    newestVersion: database.prepare(NEWEST_VERSION),
    insertState: database.prepare(INSERT_STATE),
    outdateState: database.prepare(OUTDATE_STATE),
    listOutdated: database.prepare(LIST_OUTDATED),
    deleteVersion: database.prepare(DELETE_VERSION),
    raiseFloor: database.prepare(RAISE_FLOOR),
    putDefinition: database.prepare(PUT_DEFINITION),
    findVersion: database.prepare(FIND_VERSION),
    putVersion: database.prepare(PUT_VERSION),
    findHead: database.prepare(FIND_HEAD),
    putHead: database.prepare(PUT_HEAD),
    insertAudit: database.prepare(INSERT_AUDIT),
    ...prepareOutboxStatements(database),
    ...preparePermitStatements(database),
    ...prepareCallbackStatements(database),
    ...prepareRecordStatements(database),
    probe: database.prepare(`PRAGMA user_version = ${SCHEMA_VERSION}`),
    begin: database.prepare("BEGIN IMMEDIATE"),
    commit: database.prepare("COMMIT"),
    rollback: database.prepare("ROLLBACK"),
  };
}

export type Statements = ReturnType<typeof prepareStatements>;
