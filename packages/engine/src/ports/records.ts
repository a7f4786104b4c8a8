/**
 * A small document that a part of the server keeps in the store instead of a file, so that every process has it: a
 * session, a key, a notice, a counter. The store does not read the body. Kind, id and body are well-formed text without
 * U+0000; anything else is a mistake of the writer, and `commit` rejects.
 */
export interface StoredRecord {
  kind: string;
  id: string;
  body: string;
  /** Counts the writes, from 1. A record that was deleted or has expired begins anew. */
  revision: number;
  /** From then on it is not found any more. */
  expiresAt?: number;
}

/** Puts or deletes a record. */
export interface RecordWrite extends Omit<StoredRecord, "revision" | "body"> {
  /** Null deletes it. */
  body: string | null;
  /** The revision the change was made on; 0: there is none; left out: whatever is there. Otherwise refused (`record`). */
  expect?: number;
}

/** Reads records by the store's own clock: one that has expired is not there. */
export interface RecordReader {
  get(kind: string, id: string): Promise<StoredRecord | undefined>;
  /** By id in the order of `byCodePoint`, after the given id. */
  list(kind: string, page: { after?: string; limit: number }): Promise<StoredRecord[]>;
}
