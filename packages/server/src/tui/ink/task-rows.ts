import type { PromptTask } from "../keys/approval-prompt.ts";
import type { StandingScope } from "../standing-scopes.ts";
import { wrapWords } from "../state/cell-width.ts";

/** The mark of the scope that Enter would choose. */
const MARK_CELLS = 2;

/** Each scope in rows: none of its words may hide behind the edge, since it is agreed to. */
export function scopeRows(scopes: readonly StandingScope[], width: number): string[][] {
  return scopes.map(({ label }, index) => wrapWords(`${index + 1} ${label}`, width - MARK_CELLS));
}

/** Rows without which a task cannot be done: the reason's line, or the scope that Enter would choose. */
export function leastTaskRows(doing: PromptTask, width: number): number {
  if (doing.task === "reason" || doing.task === "edit") return 1;
  if (doing.task !== "scope") return 0;
  return Math.max(0, ...scopeRows(doing.scopes, width).map((rows) => rows.length));
}
