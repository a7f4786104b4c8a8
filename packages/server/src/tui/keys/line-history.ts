import { type Draft, draftOf, EMPTY_DRAFT } from "./draft.ts";

const KEPT = 200;

/** What was entered before, and where in it the person looks; `own`: what they were writing meanwhile. */
export interface LineHistory {
  lines: readonly string[];
  at?: number;
  own: Draft;
}

export const EMPTY_HISTORY: LineHistory = { lines: [], own: EMPTY_DRAFT };

/** Remembers a line; the same one twice in a row is kept once. */
export function remembered({ lines }: LineHistory, line: string): LineHistory {
  const kept = lines.at(-1) === line ? lines : [...lines, line].slice(-KEPT);
  return { lines: kept, own: EMPTY_DRAFT };
}

/** One line back or forward; forward from the last gives back what was being written. */
export function recalled(
  history: LineHistory,
  draft: Draft,
  by: -1 | 1,
): { history: LineHistory; draft: Draft } {
  const { lines, at = lines.length } = history;
  const next = at + by;
  if (next < 0 || next > lines.length) return { history, draft };
  const own = at === lines.length ? draft : history.own;
  if (next === lines.length) return { history: { lines, own: EMPTY_DRAFT }, draft: own };
  return { history: { lines, at: next, own }, draft: draftOf(lines[next] ?? "") };
}
