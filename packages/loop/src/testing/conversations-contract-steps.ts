import fc from "fast-check";
import type { Conversations, StreamEntry, Turn } from "../conversations-port.ts";

/** One use of conversations; ids come from small pools, so that steps meet. */
export type ConversationStep =
  | { do: "create"; conversation: string; at: number }
  | { do: "update"; conversation: string; title?: string; at: number }
  | { do: "append"; conversation: string; turns: Turn[] }
  | { do: "note"; conversation: string; sha256: string }
  | { do: "remove"; conversation: string; openToo: boolean }
  | { do: "open"; conversation: string; batch: string; at: number }
  | { do: "record"; batch: string; entry: StreamEntry }
  /** `fits`: with the calls there are, whatever the indexes say. */
  | { do: "seal"; batch: string; turns: Turn[]; indexes: number[]; fits: boolean }
  | { do: "result"; batch: string; index: number; content: string }
  | { do: "close"; batch: string; turns: Turn[] };

const conversation = fc.constantFrom("c0", "c1");
const batch = fc.constantFrom("b0", "b1");
const at = fc.nat(9);
const index = fc.oneof({ weight: 2, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(2) });
const text = fc.string({ unit: "binary", maxLength: 4 });

const turn: fc.Arbitrary<Turn> = fc.oneof(
  fc.record({ kind: fc.constant("user"), text, at }),
  fc.record({
    kind: fc.constant("tool_result"),
    id: text,
    name: text,
    isError: fc.boolean(),
    content: text,
    at,
  }),
);
const turns = fc.array(turn, { maxLength: 3 });

const entry: fc.Arbitrary<StreamEntry> = fc.oneof(
  fc.record({ kind: fc.constant("text"), delta: text }),
  fc.record({ kind: fc.constant("call"), index, id: text, name: text }),
  fc.record({ kind: fc.constant("arguments"), index, delta: text }),
);

const indexes = fc.array(index, { maxLength: 3 });

/** Any step. */
export const conversationStep: fc.Arbitrary<ConversationStep> = fc.oneof(
  { weight: 1, arbitrary: fc.record({ do: fc.constant("create"), conversation, at }) },
  {
    weight: 1,
    arbitrary: fc.record(
      { do: fc.constant("update"), conversation, title: text, at },
      { requiredKeys: ["do", "conversation", "at"] },
    ),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("append"), conversation, turns }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("note"), conversation, sha256: text }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("remove"), conversation, openToo: fc.boolean() }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("open"), conversation, batch, at }) },
  { weight: 8, arbitrary: fc.record({ do: fc.constant("record"), batch, entry }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("seal"), batch, turns, indexes, fits: fc.boolean() }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("result"), batch, index, content: text }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("close"), batch, turns }) },
);

/** What a step came to: its answer, nothing, or `rejected`. */
export type StepOutcome = boolean | "rejected" | undefined;

/** Takes a step; a RangeError is an outcome, anything else is not expected. */
export async function takeStep(conversations: Conversations, step: ConversationStep): Promise<StepOutcome> {
  try {
    const answer = await performStep(conversations, step);
    return typeof answer === "boolean" ? answer : undefined;
  } catch (error) {
    if (error instanceof RangeError) return "rejected";
    throw error;
  }
}

function performStep(conversations: Conversations, step: ConversationStep): Promise<unknown> {
  switch (step.do) {
    case "create": {
      const record = { conversationId: step.conversation, model: "m", cwd: "/", title: "" };
      return conversations.create({ ...record, createdAt: step.at, updatedAt: step.at });
    }
    case "update": {
      const { conversation: id, title, at: when } = step;
      return conversations.update(id, { ...(title !== undefined && { title }), at: when });
    }
    case "append":
      return conversations.append(step.conversation, step.turns);
    case "note":
      return conversations.reads.note(step.conversation, { path: "/a", sha256: step.sha256, at: 1 });
    case "remove":
      return removed(conversations, step);
    default:
      return performBatchStep(conversations, step);
  }
}

async function removed(
  { keeping }: Conversations,
  { conversation: id, openToo }: ConversationStep & { do: "remove" },
): Promise<boolean> {
  return (await keeping.remove([id], { openToo })).includes(id);
}

function performBatchStep(
  { journal }: Conversations,
  step: Extract<ConversationStep, { batch: string }>,
): Promise<unknown> {
  const { batch: batchId } = step;
  switch (step.do) {
    case "open":
      return journal.open({ batchId, conversationId: step.conversation, model: "m", at: step.at });
    case "record":
      return journal.record(batchId, step.entry);
    case "seal": {
      const calls = step.indexes.map((one) => ({ index: one, arguments: `a${one}`, callId: `k${one}` }));
      return journal.seal(batchId, { turns: step.turns, calls });
    }
    case "result":
      return journal.result(batchId, step.index, { isError: false, content: step.content, at: 1 });
    case "close":
      return journal.close(batchId, step.turns);
  }
}
