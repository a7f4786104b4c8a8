/**
 * What has changed since a cursor, at least. A change may be told twice: where units do not become visible in the order
 * of their numbers, as in PostgreSQL, a store goes back far enough that none is missed. Readers compare revisions.
 */
export interface Changes<Changed> {
  changed: Changed[];
  /** Given to the next question. Its text means something to the store alone. */
  cursor: string;
}
