/**
 * What persons and issuers decided: approvals, grants and revoked tokens; and versions that are kept away from callers.
 * A record is one JSON text, because no query asks for its fields; beside it stand only the columns that reads and
 * checks need. The order behind an approval has a column of its own, so that it can be forgotten while the record
 * stays. A token's name is kept as JSON, because a token may bring text that UTF-8 cannot hold.
 */
export const SECOND_SCHEMA = `
ALTER TABLE tool_versions ADD COLUMN quarantine TEXT;

CREATE TABLE approvals (
  position INTEGER PRIMARY KEY,
  approval_id TEXT NOT NULL UNIQUE,
  call_id TEXT NOT NULL,
  tenant_id TEXT NOT NULL,
  state TEXT NOT NULL,
  revision INTEGER NOT NULL,
  record TEXT NOT NULL,
  call_order TEXT
);
CREATE INDEX approvals_by_call ON approvals (call_id);
CREATE INDEX approvals_by_tenant ON approvals (tenant_id);
CREATE INDEX approvals_open ON approvals (state) WHERE state IN ('pending', 'approved', 'edited', 'reserved');

CREATE TABLE grants (
  position INTEGER PRIMARY KEY,
  grant_id TEXT NOT NULL UNIQUE,
  revision INTEGER NOT NULL,
  record TEXT NOT NULL,
  uses INTEGER NOT NULL,
  last_used_at INTEGER
);

CREATE TABLE token_revocations (
  position INTEGER PRIMARY KEY,
  jti TEXT NOT NULL UNIQUE,
  record TEXT NOT NULL
);
`;
