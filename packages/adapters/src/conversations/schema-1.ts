/**
 * The first schema. Every text is kept as JSON, because SQLite keeps UTF-8 and a model may send half a character.
 *
 * A batch is kept under its conversation, which has one at most. Its parts are only ever inserted, and deleted together
 * when it closes: `text` and `arguments` as they stream in, `call` as each begins, then `sealed` and `result`, with
 * the number of the call. They are in one table in the order they are read, so that a step changes few pages, because each
 * changed page is written whole.
 */
export const FIRST_SCHEMA = `
CREATE TABLE conversations (
  position INTEGER PRIMARY KEY,
  conversation_id TEXT NOT NULL UNIQUE,
  model TEXT NOT NULL,
  cwd TEXT NOT NULL,
  title TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
);
CREATE INDEX conversations_by_change ON conversations (updated_at);

CREATE TABLE turns (
  conversation INTEGER NOT NULL,
  position INTEGER NOT NULL,
  turn TEXT NOT NULL,
  PRIMARY KEY (conversation, position)
) WITHOUT ROWID;

CREATE TABLE batches (
  conversation INTEGER PRIMARY KEY,
  batch_id TEXT NOT NULL UNIQUE,
  model TEXT NOT NULL,
  phase TEXT NOT NULL,
  opened_at INTEGER NOT NULL
);

CREATE TABLE batch_parts (
  conversation INTEGER NOT NULL,
  part TEXT NOT NULL,
  number INTEGER NOT NULL,
  position INTEGER NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (conversation, part, number, position)
) WITHOUT ROWID;

CREATE TABLE file_reads (
  conversation_id TEXT NOT NULL,
  path TEXT NOT NULL,
  sha256 TEXT NOT NULL,
  read_at INTEGER NOT NULL,
  PRIMARY KEY (conversation_id, path)
) WITHOUT ROWID;
`;
