import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import type { OpenConversations } from "./conversations-contract-samples.ts";
import {
  begun,
  callEntries,
  sampleResult,
  sampleTurns,
  sealed,
  sealedCalls,
  streaming,
} from "./conversations-contract-samples.ts";

/** An open batch from its beginning to its end. */
export function batchContract(open: OpenConversations): void {
  describe("a batch", () => {
    uniquenessTests(open);
    courseTests(open);
  });
}

function uniquenessTests(open: OpenConversations): void {
  it("is the only open one of its conversation, and changes nothing when refused [FR-RES-04]", async () => {
    const { conversations } = await open();
    const { journal } = conversations;
    const { conversationId, batchId } = await streaming(conversations, [{ kind: "text", delta: "Hm" }]);
    const before = await journal.openOf(conversationId);
    expect(before).toMatchObject({ batchId, text: "Hm" });
    const second = { batchId: randomUUID(), conversationId, model: "other", at: 99 };
    expect(await journal.open(second)).toBe(false);
    expect(await journal.open({ ...second, batchId })).toBe(false);
    expect(await journal.openOf(conversationId)).toEqual(before);
    expect(await journal.close(batchId, [])).toBe(true);
    expect(await journal.open(second)).toBe(true);
  });

  it("is opened by one of many that try at once [FR-RES-04]", async () => {
    const { conversations } = await open();
    const ids = [await begun(conversations), await begun(conversations)];
    const tries = Array.from({ length: 20 }, (_, at) => ({
      batchId: `b${at}`,
      conversationId: ids[at % 2] ?? "",
    }));
    const won = await Promise.all(
      tries.map((one, at) => conversations.journal.open({ ...one, model: "m", at })),
    );
    expect(won.filter(Boolean)).toHaveLength(2);
    for (const conversationId of ids) {
      const winner = tries.find((one, at) => won[at] && one.conversationId === conversationId);
      expect(await conversations.journal.openOf(conversationId)).toMatchObject({ batchId: winner?.batchId });
    }
  });

  it("has an id no other open one has, and a conversation that is there [FR-RES-04]", async () => {
    const { conversations } = await open();
    const { batchId } = await streaming(conversations);
    const conversationId = await begun(conversations);
    const opening = { batchId, conversationId, model: "m", at: 1 };
    await expect(conversations.journal.open(opening)).rejects.toThrow(RangeError);
    expect(await conversations.journal.openOf(conversationId)).toBeUndefined();
    const nowhere = { ...opening, batchId: randomUUID(), conversationId: "nobody" };
    await expect(conversations.journal.open(nowhere)).rejects.toThrow(RangeError);
    expect(await conversations.journal.openOf("nobody")).toBeUndefined();
    await conversations.journal.close(batchId, []);
    expect(await conversations.journal.open(opening)).toBe(true);
  });
}

function courseTests(open: OpenConversations): void {
  it("shows what has come in so far, also half of the arguments [FR-RES-04]", async () => {
    const { conversations } = await open();
    const { conversationId, batchId } = await streaming(conversations, [{ kind: "text", delta: "I " }]);
    const { journal } = conversations;
    const [first, second] = [callEntries(0, ['{"path"', ':"a']), callEntries(1, ["{"])];
    for (const entry of [...first, ...second]) await journal.record(batchId, entry);
    await journal.record(batchId, { kind: "arguments", index: 0, delta: '.txt"' });
    await journal.record(batchId, { kind: "text", delta: "look" });
    await journal.record(batchId, { kind: "call", index: 2, id: "toolu_2", name: "tool_2" });
    expect(await journal.openOf(conversationId)).toEqual({
      ...{ batchId, conversationId, model: "house/small", phase: "streaming", openedAt: 7, text: "I look" },
      calls: [
        { index: 0, id: "toolu_0", name: "tool_0", arguments: '{"path":"a.txt"' },
        { index: 1, id: "toolu_1", name: "tool_1", arguments: "{" },
        { index: 2, id: "toolu_2", name: "tool_2", arguments: "" },
      ],
    });
    expect(await conversations.turns(conversationId)).toEqual([]);
  });

  it("keeps its calls in order, also beyond ten [FR-RES-01] [FR-RES-04]", async () => {
    const { conversations } = await open();
    const entries = Array.from({ length: 12 }, (_, index) => callEntries(index, [`[${index}`, "]"])).flat();
    const { conversationId } = await streaming(conversations, entries);
    const calls = (await conversations.journal.openOf(conversationId))?.calls ?? [];
    expect(calls.map(({ index, arguments: text }) => [index, text])).toEqual(
      Array.from({ length: 12 }, (_, index) => [index, `[${index}]`]),
    );
  });

  it("takes the final arguments and the engine's ids when it is sealed, and its turns [FR-RES-01]", async () => {
    const { conversations } = await open();
    const entries = [...callEntries(0, ["{"]), ...callEntries(1, [])];
    const { conversationId, batchId } = await streaming(conversations, entries);
    const turns = sampleTurns().slice(2, 4);
    const calls = sealedCalls(2).toReversed();
    expect(await conversations.journal.seal(batchId, { turns, calls })).toBe(true);
    expect(await conversations.turns(conversationId)).toEqual(turns);
    expect(await conversations.journal.openOf(conversationId)).toMatchObject({
      phase: "sealed",
      calls: [
        { index: 0, id: "toolu_0", name: "tool_0", arguments: '{"n":0}', callId: "call-0" },
        { index: 1, id: "toolu_1", name: "tool_1", arguments: '{"n":1}', callId: "call-1" },
      ],
    });
  });

  it("collects results one by one, the first of a call stays [FR-RES-04]", async () => {
    const { conversations } = await open();
    const { conversationId, batchId } = await sealed(conversations, 2);
    const { journal } = conversations;
    expect(await journal.result(batchId, 1, sampleResult("first", true))).toBe(true);
    expect(await journal.result(batchId, 1, sampleResult("second"))).toBe(false);
    const calls = (await journal.openOf(conversationId))?.calls;
    expect(calls?.map(({ result }) => result)).toEqual([undefined, sampleResult("first", true)]);
    expect(calls?.[0] && "result" in calls[0]).toBe(false);
    const both = [
      journal.result(batchId, 0, sampleResult("a")),
      journal.result(batchId, 0, sampleResult("b")),
    ];
    expect((await Promise.all(both)).toSorted()).toEqual([false, true]);
  });

  it("leaves its turns behind its own and is forgotten when it closes [FR-RES-01] [FR-RES-04]", async () => {
    const { conversations } = await open();
    const { journal } = conversations;
    const { conversationId, batchId } = await streaming(conversations, callEntries(0, ["{}"]));
    await conversations.append(conversationId, sampleTurns("a").slice(0, 1));
    await journal.seal(batchId, { turns: sampleTurns("a").slice(1, 4), calls: sealedCalls(1) });
    await journal.result(batchId, 0, sampleResult());
    expect(await journal.close(batchId, sampleTurns("a").slice(4))).toBe(true);
    expect(await journal.openOf(conversationId)).toBeUndefined();
    expect(await conversations.turns(conversationId)).toEqual(sampleTurns("a"));
    await journal.open({ batchId, conversationId, model: "m", at: 8 });
    expect(await journal.openOf(conversationId)).toMatchObject({ phase: "streaming", text: "", calls: [] });
  });
}
