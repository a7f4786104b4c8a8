import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import type { BatchJournal, Conversations, StreamEntry } from "../conversations-port.ts";
import {
  begun,
  callEntries,
  contentOf,
  type OpenConversations,
  sampleResult,
  sampleTurns,
  sealed,
  sealedCalls,
  streaming,
  UNREADABLE,
} from "./conversations-contract-samples.ts";

const TEXT: StreamEntry = { kind: "text", delta: "x" };
const twoCalls = () => [...callEntries(0, ["{"]), ...callEntries(1, [])];

/** Batches of two calls as they stand before a step out of turn. */
const STANDINGS = {
  streaming: (kept: Conversations) => streaming(kept, twoCalls()),
  sealed: (kept: Conversations) => sealed(kept, 2),
  async closed(kept: Conversations) {
    const ids = await sealed(kept, 2);
    await kept.journal.close(ids.batchId, sampleTurns());
    return ids;
  },
  unknown: async (kept: Conversations) => ({ ...(await sealed(kept, 2)), batchId: "none" }),
};

type Use = (journal: BatchJournal, batchId: string) => Promise<unknown>;
type Refusal = false | typeof RangeError | "cannot be read";

const record =
  (entry: StreamEntry): Use =>
  (journal, id) =>
    journal.record(id, entry);
const sealWith =
  (calls: ReturnType<typeof sealedCalls>, turns = sampleTurns()): Use =>
  (journal, id) =>
    journal.seal(id, { turns, calls });
const result =
  (index: number): Use =>
  (journal, id) =>
    journal.result(id, index, sampleResult());
const close: Use = (journal, id) => journal.close(id, sampleTurns());
const [first, second] = sealedCalls(2) as [
  ReturnType<typeof sealedCalls>[0],
  ReturnType<typeof sealedCalls>[0],
];

const OUT_OF_TURN: [standing: keyof typeof STANDINGS, what: string, use: Use, outcome: Refusal][] = [
  [
    "streaming",
    "a call that skips a number",
    record({ kind: "call", index: 4, id: "x", name: "x" }),
    RangeError,
  ],
  [
    "streaming",
    "a call that began already",
    record({ kind: "call", index: 0, id: "x", name: "x" }),
    RangeError,
  ],
  [
    "streaming",
    "arguments before their call",
    record({ kind: "arguments", index: 2, delta: "x" }),
    RangeError,
  ],
  ["streaming", "arguments of no call", record({ kind: "arguments", index: -1, delta: "x" }), RangeError],
  ["streaming", "a seal without the calls", sealWith([]), RangeError],
  ["streaming", "a seal with fewer calls", sealWith([first]), RangeError],
  ["streaming", "a seal with more calls", sealWith(sealedCalls(3)), RangeError],
  ["streaming", "a seal with a call twice", sealWith([first, first]), RangeError],
  ["streaming", "a seal with another call", sealWith([first, { ...second, index: 5 }]), RangeError],
  [
    "streaming",
    "a seal with a turn that cannot be written",
    sealWith([first, second], [...sampleTurns(), UNREADABLE]),
    "cannot be read",
  ],
  ["streaming", "a result", result(0), false],
  ["sealed", "more text", record(TEXT), RangeError],
  ["sealed", "another call", record({ kind: "call", index: 2, id: "x", name: "x" }), RangeError],
  ["sealed", "more arguments", record({ kind: "arguments", index: 0, delta: "x" }), RangeError],
  ["sealed", "a second seal", sealWith([first, second]), false],
  ["sealed", "a result of no call", result(-1), false],
  ["sealed", "a result of a call that is not there", result(2), false],
  [
    "sealed",
    "an end with a turn that cannot be written",
    (journal, id) => journal.close(id, [...sampleTurns(), UNREADABLE]),
    "cannot be read",
  ],
  ...(["closed", "unknown"] as const).flatMap((standing): typeof OUT_OF_TURN => [
    [standing, "more text", record(TEXT), RangeError],
    [standing, "a seal", sealWith([first, second]), false],
    [standing, "a result", result(0), false],
    [standing, "an end", close, false],
  ]),
];

/** An open batch from its beginning to its end, and steps in an order they cannot have. */
export function batchContract(open: OpenConversations): void {
  describe("a batch", () => courseTests(open));
  it.each(OUT_OF_TURN)(
    "a %s batch refuses %s, and nothing changes [FR-RES-01] [FR-RES-04] [NFR-REL-01]",
    async (standing, _, use, outcome) => {
      const { conversations } = await open();
      const { conversationId, batchId } = await STANDINGS[standing](conversations);
      const before = await contentOf(conversations, conversationId);
      const answer = use(conversations.journal, batchId);
      if (outcome === false) expect(await answer).toBe(false);
      else await expect(answer).rejects.toThrow(outcome);
      expect(await contentOf(conversations, conversationId)).toEqual(before);
    },
  );
}

