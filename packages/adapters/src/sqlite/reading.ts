import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import type { Changes } from "@sallyport/engine/ports";
import type { Row } from "../store-rows/rows.ts";

/** A port whose methods answer at once, as node:sqlite does. */
export type Sync<Port> = {
  [Method in keyof Port]: Port[Method] extends ((...args: infer Args) => Promise<infer Result>) | undefined
    ? (...args: Args) => Result
    : never;
};

/** One statement for each text, prepared on first use. */
export function preparedOnce(database: DatabaseSync): (sql: string) => StatementSync {
  const statements = new Map<string, StatementSync>();
  return (sql) => {
    const known = statements.get(sql);
    if (known) return known;
    const statement = database.prepare(sql);
    // Named parameters that a statement does not have are passed over.
    statement.setAllowUnknownNamedParameters(true);
    statements.set(sql, statement);
    return statement;
  };
}

/** A condition of a list; without values it is left out. */
export type Condition = [sql: string, values: SQLInputValue[] | undefined];

/** The conditions that have values, as one clause that begins with WHERE, and the values. */
export function whereClause(conditions: readonly Condition[]): { where: string; values: SQLInputValue[] } {
  const used = conditions.filter(([, values]) => values !== undefined);
  const where = used.length === 0 ? "" : `WHERE ${used.map(([sql]) => sql).join(" AND ")}`;
  return { where, values: used.flatMap(([, values]) => values ?? []) };
}

/**
 * What a statement finds behind the cursor, with the cursor for the next question: the highest `change` so far. There is
 * one writer, so changes become visible in the order of their numbers.
 */
export function changesOf<Changed>(
  statement: StatementSync,
  cursor: string | undefined,
  of: (row: Row) => Changed,
): Changes<Changed> {
  const after = Number(cursor ?? 0);
  const rows = statement.all(after);
  const newest = rows.reduce((highest, { change }) => Math.max(highest, Number(change)), after);
  return { changed: rows.map(of), cursor: String(newest) };
}
