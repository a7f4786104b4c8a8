import type { ToolResultTurn, ToolUseTurn, Turn } from "@sallyport/loop";
import { resultsByCall } from "../../results-by-call.ts";
import type { Entry, ShownCall } from "./screen-state.ts";

/** Turns of an earlier conversation that are shown when it is taken up again. */
const SHOWN_TURNS = 100;
const LONGEST_SUMMARY = 200;

/**
 * What was said before, as entries; a call stands where the model made it, with what it came to. Calls that somebody is
 * asked about right now, because they were interrupted, are left to that question.
 */
export function historyEntries(turns: readonly Turn[], asked: ReadonlySet<string> = new Set()): Entry[] {
  const hidden = Math.max(0, turns.length - SHOWN_TURNS);
  const results = resultsByCall(turns);
  const isAsked = (turn: Turn) => turn.kind === "tool_use" && asked.has(turn.id) && !results.has(turn);
  const told = turns.slice(hidden).filter((turn) => !isAsked(turn));
  const entries = told.flatMap((turn, index) => turnEntries(turn, index, results));
  if (hidden === 0) return entries;
  return [{ kind: "notice", level: "info", text: `${hidden} earlier entries are not shown.` }, ...entries];
}

type Results = ReadonlyMap<ToolUseTurn, ToolResultTurn>;

function turnEntries(turn: Turn, index: number, results: Results): Entry[] {
  if (turn.kind === "tool_result" || turn.kind === "reasoning") return [];
  if (turn.kind === "user") return [{ kind: "user", text: turn.text }];
  if (turn.kind === "assistant") return [{ kind: "assistant", text: turn.text, first: true }];
  return [{ kind: "call", call: pastCall(turn, index, results) }];
}

function pastCall(turn: ToolUseTurn, index: number, results: Results): ShownCall {
  const { id, name, arguments: given } = turn;
  const result = results.get(turn);
  const said = result?.isError ? (result.content.trim().split("\n", 1)[0] ?? "") : "";
  return {
    index,
    id,
    name,
    summary: given.slice(0, LONGEST_SUMMARY),
    standing: result ? { state: "completed", isError: result.isError, said } : { state: "pending" },
    files: [],
    moreFiles: 0,
    tail: [],
    lineCount: 0,
  };
}
