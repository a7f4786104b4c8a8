/**
 * Records: small documents that the server keeps here instead of in files. Expired ones are deleted, a few at a time,
 * by later writes of records.
 *
 * The outbox carries the events themselves, and each sink takes them at its own pace: a row holds the batches of one
 * transaction, and `outbox_due` says which of them a sink has yet to take (`places`; null: all of them).
 *
 * Tool versions count their writes, and the newest changes of tools and grants are found by number, so that other
 * readers take over what they have not seen.
 *
 * Several instances on one store. The instances with their leases; who holds a queued call or an approval, and until when;
 * calls that somebody asked to cancel. A queued call's urgency is a number, so that one index gives the order in which
 * calls are claimed and says who holds them.
 *
 * The audit chain has strands: `strand` is part of its key, and what was written before is strand 0. Rows of the audit keep
 * their lines as they are, byte for byte; the tables are made anew only because their keys change.
 *
 * State is kept by time: a version that a newer one took the place of, or that is a deletion, is outdated from then on
 * (`outdated_at`, by the version `outdated_by`) and is deleted after the retention. Snapshots below a scope's `floor` may
 * miss something.
 */
export const FIFTH_SCHEMA = `
CREATE TABLE records (
  kind TEXT NOT NULL,
  id TEXT NOT NULL,
  body TEXT NOT NULL,
  revision INTEGER NOT NULL,
  expires_at INTEGER,
  PRIMARY KEY (kind, id)
) WITHOUT ROWID;
CREATE INDEX records_expired ON records (expires_at) WHERE expires_at IS NOT NULL;

ALTER TABLE outbox RENAME TO outbox_messages;

CREATE TABLE outbox (
  position INTEGER PRIMARY KEY,
  sinks TEXT NOT NULL,
  batches TEXT NOT NULL
);

CREATE TABLE outbox_due (
  sink TEXT NOT NULL,
  position INTEGER NOT NULL REFERENCES outbox (position),
  written_at INTEGER NOT NULL,
  batches INTEGER NOT NULL,
  places TEXT,
  PRIMARY KEY (sink, position)
) WITHOUT ROWID;

ALTER TABLE tool_versions ADD COLUMN revision INTEGER NOT NULL DEFAULT 1;
ALTER TABLE tool_versions ADD COLUMN change INTEGER NOT NULL DEFAULT 0;
UPDATE tool_versions SET change = position;
CREATE UNIQUE INDEX tool_versions_changed ON tool_versions (change);

ALTER TABLE grants ADD COLUMN change INTEGER NOT NULL DEFAULT 0;
UPDATE grants SET change = position;
CREATE UNIQUE INDEX grants_changed ON grants (change);

CREATE TABLE instances (
  instance_id TEXT PRIMARY KEY,
  slot INTEGER NOT NULL,
  expires_at REAL NOT NULL,
  started_at INTEGER NOT NULL,
  about TEXT NOT NULL
) WITHOUT ROWID;

ALTER TABLE queue ADD COLUMN urgency INTEGER NOT NULL DEFAULT 1;
ALTER TABLE queue ADD COLUMN claimed_by TEXT;
UPDATE queue SET urgency = CASE priority WHEN 'low' THEN 0 WHEN 'high' THEN 2 ELSE 1 END;
CREATE INDEX queue_by_urgency ON queue (urgency DESC, queued_at, call_id, claimed_by);

ALTER TABLE approvals ADD COLUMN expires_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE approvals ADD COLUMN unattended INTEGER NOT NULL DEFAULT 0;
ALTER TABLE approvals ADD COLUMN claimed_by TEXT;
ALTER TABLE approvals ADD COLUMN held_until REAL NOT NULL DEFAULT 0;
UPDATE approvals SET expires_at = record ->> '$.expiresAt',
  unattended = CASE WHEN json_valid(call_order) THEN coalesce(call_order ->> '$.unattended', 0) ELSE 0 END;

CREATE TABLE cancellations (
  call_id TEXT PRIMARY KEY,
  held_until REAL NOT NULL
) WITHOUT ROWID;

ALTER TABLE audit RENAME TO audit_of_one_strand;
CREATE TABLE audit (
  position INTEGER PRIMARY KEY,
  tenant_id TEXT NOT NULL,
  strand INTEGER NOT NULL,
  first_sequence INTEGER NOT NULL,
  last_sequence INTEGER NOT NULL,
  lines TEXT NOT NULL,
  UNIQUE (tenant_id, strand, last_sequence)
);
INSERT INTO audit (position, tenant_id, strand, first_sequence, last_sequence, lines)
  SELECT position, tenant_id, 0, first_sequence, last_sequence, lines FROM audit_of_one_strand ORDER BY position;
DROP TABLE audit_of_one_strand;

ALTER TABLE audit_heads RENAME TO heads_of_one_strand;
CREATE TABLE audit_heads (
  tenant_id TEXT NOT NULL,
  strand INTEGER NOT NULL,
  sequence INTEGER NOT NULL,
  hash TEXT NOT NULL,
  PRIMARY KEY (tenant_id, strand)
) WITHOUT ROWID;
INSERT INTO audit_heads (tenant_id, strand, sequence, hash)
  SELECT tenant_id, 0, sequence, hash FROM heads_of_one_strand;
DROP TABLE heads_of_one_strand;

ALTER TABLE state_scopes ADD COLUMN floor INTEGER NOT NULL DEFAULT 0;
ALTER TABLE state ADD COLUMN outdated_at INTEGER;
ALTER TABLE state ADD COLUMN outdated_by INTEGER;
UPDATE state SET outdated_at = 0, outdated_by = version WHERE value IS NULL;
UPDATE state SET outdated_at = 0, outdated_by = (
    SELECT min(version) FROM state AS newer
    WHERE newer.scope_id = state.scope_id AND newer.key = state.key AND newer.version > state.version)
  WHERE value IS NOT NULL AND EXISTS (SELECT 1 FROM state AS newer
    WHERE newer.scope_id = state.scope_id AND newer.key = state.key AND newer.version > state.version);
DROP INDEX state_deletions;
CREATE INDEX state_outdated ON state (outdated_at) WHERE outdated_at IS NOT NULL;
`;
