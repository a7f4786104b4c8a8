import type { SQLOutputValue, StatementSync } from "node:sqlite";
import type { Changes } from "@sallyport/engine/ports";

/**
 * What a statement finds behind the cursor, with the cursor for the next question: the highest `change` so far. There is
 * one writer, so changes become visible in the order of their numbers.
 */
export function changesOf<Changed>(
  statement: StatementSync,
  cursor: string | undefined,
  recordOf: (row: Record<string, SQLOutputValue>) => Changed,
): Changes<Changed> {
  const after = Number(cursor ?? 0);
  const rows = statement.all(after);
  const newest = rows.reduce((highest, { change }) => Math.max(highest, Number(change)), after);
  return { changed: rows.map(recordOf), cursor: String(newest) };
}
