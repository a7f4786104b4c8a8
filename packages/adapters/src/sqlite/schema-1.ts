/**
 * The first schema. Rows enter the big tables in the order of their integer key, so a commit touches few pages and
 * newest-first lists need no index on time. What no query asks for is together in `facts`, because each column
 * costs time; what can be computed is in a view, for people, because a generated column would be worked out at
 * every insert. An index is here only when a read of the store needs it.
 */
export const FIRST_SCHEMA = `
CREATE TABLE tool_definitions (
  tool_id TEXT PRIMARY KEY,
  tool_name TEXT NOT NULL,
  description TEXT NOT NULL,
  category TEXT NOT NULL,
  tags TEXT NOT NULL,
  latest_version TEXT NOT NULL,
  source_type TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE tool_versions (
  position INTEGER PRIMARY KEY,
  tool_id TEXT NOT NULL REFERENCES tool_definitions (tool_id),
  version TEXT NOT NULL,
  manifest TEXT NOT NULL,
  manifest_hash TEXT NOT NULL,
  retirement TEXT NOT NULL,
  module TEXT,
  created_at INTEGER NOT NULL,
  UNIQUE (tool_id, version)
);

CREATE TABLE tool_invocations (
  position INTEGER PRIMARY KEY,
  invocation_id TEXT NOT NULL UNIQUE,
  tenant_id TEXT NOT NULL,
  agent_did TEXT NOT NULL,
  idempotency_key TEXT,
  session_id TEXT,
  tool_id TEXT NOT NULL,
  tool_version TEXT NOT NULL,
  parameters TEXT NOT NULL,
  facts TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  phase TEXT NOT NULL,
  status TEXT,
  completed_at INTEGER,
  output_hash TEXT,
  answer TEXT,
  receipt TEXT
);
CREATE INDEX invocations_by_tenant ON tool_invocations (tenant_id);
CREATE INDEX invocations_by_tool ON tool_invocations (tool_id);
CREATE INDEX invocations_open ON tool_invocations (phase) WHERE phase <> 'closed';
CREATE INDEX invocations_unsuccessful ON tool_invocations (status) WHERE status <> 'success';
CREATE UNIQUE INDEX invocations_by_key ON tool_invocations (tenant_id, agent_did, idempotency_key)
  WHERE idempotency_key IS NOT NULL;

CREATE TABLE state_scopes (
  scope_id INTEGER PRIMARY KEY,
  tenant_id TEXT NOT NULL,
  tool_id TEXT NOT NULL,
  version INTEGER NOT NULL,
  UNIQUE (tenant_id, tool_id)
);

CREATE TABLE state (
  scope_id INTEGER NOT NULL REFERENCES state_scopes (scope_id),
  key TEXT NOT NULL,
  version INTEGER NOT NULL,
  call_id TEXT NOT NULL,
  value TEXT,
  PRIMARY KEY (scope_id, key, version)
) WITHOUT ROWID;
CREATE INDEX state_by_call ON state (call_id);
CREATE INDEX state_deletions ON state (scope_id, version) WHERE value IS NULL;

CREATE TABLE audit (
  position INTEGER PRIMARY KEY,
  tenant_id TEXT NOT NULL,
  first_sequence INTEGER NOT NULL,
  last_sequence INTEGER NOT NULL,
  lines TEXT NOT NULL,
  UNIQUE (tenant_id, last_sequence)
);

CREATE TABLE audit_heads (
  tenant_id TEXT PRIMARY KEY,
  sequence INTEGER NOT NULL,
  hash TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE outbox (
  last_position INTEGER PRIMARY KEY,
  lines TEXT NOT NULL
);

CREATE VIEW tool_invocation_details AS
  SELECT *, completed_at - started_at AS duration_ms, answer -> '$.result' AS result,
    answer ->> '$.error.code' AS error_code, answer ->> '$.error.message' AS error_message,
    facts ->> '$.user' AS user_id, facts ->> '$.operation' AS operation, facts ->> '$.owner' AS owner,
    facts ->> '$.attempt' AS attempt, facts ->> '$.inputHash' AS input_hash
  FROM tool_invocations;

CREATE VIEW tool_version_details AS
  SELECT *, manifest ->> '$.compatibilityRange' AS compatibility_range,
    manifest ->> '$.releaseNotes' AS release_notes, retirement ->> '$.replacement' AS deprecated_in_favor_of,
    retirement ->> '$.deprecatedAt' AS deprecated_at, retirement ->> '$.sunsetAt' AS sunset_at,
    retirement ->> '$.removedAt' AS removed_at
  FROM tool_versions;
`;
