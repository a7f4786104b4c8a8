import { describe, expect, it } from "vitest";
import type { Conversations } from "../conversations-port.ts";
import type { OpenConversations } from "./conversations-contract-samples.ts";
import {
  begun,
  callEntries,
  sampleConversation,
  sampleResult,
  sampleTurns,
  sealed,
  streaming,
} from "./conversations-contract-samples.ts";

/** After `close` everything rejects; what was acknowledged is there when it is opened again. */
export function conversationsLifetimeContract(open: OpenConversations): void {
  describe("closing and opening again", () => {
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
  return Promise.all(
    ids.map(async (id) => ({
      record: await conversations.get(id),
      turns: await conversations.turns(id),
      batch: await conversations.journal.openOf(id),
      read: await conversations.reads.find(id, "/a"),
    })),
  );
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
