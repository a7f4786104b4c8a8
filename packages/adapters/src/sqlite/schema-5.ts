/**
 * Records: small documents that the server keeps here instead of in files. Expired ones are deleted, a few at a time,
 * by later writes of records.
 *
 * The outbox carries the events themselves, and each sink takes them at its own pace: a row holds the batches of one
 * transaction, and `outbox_due` says which of them a sink has yet to take (`places`; null: all of them).
 *
 * Tool versions count their writes, and the newest changes of tools and grants are found by number, so that other
 * readers take over what they have not seen.
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
`;
