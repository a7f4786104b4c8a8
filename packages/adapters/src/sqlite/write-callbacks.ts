import type { CallbackRow, Outcome } from "./messages.ts";
import type { Statements } from "./statements.ts";

/**
 * The first callback that was written to meanwhile, or is settled already; nothing has been written then. Each write is
 * taken to follow those before it.
 */
export function callbackConflict(sql: Statements, rows: readonly CallbackRow[]): Outcome | undefined {
  const written = new Map<string, { attempts: number; state: string }>();
  const stale = rows.find(({ expect, cells: [callId, , , state, attempts] }) => {
    const known = written.get(callId) ?? sql.findCallback.get(callId);
    if ((known?.attempts ?? null) !== expect || (known && known.state !== "due")) return true;
    written.set(callId, { attempts, state });
    return false;
  });
  return stale && ["callback", stale.cells[0]];
}

/** Writes what `callbackConflict` found nothing against, in the order it was given. */
export function writeCallbacks(sql: Statements, rows: readonly CallbackRow[]): void {
  for (const { expect, cells } of rows) {
    if (expect === null) sql.insertCallback.run(...cells);
    else sql.updateCallback.run(...cells);
  }
}
