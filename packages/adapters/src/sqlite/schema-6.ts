/**
 * Lists are by time and then by id. Their indexes hold the time alone: rows of one moment are few and sorted when they
 * are read, and every call pays for each byte of an index. A call's timeline stands behind everything else in its row.
 *
 * Checkpoints and embeddings have the columns that PostgreSQL has, so that one reader serves both: times are Unix
 * milliseconds, an embedding is its numbers as 32-bit floats. Nothing writes them yet.
 */
export const SIXTH_SCHEMA = `
DROP INDEX invocations_by_tenant;
DROP INDEX invocations_by_tool;
DROP INDEX invocations_open;
DROP INDEX invocations_unsuccessful;
CREATE INDEX invocations_by_time ON tool_invocations (started_at);
CREATE INDEX invocations_by_tenant ON tool_invocations (tenant_id, started_at, agent_did);
CREATE INDEX invocations_by_tool ON tool_invocations (tool_id, started_at);
CREATE INDEX invocations_open ON tool_invocations (phase, started_at) WHERE phase <> 'closed';
CREATE INDEX invocations_unsuccessful ON tool_invocations (status, started_at) WHERE status <> 'success';
ALTER TABLE tool_invocations ADD COLUMN timeline TEXT;

ALTER TABLE approvals ADD COLUMN created_at INTEGER NOT NULL DEFAULT 0;
UPDATE approvals SET created_at = record ->> '$.createdAt';
DROP INDEX approvals_by_tenant;
DROP INDEX approvals_open;
CREATE INDEX approvals_by_time ON approvals (created_at);
CREATE INDEX approvals_by_tenant ON approvals (tenant_id, created_at);
CREATE INDEX approvals_open ON approvals (state, created_at)
  WHERE state IN ('pending', 'approved', 'edited', 'reserved');

CREATE TABLE tool_checkpoints (
  checkpoint_id TEXT PRIMARY KEY,
  invocation_id TEXT REFERENCES tool_invocations (invocation_id) ON DELETE CASCADE,
  checkpoint_type TEXT NOT NULL,
  checkpoint_label TEXT,
  parent_checkpoint_id TEXT,
  is_delta INTEGER DEFAULT 0,
  state TEXT NOT NULL,
  state_compressed BLOB,
  state_size_bytes INTEGER,
  progress_percent INTEGER,
  current_phase TEXT,
  document_versions TEXT,
  created_at INTEGER,
  expires_at INTEGER,
  archived_at INTEGER
) WITHOUT ROWID;
CREATE INDEX checkpoints_by_call ON tool_checkpoints (invocation_id);
CREATE INDEX checkpoints_by_type ON tool_checkpoints (checkpoint_type);
CREATE INDEX checkpoints_by_expiry ON tool_checkpoints (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE tool_embeddings (
  tool_id TEXT PRIMARY KEY,
  provider TEXT NOT NULL,
  description_embedding BLOB NOT NULL
) WITHOUT ROWID;
`;
