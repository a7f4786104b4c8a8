import type { ToolResultTurn, ToolUseTurn, Turn } from "@sallyport/loop";

/** Which result is whose. Ids of calls may repeat (`call_0`): a result belongs to the first call that lacks one. */
export function resultsByCall(turns: readonly Turn[]): Map<ToolUseTurn, ToolResultTurn> {
  const waiting = new Map<string, ToolUseTurn[]>();
  const results = new Map<ToolUseTurn, ToolResultTurn>();
  for (const turn of turns) {
    if (turn.kind === "tool_use") waiting.set(turn.id, [...(waiting.get(turn.id) ?? []), turn]);
    if (turn.kind !== "tool_result") continue;
    const call = waiting.get(turn.id)?.shift();
    if (call) results.set(call, turn);
  }
  return results;
}
