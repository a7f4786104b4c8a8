import { describe, expect, it } from "vitest";
import type { Conversations } from "../conversations-port.ts";
import {
  begun,
  callEntries,
  contentOf,
  type OpenConversations,
  sampleConversation,
  sampleResult,
  sampleTurns,
  sealed,
  streaming,
} from "./conversations-contract-samples.ts";

/** Looking over what is kept, forgetting, closing, and opening again. */
export function keepingContract(open: OpenConversations): void {
  describe("outlines", () => outlineTests(open));
  describe("removing", () => removeTests(open));
  describe("closing and opening again", () => lifetimeTests(open));
}

function outlineTests(open: OpenConversations): void {
  it("are the records with how much there is of each, the last changed first [FR-RES-01]", async () => {
    const { conversations } = await open();
    const [old, recent] = [sampleConversation({ updatedAt: 1 }), sampleConversation({ updatedAt: 2 })];
    for (const record of [recent, old]) await conversations.create(record);
    await conversations.append(old.conversationId, sampleTurns());
    await conversations.append(old.conversationId, sampleTurns("two"));
    const [first, second] = [
      { ...recent, turns: 0, hasOpenBatch: false },
      { ...old, turns: 10, hasOpenBatch: false },
    ];
    const { keeping } = conversations;
    expect(await keeping.outlines({ limit: 9 })).toEqual([first, second]);
    expect(await keeping.outlines({ limit: 1 })).toEqual([first]);
    expect(await keeping.outlines({ limit: 9, before: 2 })).toEqual([second]);
    expect(await keeping.outlines({ limit: 0 })).toEqual([]);
    expect(await keeping.outlines({ limit: Number.MAX_SAFE_INTEGER })).toHaveLength(2);
  });

  it("say whether a batch is open, in either phase, and no more once it is closed [FR-RES-04]", async () => {
    const { conversations } = await open();
    const [half, whole] = [await streaming(conversations), await sealed(conversations, 1)];
    const openOnes = async () => {
      const outlines = await conversations.keeping.outlines({ limit: 9 });
      return outlines.filter(({ hasOpenBatch }) => hasOpenBatch).map(({ conversationId }) => conversationId);
    };
    expect((await openOnes()).toSorted()).toEqual([half.conversationId, whole.conversationId].toSorted());
    await conversations.journal.close(half.batchId, []);
    expect(await openOnes()).toEqual([whole.conversationId]);
  });
}

/** A conversation with turns and a read, and nothing open. */
async function told(conversations: Conversations): Promise<string> {
  const id = await begun(conversations);
  await conversations.append(id, sampleTurns());
  await conversations.reads.note(id, { path: "/a", sha256: "aa", at: 1 });
  return id;
}

const NOTHING = { record: undefined, turns: [], batch: undefined, read: undefined };

function removeTests(open: OpenConversations): void {
  it("leaves nothing of a conversation, and everything of the others [FR-RES-01] [NFR-REL-01]", async () => {
    const { conversations, reopen } = await open();
    const [gone, stays] = [await told(conversations), await told(conversations)];
    const before = await contentOf(conversations, stays);
    expect(await conversations.keeping.remove([gone])).toEqual([gone]);
    expect(await contentOf(conversations, gone)).toEqual(NOTHING);
    expect(await contentOf(conversations, stays)).toEqual(before);
    expect(await conversations.list({ limit: 9 })).toHaveLength(1);
    const again = reopen ? await reopen() : conversations;
    expect(await contentOf(again, gone)).toEqual(NOTHING);
    expect(await contentOf(again, stays)).toEqual(before);
  });

  it("lets a new one of the same id begin with nothing, and rejects what is added to one that is gone [FR-RES-01]", async () => {
    const { conversations } = await open();
    const id = await told(conversations);
    await conversations.keeping.remove([id]);
    await expect(conversations.append(id, sampleTurns())).rejects.toThrow(RangeError);
    const record = sampleConversation({ conversationId: id });
    await conversations.create(record);
    expect(await contentOf(conversations, id)).toEqual({ ...NOTHING, record });
  });

  it("keeps one with an open batch unless that is said, and then its batch is gone too [FR-RES-04]", async () => {
    const { conversations } = await open();
    const { keeping, journal } = conversations;
    for (const make of [
      () => streaming(conversations, callEntries(0, ["{"])),
      () => sealed(conversations, 2),
    ]) {
      const { conversationId: id, batchId } = await make();
      const before = await contentOf(conversations, id);
      expect(await keeping.remove([id])).toEqual([]);
      expect(await contentOf(conversations, id)).toEqual(before);
      expect(await keeping.remove([id], { openToo: true })).toEqual([id]);
      expect(await contentOf(conversations, id)).toEqual(NOTHING);
      expect(await journal.close(batchId, [])).toBe(false);
      await conversations.create(sampleConversation({ conversationId: id }));
      expect(await journal.open({ batchId, conversationId: id, model: "m", at: 1 })).toBe(true);
      expect((await journal.openOf(id))?.calls).toEqual([]);
    }
  });

  it("passes over unknown ones and those named twice, and does what can be done [FR-RES-01]", async () => {
    const { conversations } = await open();
    const [one, two] = [await told(conversations), await told(conversations)];
    const busy = await streaming(conversations);
    const named = ["nobody", one, busy.conversationId, one, two];
    expect(await conversations.keeping.remove(named)).toEqual([one, two]);
    expect(await conversations.keeping.remove(named)).toEqual([]);
    expect(await conversations.keeping.remove([])).toEqual([]);
    expect((await conversations.list({ limit: 9 })).map((record) => record.conversationId)).toEqual([
      busy.conversationId,
    ]);
  });

  it("leaves what was read in a session that is no kept conversation [FR-TOOL-PATCH-02]", async () => {
    const { conversations } = await open();
    const read = { path: "/a", sha256: "aa", at: 1 };
    await conversations.reads.note("session", read);
    expect(await conversations.keeping.remove(["session"])).toEqual([]);
    expect(await conversations.reads.find("session", "/a")).toEqual(read);
  });

  it("gives the room back and changes nothing else by that [NFR-REL-01]", async () => {
    const { conversations } = await open();
    const [large, stays] = [await begun(conversations), await told(conversations)];
    const { conversationId: busy } = await sealed(conversations, 2);
    await conversations.append(large, [{ kind: "user", text: "x".repeat(500_000), at: 1 }]);
    const before = [await contentOf(conversations, stays), await contentOf(conversations, busy)];
    await conversations.keeping.remove([large]);
    expect(await conversations.keeping.compact()).toBeGreaterThanOrEqual(0);
    expect(await conversations.keeping.compact()).toBe(0);
    expect([await contentOf(conversations, stays), await contentOf(conversations, busy)]).toEqual(before);
    await conversations.append(stays, sampleTurns("more"));
    expect(await conversations.turns(stays)).toHaveLength(10);
  });
}

