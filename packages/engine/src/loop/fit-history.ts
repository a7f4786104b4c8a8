import type { Turn } from "../ports/conversations.ts";
import { estimateTokens } from "./capacity.ts";
import { promptOf } from "./provider-prompt.ts";

/** What of a history a model is given. */
export interface FittedHistory {
  turns: readonly Turn[];
  /** Messages that are not among them. */
  leftOut: number;
}

/**
 * As much of a history as fits, the newest of it. It is cut only where the person speaks, so that a call never loses its
 * result nor an answer its question; the newest message of the person and what came of it stay, whether they fit or not.
 */
export function fitHistory(turns: readonly Turn[], mostTokens: number): FittedHistory {
  let start = turns.length;
  let tokens = 0;
  for (const [at, turn] of [...turns.entries()].reverse()) {
    tokens += estimateTokens([turn]);
    if (tokens > mostTokens && start < turns.length) break;
    if (turn.kind === "user" || at === 0) start = at;
  }
  return { turns: turns.slice(start), leftOut: promptOf(turns.slice(0, start)).length };
}
