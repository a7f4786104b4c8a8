import { randomUUID } from "node:crypto";
import type {
  BatchResult,
  ConversationRecord,
  Conversations,
  StreamEntry,
  Turn,
} from "../conversations-port.ts";

/** Conversations, empty. `reopen` closes them and opens what they left behind; absent when nothing survives. */
export interface ConversationsFixture {
  conversations: Conversations;
  reopen?: () => Promise<Conversations>;
  /** Closes them, also those reopened, and removes every trace. */
  dispose(): Promise<void>;
}

/** Gives a test its own conversations and disposes of them afterwards, however the test ended. */
export type OpenConversations = () => Promise<ConversationsFixture>;

/** Everything that is kept of one conversation. */
export async function contentOf(conversations: Conversations, id: string) {
  return {
    record: await conversations.get(id),
    turns: await conversations.turns(id),
    batch: await conversations.journal.openOf(id),
    read: await conversations.reads.find(id, "/a"),
  };
}

/** A turn that no keeper can write. */
export const UNREADABLE: Turn = {
  kind: "assistant",
  text: "",
  at: 1,
  meta: {
    get broken(): string {
      throw new TypeError("cannot be read");
    },
  },
};

/** A conversation in which nothing was said yet. */
export function sampleConversation(fields: Partial<ConversationRecord> = {}): ConversationRecord {
  return {
    conversationId: randomUUID(),
    model: "house/small",
    cwd: "/home/ada/ledger",
    title: "",
    createdAt: 1_767_225_600_000,
    updatedAt: 1_767_225_600_000,
    ...fields,
  };
}

/** One turn of each kind, in the order in which they come. */
export function sampleTurns(mark = "one"): Turn[] {
  const call = { id: `toolu_${mark}`, name: "read_file" };
  return [
    { kind: "user", text: `What is in ${mark}?`, at: 1 },
    { kind: "reasoning", text: "", at: 2, meta: { signature: "s", parts: [1, null, { deep: true }] } },
    { kind: "assistant", text: "I look.", at: 3, meta: "kept" },
    { kind: "tool_use", ...call, arguments: `{"path":"${mark}"}`, at: 4, meta: null },
    { kind: "tool_result", ...call, isError: false, content: `[File: ${mark}]`, at: 5 },
  ];
}

/** A result that names itself. */
export function sampleResult(content = "done", isError = false): BatchResult {
  return { isError, content, at: 9 };
}

/** A new conversation; gives its id. */
export async function begun(conversations: Conversations): Promise<string> {
  const record = sampleConversation();
  await conversations.create(record);
  return record.conversationId;
}

/** A new conversation with a batch that streams; gives both ids. */
export async function streaming(conversations: Conversations, entries: StreamEntry[] = []) {
  const conversationId = await begun(conversations);
  const batchId = randomUUID();
  await conversations.journal.open({ batchId, conversationId, model: "house/small", at: 7 });
  for (const entry of entries) await conversations.journal.record(batchId, entry);
  return { conversationId, batchId };
}

/** A call that begins, with its arguments in these pieces. */
export function callEntries(index: number, deltas: string[]): StreamEntry[] {
  const begin: StreamEntry = { kind: "call", index, id: `toolu_${index}`, name: `tool_${index}` };
  return [begin, ...deltas.map((delta): StreamEntry => ({ kind: "arguments", index, delta }))];
}

/** What so many calls are sealed with. */
export function sealedCalls(count: number) {
  return Array.from({ length: count }, (_, index) => ({
    index,
    arguments: `{"n":${index}}`,
    callId: `call-${index}`,
  }));
}

/** A new conversation with a sealed batch of so many calls, and no turns. */
export async function sealed(conversations: Conversations, count: number) {
  const entries = Array.from({ length: count }, (_, index) => callEntries(index, ["{}"])).flat();
  const ids = await streaming(conversations, entries);
  await conversations.journal.seal(ids.batchId, { turns: [], calls: sealedCalls(count) });
  return ids;
}
