import type { OpenBatch, ToolResultTurn, ToolUseTurn, Turn } from "@sallyport/engine";

/** What became of a tool call, as far as the conversation knows. */
export type CallState = "done" | "failed" | "no result" | "waits for its result" | "was coming in";

/** An entry of the history as people read it: a result stands with its call. */
export type Entry =
  | { kind: "words"; turn: Exclude<Turn, ToolUseTurn | ToolResultTurn> }
  | {
      kind: "call";
      id: string;
      name: string;
      arguments: string;
      at: number;
      state: CallState;
      content?: string;
    }
  | { kind: "result"; turn: ToolResultTurn };

/** A history with its open batch, in order. Ids of calls may repeat: a result belongs to the first call that lacks one. */
export function entriesOf(turns: readonly Turn[], batch: OpenBatch | undefined): Entry[] {
  const results = resultsByCall(turns);
  const taken = new Set(results.values());
  const entries = turns.flatMap((turn): Entry[] => {
    if (turn.kind === "tool_use") return [callEntry(turn, { result: results.get(turn), batch })];
    if (turn.kind !== "tool_result") return [{ kind: "words", turn }];
    return taken.has(turn) ? [] : [{ kind: "result", turn }];
  });
  return [...entries, ...comingIn(batch)];
}

function resultsByCall(turns: readonly Turn[]): Map<ToolUseTurn, ToolResultTurn> {
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

function callEntry(
  { id, name, arguments: given, at }: ToolUseTurn,
  { result, batch }: { result: ToolResultTurn | undefined; batch: OpenBatch | undefined },
): Entry {
  const open = result ? undefined : batch?.calls.find((call) => call.id === id);
  const known = result ?? open?.result;
  const call = { kind: "call", id, name, arguments: given, at } as const;
  if (known) return { ...call, state: known.isError ? "failed" : "done", content: known.content };
  return { ...call, state: open ? "waits for its result" : "no result" };
}

/** What a batch that was never sealed holds is in no history yet. */
function comingIn(batch: OpenBatch | undefined): Entry[] {
  if (batch?.phase !== "streaming") return [];
  const { text, openedAt: at, calls } = batch;
  const words: Entry[] = text === "" ? [] : [{ kind: "words", turn: { kind: "assistant", text, at } }];
  const begun = calls.map(({ id, name, arguments: given }): Entry => {
    return { kind: "call", id, name, arguments: given, at, state: "was coming in" };
  });
  return [...words, ...begun];
}
