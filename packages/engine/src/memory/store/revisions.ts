/** A write of a record that counts its writes. */
export interface RevisedWrite {
  id: string;
  revision: number;
  /** The revision it was made on; undefined for a new record. */
  expect: number | undefined;
}

/** Throws when the revision is not the one after what the write expects: a mistake of the writer, never a race. */
export function requireNextRevision({ id, revision, expect }: RevisedWrite): void {
  if (revision === (expect ?? 0) + 1) return;
  throw new RangeError(
    `The write of ${id} on revision ${expect ?? "none"} calls itself revision ${revision}.`,
  );
}

/** The first id whose write was made on an older revision; each write is taken to follow those before it. */
export function firstStale(
  writes: readonly RevisedWrite[],
  stored: (id: string) => number | undefined,
): string | undefined {
  const written = new Map<string, number>();
  const stale = writes.find(({ id, revision, expect }) => {
    if ((written.get(id) ?? stored(id)) !== expect) return true;
    written.set(id, revision);
    return false;
  });
  return stale?.id;
}
