/**
 * Uses of grants that a rate counts, so that the writer can refuse one too many. Uses that have left every window are
 * deleted by the next use of the same grant.
 */
export const FOURTH_SCHEMA = `
CREATE TABLE grant_uses (
  grant_id TEXT NOT NULL,
  call_id TEXT,
  used_at INTEGER NOT NULL
);
CREATE INDEX grant_uses_by_time ON grant_uses (grant_id, used_at);
`;
