import { describe, expect, it } from "vitest";
import type { Conversations, StreamEntry, Turn } from "../conversations-port.ts";
import type { OpenConversations } from "./conversations-contract-samples.ts";
import {
  callEntries,
  sampleResult,
  sampleTurns,
  sealed,
  sealedCalls,
  streaming,
} from "./conversations-contract-samples.ts";

const BROKEN: Turn = {
  kind: "assistant",
  text: "",
  at: 1,
  meta: {
    get broken(): string {
      throw new TypeError("cannot be read");
    },
  },
};

/** Steps of a batch in an order they cannot have: each leaves everything as it was. */
export function batchOrderContract(open: OpenConversations): void {
  describe("a step of a batch out of turn", () => {
    streamTests(open);
    sealTests(open);
    resultTests(open);
    closeTests(open);
  });
}

async function contentOf(conversations: Conversations, conversationId: string) {
  return [await conversations.journal.openOf(conversationId), await conversations.turns(conversationId)];
}

function streamTests(open: OpenConversations): void {
  it.each<[string, StreamEntry]>([
    ["a call that skips a number", { kind: "call", index: 2, id: "x", name: "x" }],
    ["a call that began already", { kind: "call", index: 0, id: "x", name: "x" }],
    ["arguments of a call that has not begun", { kind: "arguments", index: 1, delta: "x" }],
    ["arguments of a call that cannot be", { kind: "arguments", index: -1, delta: "x" }],
  ])("rejects %s [FR-RES-04]", async (_, entry) => {
    const { conversations } = await open();
    const { conversationId, batchId } = await streaming(conversations, callEntries(0, ["{}"]));
    const before = await contentOf(conversations, conversationId);
    await expect(conversations.journal.record(batchId, entry)).rejects.toThrow(RangeError);
    expect(await contentOf(conversations, conversationId)).toEqual(before);
  });

  it("rejects more of the stream after the seal, after the end, and of a batch that never was [FR-RES-04]", async () => {
    const { conversations } = await open();
    const { conversationId, batchId } = await sealed(conversations, 1);
    const before = await contentOf(conversations, conversationId);
    const more: StreamEntry[] = [
      { kind: "text", delta: "x" },
      ...callEntries(1, []),
      ...callEntries(0, ["x"]),
    ];
    for (const entry of more) {
      await expect(conversations.journal.record(batchId, entry)).rejects.toThrow(RangeError);
      await expect(conversations.journal.record("none", entry)).rejects.toThrow(RangeError);
    }
    expect(await contentOf(conversations, conversationId)).toEqual(before);
    await conversations.journal.close(batchId, []);
    await expect(conversations.journal.record(batchId, { kind: "text", delta: "x" })).rejects.toThrow(
      RangeError,
    );
  });
}

function sealTests(open: OpenConversations): void {
  it("seals once, and nothing that is not open [FR-RES-01] [FR-RES-04]", async () => {
    const { conversations } = await open();
    const { journal } = conversations;
    const { conversationId, batchId } = await sealed(conversations, 1);
    const before = await contentOf(conversations, conversationId);
    const again = { turns: sampleTurns(), calls: [{ index: 0, arguments: "other", callId: "other" }] };
    expect(await journal.seal(batchId, again)).toBe(false);
    expect(await journal.seal("none", again)).toBe(false);
    expect(await contentOf(conversations, conversationId)).toEqual(before);
    await journal.close(batchId, []);
    expect(await journal.seal(batchId, again)).toBe(false);
    expect(await contentOf(conversations, conversationId)).toEqual([undefined, []]);
  });

  it("seals exactly the calls that came in, with all turns, or does nothing [FR-RES-01] [NFR-REL-01]", async () => {
    const { conversations } = await open();
    const { journal } = conversations;
    const entries = [...callEntries(0, ["{"]), ...callEntries(1, [])];
    const { conversationId, batchId } = await streaming(conversations, entries);
    const before = await contentOf(conversations, conversationId);
    const [first, second] = sealedCalls(2);
    if (!first || !second) throw new Error("There are two calls.");
    for (const calls of [[], [first], sealedCalls(3), [first, first], [first, { ...second, index: 5 }]]) {
      await expect(journal.seal(batchId, { turns: sampleTurns(), calls })).rejects.toThrow(RangeError);
      expect(await contentOf(conversations, conversationId)).toEqual(before);
    }
    const broken = { turns: [...sampleTurns(), BROKEN], calls: [first, second] };
    await expect(journal.seal(batchId, broken)).rejects.toThrow("cannot be read");
    expect(await contentOf(conversations, conversationId)).toEqual(before);
    expect(await journal.seal(batchId, { turns: [], calls: [first, second] })).toBe(true);
  });

  it("seals an answer without calls [FR-RES-01]", async () => {
    const { conversations } = await open();
    const { conversationId, batchId } = await streaming(conversations, [{ kind: "text", delta: "No." }]);
    expect(await conversations.journal.seal(batchId, { turns: sampleTurns(), calls: [] })).toBe(true);
    const [batch, turns] = await contentOf(conversations, conversationId);
    expect(batch).toMatchObject({ phase: "sealed", text: "No.", calls: [] });
    expect(turns).toEqual(sampleTurns());
  });
}

function resultTests(open: OpenConversations): void {
  it("keeps no result before the seal, after the end, or of a call that is not there [FR-RES-04]", async () => {
    const { conversations } = await open();
    const { journal } = conversations;
    const { conversationId, batchId } = await streaming(conversations, callEntries(0, ["{}"]));
    const before = await contentOf(conversations, conversationId);
    expect(await journal.result(batchId, 0, sampleResult())).toBe(false);
    expect(await contentOf(conversations, conversationId)).toEqual(before);
    await journal.seal(batchId, { turns: [], calls: sealedCalls(1) });
    for (const index of [-1, 1, 7]) expect(await journal.result(batchId, index, sampleResult())).toBe(false);
    expect(await journal.result("none", 0, sampleResult())).toBe(false);
    expect((await journal.openOf(conversationId))?.calls[0]?.result).toBeUndefined();
    await journal.close(batchId, []);
    expect(await journal.result(batchId, 0, sampleResult())).toBe(false);
  });
}

function closeTests(open: OpenConversations): void {
  it("closes from either phase, once [FR-RES-04]", async () => {
    const { conversations } = await open();
    const { journal } = conversations;
    const half = await streaming(conversations, callEntries(0, ["{"]));
    const whole = await sealed(conversations, 2);
    for (const { conversationId, batchId } of [half, whole]) {
      expect(await journal.close(batchId, sampleTurns())).toBe(true);
      expect(await journal.close(batchId, sampleTurns())).toBe(false);
      expect(await contentOf(conversations, conversationId)).toEqual([undefined, sampleTurns()]);
    }
    expect(await journal.close("none", sampleTurns())).toBe(false);
  });

  it("closes with all turns or stays open [FR-RES-01] [NFR-REL-01]", async () => {
    const { conversations } = await open();
    const { conversationId, batchId } = await sealed(conversations, 1);
    const before = await contentOf(conversations, conversationId);
    const closed = conversations.journal.close(batchId, [...sampleTurns(), BROKEN]);
    await expect(closed).rejects.toThrow("cannot be read");
    expect(await contentOf(conversations, conversationId)).toEqual(before);
  });
}
