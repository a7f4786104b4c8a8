/**
 * Records: small documents that the server keeps here instead of in files. Expired ones are deleted, a few at a time,
 * by later writes of records.
 *
 * The outbox carries the events themselves, and each sink takes them at its own pace: a row holds the batches of one
 * transaction, and `outbox_due` says which of them a sink has yet to take (`places`; null: all of them).
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
`;
