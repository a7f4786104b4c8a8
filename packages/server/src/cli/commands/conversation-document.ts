import type { OutputSize } from "@sallyport/adapters/spill";
import type { ConversationOutline, OpenBatch, Turn } from "@sallyport/loop";

/** All that is shown of one conversation. */
export interface ShownConversation {
  outline: ConversationOutline;
  turns: readonly Turn[];
  batch: OpenBatch | undefined;
  output: OutputSize;
}

const iso = (at: number): string => new Date(at).toISOString();

/** A row of the list for programs: times as ISO 8601. */
export function outlineDocument({ turns, hasOpenBatch, ...record }: ConversationOutline) {
  const { createdAt, updatedAt } = record;
  return {
    ...record,
    createdAt: iso(createdAt),
    updatedAt: iso(updatedAt),
    messages: turns,
    open: hasOpenBatch,
  };
}

/** A conversation for programs. What providers want back with an entry is theirs, and left out. */
export function conversationDocument({ outline, turns, batch, output }: ShownConversation) {
  return {
    ...outlineDocument(outline),
    keptOutput: output,
    history: turns.map((turn) => {
      const { meta: _meta, ...rest } = { meta: undefined, ...turn };
      return { ...rest, at: iso(turn.at) };
    }),
    openBatch: batch ? batchDocument(batch) : null,
  };
}

function batchDocument({ conversationId: _conversationId, openedAt, calls, ...batch }: OpenBatch) {
  const shown = calls.map(({ result, ...call }) => ({
    ...call,
    ...(result && { result: { ...result, at: iso(result.at) } }),
  }));
  return { ...batch, openedAt: iso(openedAt), calls: shown };
}
