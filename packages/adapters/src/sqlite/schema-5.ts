/**
 * Records: small documents that the server keeps here instead of in files. Expired ones are deleted, a few at a time,
 * by later writes of records.
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
`;
