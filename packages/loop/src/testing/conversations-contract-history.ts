import { describe, expect, it } from "vitest";
import type { Conversations, Turn } from "../conversations-port.ts";
import type { OpenConversations } from "./conversations-contract-samples.ts";
import { begun, sampleConversation, sampleTurns } from "./conversations-contract-samples.ts";

/** Records of conversations, and the turns in them. */
export function historyContract(open: OpenConversations): void {
  describe("records", () => recordTests(open));
  describe("paging", () => pagingTests(open));
  describe("turns", () => turnTests(open));
}

function recordTests(open: OpenConversations): void {
  it("are found as they were given, and none where there is none [FR-RES-01]", async () => {
    const { conversations } = await open();
    const record = sampleConversation({ title: "Sums", updatedAt: 5 });
    await conversations.create(record);
    expect(await conversations.get(record.conversationId)).toEqual(record);
    expect(await conversations.get("nobody")).toBeUndefined();
  });

  it("reject a second one of the same id, and keep the first [FR-RES-01]", async () => {
    const { conversations } = await open();
    const record = sampleConversation({ title: "first" });
    await conversations.create(record);
    await conversations.append(record.conversationId, sampleTurns());
    await expect(conversations.create({ ...record, title: "second" })).rejects.toThrow(RangeError);
    expect(await conversations.get(record.conversationId)).toEqual(record);
    expect(await conversations.turns(record.conversationId)).toEqual(sampleTurns());
  });

  it("change in what is given and in when, and nowhere else [FR-RES-01]", async () => {
    const { conversations } = await open();
    const [record, other] = [sampleConversation(), sampleConversation()];
    for (const one of [record, other]) await conversations.create(one);
    const { conversationId } = record;
    await conversations.update(conversationId, { title: "Sums", at: 10 });
    expect(await conversations.get(conversationId)).toEqual({ ...record, title: "Sums", updatedAt: 10 });
    await conversations.update(conversationId, { model: "house/large", cwd: "/tmp", at: 11 });
    const changed = { ...record, title: "Sums", model: "house/large", cwd: "/tmp", updatedAt: 11 };
    expect(await conversations.get(conversationId)).toEqual(changed);
    await conversations.update(conversationId, { title: "", at: 3 });
    expect(await conversations.get(conversationId)).toEqual({ ...changed, title: "", updatedAt: 3 });
    expect(await conversations.get(other.conversationId)).toEqual(other);
  });

  it("stay as they are when an unknown one is changed [FR-RES-01]", async () => {
    const { conversations } = await open();
    await conversations.update("nobody", { title: "x", at: 1 });
    expect(await conversations.list({ limit: 9 })).toEqual([]);
  });
}

async function titles(conversations: Conversations, page: { limit: number; before?: number }) {
  return (await conversations.list(page)).map(({ title }) => title);
}

function pagingTests(open: OpenConversations): void {
  it("gives the last changed first, page by page [FR-RES-01]", async () => {
    const { conversations } = await open();
    for (const at of [3, 1, 5, 2, 4]) {
      await conversations.create(sampleConversation({ title: `t${at}`, updatedAt: at, createdAt: 9 - at }));
    }
    expect(await titles(conversations, { limit: 2 })).toEqual(["t5", "t4"]);
    expect(await titles(conversations, { limit: 2, before: 4 })).toEqual(["t3", "t2"]);
    expect(await titles(conversations, { limit: 2, before: 2 })).toEqual(["t1"]);
    expect(await titles(conversations, { limit: 2, before: 1 })).toEqual([]);
    expect(await titles(conversations, { limit: 0 })).toEqual([]);
    expect(await titles(conversations, { limit: 9 })).toEqual(["t5", "t4", "t3", "t2", "t1"]);
  });

  it("follows a change, and of those changed at once gives the one made last first [FR-RES-01]", async () => {
    const { conversations } = await open();
    const [a, b, c] = ["a", "b", "c"].map((title) => sampleConversation({ title, updatedAt: 1 }));
    for (const record of [a, b, c]) if (record) await conversations.create(record);
    expect(await titles(conversations, { limit: 9 })).toEqual(["c", "b", "a"]);
    await conversations.update(a?.conversationId ?? "", { at: 2 });
    expect(await titles(conversations, { limit: 9 })).toEqual(["a", "c", "b"]);
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

  it("join the history all together or not at all [FR-RES-01] [NFR-REL-01]", async () => {
    const { conversations } = await open();
    const id = await begun(conversations);
    const unreadable = {
      get broken(): string {
        throw new TypeError("cannot be read");
      },
    };
    const bad: Turn = { kind: "assistant", text: "", at: 1, meta: unreadable };
    await expect(conversations.append(id, [...sampleTurns(), bad])).rejects.toThrow("cannot be read");
    expect(await conversations.turns(id)).toEqual([]);
    await conversations.append(id, sampleTurns());
    expect(await conversations.turns(id)).toEqual(sampleTurns());
  });

  it("are none in an unknown conversation, and cannot be lost there [FR-RES-01]", async () => {
    const { conversations } = await open();
    expect(await conversations.turns("nobody")).toEqual([]);
    await expect(conversations.append("nobody", sampleTurns())).rejects.toThrow(RangeError);
    expect(await conversations.turns("nobody")).toEqual([]);
    expect(await conversations.get("nobody")).toBeUndefined();
  });
}