/** After `close` everything rejects; what was acknowledged is there when it is opened again. */
function lifetimeTests(open: OpenConversations): void {
  it("makes every later use reject with E3914 [NFR-REL-01]", async () => {
    const { conversations } = await open();
    await conversations.close();
    await conversations.close();
    for (const [name, use] of Object.entries(usesOf(conversations))) {
      await expect(use(), name).rejects.toMatchObject({ failure: { code: "E3914" } });
    }
  });

  it("finds everything that was acknowledged, and goes on with it [FR-RES-04] [NFR-REL-04] [FR-TOOL-PATCH-02]", async (context) => {
    const { conversations, reopen } = await open();
    const filled = await fill(conversations);
    const before = await contentsOf(conversations, filled.ids);
    expect(before).toMatchObject([
      { batch: { text: "Hm", calls: [{ arguments: '{"pa' }] } },
      { batch: { phase: "sealed", calls: [{ result: { content: "done" } }, { callId: "call-1" }] } },
      { turns: [{ kind: "user" }, {}, {}, {}, {}], read: { sha256: "aa" } },
    ]);
    if (reopen === undefined) return context.skip("nothing survives these conversations");
    const again = await reopen();
    expect(await contentsOf(again, filled.ids)).toEqual(before);
    await goOn(again, filled);
  });
}

/** One conversation that streams, one that is sealed with one result of two, one with a history. */
async function fill(conversations: Conversations) {
  const entries = [{ kind: "text", delta: "Hm" } as const, ...callEntries(0, ['{"pa'])];
  const half = await streaming(conversations, entries);
  const whole = await sealed(conversations, 2);
  await conversations.journal.result(whole.batchId, 0, sampleResult());
  const told = await begun(conversations);
  await conversations.append(told, sampleTurns());
  await conversations.update(told, { title: "Told", at: 77 });
  await conversations.reads.note(told, { path: "/a", sha256: "aa", at: 1 });
  return { half, whole, ids: [half.conversationId, whole.conversationId, told] };
}

function contentsOf(conversations: Conversations, ids: string[]) {
  return Promise.all(ids.map((id) => contentOf(conversations, id)));
}

async function goOn({ journal, ...again }: Conversations, filled: Awaited<ReturnType<typeof fill>>) {
  const { half, whole, ids } = filled;
  await journal.record(half.batchId, { kind: "arguments", index: 0, delta: 'th"' });
  expect((await journal.openOf(half.conversationId))?.calls[0]?.arguments).toBe('{"path"');
  expect(await journal.open({ ...half, batchId: "another", model: "m", at: 1 })).toBe(false);
  expect(await journal.result(whole.batchId, 0, sampleResult("again"))).toBe(false);
  expect(await journal.result(whole.batchId, 1, sampleResult())).toBe(true);
  expect(await journal.close(whole.batchId, sampleTurns("b"))).toBe(true);
  await again.append(ids[2] ?? "", sampleTurns("c"));
  expect(await again.turns(ids[2] ?? "")).toEqual([...sampleTurns(), ...sampleTurns("c")]);
}

function usesOf(conversations: Conversations): Record<string, () => Promise<unknown>> {
  const { journal, reads, keeping } = conversations;
  return {
    create: () => conversations.create(sampleConversation()),
    get: () => conversations.get("a"),
    list: () => conversations.list({ limit: 1 }),
    update: () => conversations.update("a", { at: 1 }),
    turns: () => conversations.turns("a"),
    append: () => conversations.append("a", []),
    "journal.open": () => journal.open({ batchId: "a", conversationId: "a", model: "a", at: 1 }),
    "journal.record": () => journal.record("a", { kind: "text", delta: "" }),
    "journal.seal": () => journal.seal("a", { turns: [], calls: [] }),
    "journal.result": () => journal.result("a", 0, sampleResult()),
    "journal.close": () => journal.close("a", []),
    "journal.openOf": () => journal.openOf("a"),
    "reads.note": () => reads.note("a", { path: "a", sha256: "a", at: 1 }),
    "reads.find": () => reads.find("a", "a"),
    "keeping.outlines": () => keeping.outlines({ limit: 1 }),
    "keeping.remove": () => keeping.remove(["a"]),
    "keeping.compact": () => keeping.compact(),
  };
}