function courseTests(open: OpenConversations): void {
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
    const { journal } = conversations;
    const { batchId } = await streaming(conversations);
    const conversationId = await begun(conversations);
    const opening = { batchId, conversationId, model: "m", at: 1 };
    const nowhere = { ...opening, batchId: randomUUID(), conversationId: "nobody" };
    for (const refused of [opening, nowhere]) {
      await expect(journal.open(refused)).rejects.toThrow(RangeError);
      expect(await journal.openOf(refused.conversationId)).toBeUndefined();
    }
    await journal.close(batchId, []);
    expect(await journal.open(opening)).toBe(true);
  });

  it("shows what has come in so far, also half of the arguments, its calls in order beyond ten [FR-RES-01] [FR-RES-04]", async () => {
    const { conversations } = await open();
    const { conversationId, batchId } = await streaming(conversations, [{ kind: "text", delta: "I " }]);
    const { journal } = conversations;
    const indexes = Array.from({ length: 12 }, (_, index) => index);
    for (const entry of indexes.flatMap((index) => callEntries(index, ["{", `"n":${index}`])))
      await journal.record(batchId, entry);
    await journal.record(batchId, { kind: "arguments", index: 0, delta: "}" });
    await journal.record(batchId, { kind: "text", delta: "look" });
    expect(await journal.openOf(conversationId)).toEqual({
      ...{ batchId, conversationId, model: "house/small", phase: "streaming", openedAt: 7, text: "I look" },
      calls: indexes.map((index) => ({
        ...{ index, id: `toolu_${index}`, name: `tool_${index}` },
        arguments: index === 0 ? '{"n":0}' : `{"n":${index}`,
      })),
    });
    expect(await conversations.turns(conversationId)).toEqual([]);
  });

  it("takes the final arguments and the engine's ids when it is sealed, and its turns [FR-RES-01]", async () => {
    const { conversations } = await open();
    const { conversationId, batchId } = await streaming(conversations, twoCalls());
    const turns = sampleTurns().slice(2, 4);
    const calls = sealedCalls(2).toReversed();
    expect(await conversations.journal.seal(batchId, { turns, calls })).toBe(true);
    expect(await contentOf(conversations, conversationId)).toMatchObject({
      turns,
      batch: {
        phase: "sealed",
        calls: [
          { index: 0, id: "toolu_0", name: "tool_0", arguments: '{"n":0}', callId: "call-0" },
          { index: 1, id: "toolu_1", name: "tool_1", arguments: '{"n":1}', callId: "call-1" },
        ],
      },
    });
  });

  it("is sealed without calls too [FR-RES-01]", async () => {
    const { conversations } = await open();
    const { conversationId, batchId } = await streaming(conversations, [{ kind: "text", delta: "No." }]);
    expect(await conversations.journal.seal(batchId, { turns: sampleTurns(), calls: [] })).toBe(true);
    const batch = { phase: "sealed", text: "No.", calls: [] };
    expect(await contentOf(conversations, conversationId)).toMatchObject({ batch, turns: sampleTurns() });
  });

  it("collects results one by one, the first of a call stays [FR-RES-04]", async () => {
    const { conversations } = await open();
    const { conversationId, batchId } = await sealed(conversations, 2);
    const { journal } = conversations;
    expect(await journal.result(batchId, 1, sampleResult("first", true))).toBe(true);
    expect(await journal.result(batchId, 1, sampleResult("second"))).toBe(false);
    const calls = (await journal.openOf(conversationId))?.calls;
    expect(calls?.map(({ result: kept }) => kept)).toEqual([undefined, sampleResult("first", true)]);
    expect(calls?.[0] && "result" in calls[0]).toBe(false);
    const both = ["a", "b"].map((content) => journal.result(batchId, 0, sampleResult(content)));
    expect((await Promise.all(both)).toSorted()).toEqual([false, true]);
  });

  it("leaves its turns behind its own and is forgotten when it closes, from either phase [FR-RES-01] [FR-RES-04]", async () => {
    const { conversations } = await open();
    const { journal } = conversations;
    const { conversationId, batchId } = await streaming(conversations, callEntries(0, ["{}"]));
    await conversations.append(conversationId, sampleTurns("a").slice(0, 1));
    await journal.seal(batchId, { turns: sampleTurns("a").slice(1, 4), calls: sealedCalls(1) });
    await journal.result(batchId, 0, sampleResult());
    expect(await journal.close(batchId, sampleTurns("a").slice(4))).toBe(true);
    expect(await contentOf(conversations, conversationId)).toMatchObject({
      batch: undefined,
      turns: sampleTurns("a"),
    });
    await journal.open({ batchId, conversationId, model: "m", at: 8 });
    expect(await journal.openOf(conversationId)).toMatchObject({ phase: "streaming", text: "", calls: [] });
    expect(await journal.close(batchId, [])).toBe(true);
    expect(await journal.openOf(conversationId)).toBeUndefined();
  });
}
