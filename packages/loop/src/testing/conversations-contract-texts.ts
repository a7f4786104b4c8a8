import { describe, expect, it } from "vitest";
import type { Turn } from "../conversations-port.ts";
import {
  begun,
  contentOf,
  type OpenConversations,
  sampleConversation,
  sampleTurns,
  streaming,
} from "./conversations-contract-samples.ts";

const MIB = 1024 * 1024;

/** Texts that keepers tend to change on the way. */
const ODD: [string, string][] = [
  ["an empty text", ""],
  ["half a character", "a\ud800b\udc00"],
  ["halves in the wrong order", "\udc00\ud800"],
  ["NUL", "a\u0000b\u0000"],
  ["line separators", "a\u2028b\u2029c\r\n\u0085"],
  ["a replacement and a byte order mark", "\ufeff\ufffd"],
  ["quotes and backslashes", `"'\\u0041\\"`],
  ["what looks like a number or nothing", "0123"],
  ["whole characters beyond the first plane", "😀𝒳"],
  ["a mebibyte", `${"x".repeat(MIB - 2)}\ud83d`],
];

/** Texts come back exactly, and values are copies. */
export function conversationTextsContract(open: OpenConversations): void {
  describe("odd texts", () => {
    it.each(ODD)("come back exactly, in a turn and in a batch: %s [FR-RES-01] [FR-RES-04]", (_, text) =>
      everywhere(open, text),
    );

    it.each(ODD.slice(0, 9))(
      "come back exactly, in records, ids and reads: %s [FR-RES-01]",
      async (_, text) => {
        const { conversations } = await open();
        const record = sampleConversation({ conversationId: text, model: text, cwd: text, title: text });
        await conversations.create(record);
        expect(await conversations.get(text)).toEqual(record);
        await conversations.update(text, { title: `${text}!`, at: 1 });
        expect((await conversations.list({ limit: 1 }))[0]?.title).toBe(`${text}!`);
        expect(
          await conversations.journal.open({ batchId: text, conversationId: text, model: text, at: 1 }),
        ).toBe(true);
        expect(await conversations.journal.openOf(text)).toMatchObject({ batchId: text, model: text });
        await conversations.reads.note(text, { path: text, sha256: text, at: 1 });
        expect(await conversations.reads.find(text, text)).toEqual({ path: text, sha256: text, at: 1 });
      },
    );

    it("do not make two ids one [FR-RES-01]", async () => {
      const { conversations } = await open();
      const ids = ["\ud800", "\ud801", "\ufffd", "a", "a\u0000", "A", '"a"'];
      for (const conversationId of ids) await conversations.create(sampleConversation({ conversationId }));
      expect(await conversations.list({ limit: 99 })).toHaveLength(ids.length);
    });

    it("are joined from halves of a character that came apart [FR-RES-04]", async () => {
      const { conversations } = await open();
      const deltas = ["\ud83d", "\ude00"].map((delta) => ({ kind: "text", delta }) as const);
      const { conversationId } = await streaming(conversations, deltas);
      expect((await conversations.journal.openOf(conversationId))?.text).toBe("😀");
    });
  });
  describe("values", () => copyTests(open));
}

async function everywhere(open: OpenConversations, text: string): Promise<void> {
  const { conversations } = await open();
  const { journal } = conversations;
  const { conversationId, batchId } = await streaming(conversations, [
    { kind: "text", delta: text },
    { kind: "call", index: 0, id: text, name: text },
    { kind: "arguments", index: 0, delta: text },
  ]);
  const call = { index: 0, id: text, name: text };
  expect(await journal.openOf(conversationId)).toMatchObject({ text, calls: [{ ...call, arguments: text }] });
  const turns: Turn[] = [
    { kind: "user", text, at: 1 },
    { kind: "assistant", text, at: 1, meta: { [text]: text } },
    { kind: "tool_use", id: text, name: text, arguments: text, at: 1 },
    { kind: "tool_result", id: text, name: text, isError: true, content: text, at: 1 },
  ];
  await journal.seal(batchId, { turns, calls: [{ index: 0, arguments: `${text}.`, callId: text }] });
  const result = { isError: true, content: text, at: 2 };
  await journal.result(batchId, 0, result);
  const calls = [{ ...call, arguments: `${text}.`, callId: text, result }];
  expect(await journal.openOf(conversationId)).toMatchObject({ text, calls });
  expect(await conversations.turns(conversationId)).toEqual(turns);
}

function copyTests(open: OpenConversations): void {
  it("given are copied: a later change of them changes nothing kept [NFR-REL-01]", async () => {
    const { conversations } = await open();
    const record = sampleConversation({ title: "kept" });
    await conversations.create(record);
    record.title = "changed";
    const turns = sampleTurns();
    await conversations.append(record.conversationId, turns);
    for (const turn of turns) if (turn.kind === "reasoning" || turn.kind === "user") turn.text = "changed";
    const [, reasoning] = turns;
    if (reasoning?.kind === "reasoning") Object.assign(reasoning.meta ?? {}, { signature: "changed" });
    turns.length = 2;
    expect((await conversations.get(record.conversationId))?.title).toBe("kept");
    expect(await conversations.turns(record.conversationId)).toEqual(sampleTurns());
    const read = { path: "/a", sha256: "kept", at: 1 };
    await conversations.reads.note("s", read);
    read.sha256 = "changed";
    expect((await conversations.reads.find("s", "/a"))?.sha256).toBe("kept");
  });

  it("read are copies: a change of them changes nothing kept [NFR-REL-01]", async () => {
    const { conversations } = await open();
    const { journal } = conversations;
    const id = await begun(conversations);
    await conversations.append(id, sampleTurns());
    await journal.open({ batchId: "b", conversationId: id, model: "m", at: 1 });
    await journal.record("b", { kind: "call", index: 0, id: "c", name: "n" });
    await journal.seal("b", { turns: [], calls: [{ index: 0, arguments: "{}", callId: "c" }] });
    await journal.result("b", 0, { isError: false, content: "kept", at: 1 });
    await conversations.reads.note(id, { path: "/a", sha256: "kept", at: 1 });
    const look = async () => [await contentOf(conversations, id), await conversations.list({ limit: 9 })];
    const before = await look();
    spoil(await look());
    expect(await look()).toEqual(before);
  });
}

/** Changes everything within reach. */
function spoil(value: unknown): void {
  if (value === null || typeof value !== "object") return;
  for (const inner of Object.values(value)) spoil(inner);
  for (const key of Object.keys(value)) Reflect.set(value, key, "spoilt");
}
