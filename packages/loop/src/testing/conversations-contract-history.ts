import { describe, expect, it } from "vitest";
import type { Turn } from "../conversations-port.ts";
import {
  begun,
  type OpenConversations,
  sampleConversation,
  sampleTurns,
  UNREADABLE,
} from "./conversations-contract-samples.ts";

/** Records of conversations, the turns in them, and what was read in them. */
export function historyContract(open: OpenConversations): void {
  describe("records", () => recordTests(open));
  describe("turns", () => turnTests(open));
  describe("the ledger of reads", () => readTests(open));
}

function recordTests(open: OpenConversations): void {
  it("are found as they were given, and a second one of the same id is rejected [FR-RES-01]", async () => {
    const { conversations } = await open();
    const record = sampleConversation({ title: "first", updatedAt: 5 });
    await conversations.create(record);
    await conversations.append(record.conversationId, sampleTurns());
    await expect(conversations.create({ ...record, title: "second" })).rejects.toThrow(RangeError);
    expect(await conversations.get(record.conversationId)).toEqual(record);
    expect(await conversations.turns(record.conversationId)).toEqual(sampleTurns());
    expect(await conversations.get("nobody")).toBeUndefined();
  });

  it("change in what is given and in when, and nowhere else [FR-RES-01]", async () => {
    const { conversations } = await open();
    const [record, other] = [sampleConversation(), sampleConversation()];
    for (const one of [record, other]) await conversations.create(one);
    let changed = record;
    for (const { at, ...change } of [
      { title: "Sums", at: 10 },
      { model: "house/large", cwd: "/tmp", at: 11 },
      { title: "", at: 3 },
    ]) {
      await conversations.update(record.conversationId, { ...change, at });
      changed = { ...changed, ...change, updatedAt: at };
      expect(await conversations.get(record.conversationId)).toEqual(changed);
    }
    await conversations.update("nobody", { title: "x", at: 1 });
    expect(await conversations.get("nobody")).toBeUndefined();
    expect(await conversations.get(other.conversationId)).toEqual(other);
  });

  it("are listed with the last changed first, page by page; of those changed at once the one made last [FR-RES-01]", async () => {
    const { conversations } = await open();
    const titles = async (page: { limit: number; before?: number }) =>
      (await conversations.list(page)).map(({ title }) => title);
    for (const at of [3, 1, 5, 2, 4]) {
      await conversations.create(sampleConversation({ title: `t${at}`, updatedAt: at, createdAt: 9 - at }));
    }
    expect(await titles({ limit: 2 })).toEqual(["t5", "t4"]);
    expect(await titles({ limit: 2, before: 4 })).toEqual(["t3", "t2"]);
    expect(await titles({ limit: 2, before: 2 })).toEqual(["t1"]);
    expect(await titles({ limit: 2, before: 1 })).toEqual([]);
    expect(await titles({ limit: 0 })).toEqual([]);
    const same = sampleConversation({ title: "again 5", updatedAt: 5 });
    await conversations.create(same);
    expect(await titles({ limit: 9 })).toEqual(["again 5", "t5", "t4", "t3", "t2", "t1"]);
    await conversations.update(same.conversationId, { at: 0 });
    expect(await titles({ limit: 9 })).toEqual(["t5", "t4", "t3", "t2", "t1", "again 5"]);
  });
}

function turnTests(open: OpenConversations): void {
  it("keep order and content of every kind, each conversation for itself [FR-RES-01]", async () => {
    const { conversations } = await open();
    const [first, second] = [await begun(conversations), await begun(conversations)];
    await conversations.append(first, sampleTurns("a"));
    await conversations.append(second, sampleTurns("b"));
    await conversations.append(first, []);
    await conversations.append(first, sampleTurns("c"));
    expect(await conversations.turns(first)).toEqual([...sampleTurns("a"), ...sampleTurns("c")]);
    expect(await conversations.turns(second)).toEqual(sampleTurns("b"));
  });

  it("keep the order of many, appended side by side [FR-RES-01]", async () => {
    const { conversations } = await open();
    const id = await begun(conversations);
    const turns = Array.from({ length: 300 }, (_, at): Turn => ({ kind: "user", text: `${at}`, at }));
    await Promise.all(turns.map((turn) => conversations.append(id, [turn])));
    expect(await conversations.turns(id)).toEqual(turns);
  });

  it("join the history all together or not at all, and cannot be lost [FR-RES-01] [NFR-REL-01]", async () => {
    const { conversations } = await open();
    const id = await begun(conversations);
    const refused: [string, Turn[], string | typeof RangeError][] = [
      [id, [...sampleTurns(), UNREADABLE], "cannot be read"],
      ["nobody", sampleTurns(), RangeError],
    ];
    for (const [where, turns, why] of refused) {
      await expect(conversations.append(where, turns)).rejects.toThrow(why);
      expect(await conversations.turns(where)).toEqual([]);
    }
    await conversations.append(id, sampleTurns());
    expect(await conversations.turns(id)).toEqual(sampleTurns());
  });
}

function readTests(open: OpenConversations): void {
  it("knows the last content of a path that a conversation saw, and keeps both apart [FR-TOOL-PATCH-02]", async () => {
    const { conversations } = await open();
    const { reads } = conversations;
    // A session that is not a kept conversation is served too, and not made one.
    for (const id of [await begun(conversations), await begun(conversations), "session"]) {
      const read = { path: "/ws/a", sha256: id, at: 1 };
      expect(await reads.find(id, read.path)).toBeUndefined();
      await reads.note(id, { ...read, sha256: "before" });
      await reads.note(id, read);
      await reads.note(id, { ...read, path: "/ws/b", at: 2 });
      expect(await reads.find(id, "/ws/a")).toEqual(read);
      expect(await reads.find(id, "/ws/A")).toBeUndefined();
    }
    expect(await conversations.get("session")).toBeUndefined();
  });
}
