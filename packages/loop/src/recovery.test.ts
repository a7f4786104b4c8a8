import { isFailure } from "@sallyport/protocol";
import { describe, expect, it } from "vitest";
import { Conversation } from "./conversation.ts";
import type { LoopEvent } from "./events.ts";
import { outline, says, scriptedLoop } from "./fixtures/scripted-loop.ts";
import { recording } from "./fixtures/tools.ts";

/** A conversation whose process ended while a batch was open; the engine may have calls on record. */
async function interrupted(
  prepare: (loop: Awaited<ReturnType<typeof scriptedLoop>>, batchId: string) => Promise<void>,
) {
  const { ran, tool } = recording("look", { answer: "seen" });
  let again: Conversation | undefined;
  const loop = await scriptedLoop({ tools: [tool], answers: [says("and so on")], latest: () => again });
  const { conversations, conversation, parts } = loop;
  const made = { conversationId: conversation.id, model: "m", cwd: "/work", title: "go" };
  await conversations.create({ ...made, createdAt: 1, updatedAt: 1 });
  await conversations.append(conversation.id, [{ kind: "user", text: "go", at: 1 }]);
  await conversations.journal.open({ batchId: "b", conversationId: conversation.id, model: "m", at: 2 });
  await prepare(loop, "b");
  const reopened = await Conversation.reopen(conversation.id, parts);
  if (isFailure(reopened)) throw new Error(reopened.message);
  again = reopened;
  return { ...loop, again: reopened, ran };
}

/** Two calls are sealed, the first with a result. */
const halfDone = async (loop: Awaited<ReturnType<typeof scriptedLoop>>) => {
  await sealTwo(loop);
  await loop.conversations.journal.result("b", 0, { isError: false, content: "first", at: 4 });
};

const sealTwo = async ({ conversations, conversation }: Awaited<ReturnType<typeof scriptedLoop>>) => {
  const { journal } = conversations;
  for (const index of [0, 1]) {
    await journal.record("b", { kind: "call", index, id: `c${index}`, name: "look" });
  }
  await journal.seal("b", {
    turns: [0, 1].map((n) => ({ kind: "tool_use", id: `c${n}`, name: "look", arguments: "{}", at: 3 })),
    calls: [0, 1].map((index) => ({ index, arguments: "{}", callId: `${conversation.id}-${index}` })),
  });
};

describe("a crash", () => {
  it("after calls came in and before they were sealed: the batch is found, with what had come [IT-JRN-01] [FR-RES-04]", async () => {
    const { again, ran, conversations } = await interrupted(async ({ conversations: { journal } }) => {
      await journal.record("b", { kind: "text", delta: "I will look" });
      await journal.record("b", { kind: "call", index: 0, id: "c0", name: "look" });
      await journal.record("b", { kind: "arguments", index: 0, delta: '{"wha' });
    });
    expect(again.state).toMatchObject({
      state: "recovery",
      batch: { phase: "streaming", text: "I will look", calls: [{ id: "c0", arguments: '{"wha' }] },
    });
    expect(await again.send("hello?")).toMatchObject({ kind: "failed", error: { code: "E3958" } });
    expect(await again.recover("resume")).toEqual({ kind: "done", text: "and so on" });
    expect(outline(again.turns)).toEqual([
      "user: go",
      "assistant: I will look",
      "use c0 look",
      "result c0 error: Tool result missing after crash",
      "assistant: and so on",
    ]);
    expect(ran).toEqual([]);
    expect(await conversations.journal.openOf(again.id)).toBeUndefined();
  });

  it("in the middle of a batch: resuming keeps what is known and runs nothing again [IT-JRN-02] [FR-RES-05] [NFR-REL-04]", async () => {
    const { again, ran } = await interrupted(halfDone);
    expect(await again.recover("resume")).toEqual({ kind: "done", text: "and so on" });
    expect(outline(again.turns).slice(3, 5)).toEqual([
      "result c0: first",
      "result c1 error: Tool result missing after crash",
    ]);
    expect(ran).toEqual([]);
  });

  it("discarding makes every result an error; the calls stay visible [FR-RES-05]", async () => {
    const { again, ran } = await interrupted(halfDone);
    expect(await again.recover("discard")).toMatchObject({ kind: "done" });
    expect(outline(again.turns).slice(1, 5)).toEqual([
      "use c0 look",
      "use c1 look",
      "result c0 error: Tool results discarded after crash",
      "result c1 error: Tool results discarded after crash",
    ]);
    expect(ran).toEqual([]);
  });

  it("after a call was done and before its result was written down: the engine's record has it, it does not run again [FR-RES-04]", async () => {
    const { again, ran } = await interrupted(async (loop) => {
      await sealTwo(loop);
      const { conversation, engine, parts } = loop;
      const caller = { ...parts.caller, session: conversation.id };
      await engine.call({ tool: "look", input: {}, callId: `${conversation.id}-0`, caller });
    });
    expect(ran).toHaveLength(1);
    expect(again.state).toMatchObject({
      state: "recovery",
      batch: { calls: [{ result: { isError: false, content: "seen" } }, {}] },
    });
    await again.recover("resume");
    expect(outline(again.turns)[3]).toBe("result c0: seen");
    expect(ran).toHaveLength(1);
  });

  it("shows the calls with the line others have, not as the model sent them [FR-TUI-02]", async () => {
    const { again } = await interrupted(async ({ conversations: { journal } }) => {
      for (const [index, name] of ["look", "look", "nobody"].entries()) {
        await journal.record("b", { kind: "call", index, id: `c${index}`, name });
      }
      await journal.record("b", { kind: "arguments", index: 0, delta: '{"what":"sea"}' });
      await journal.record("b", { kind: "arguments", index: 1, delta: '{"wha' });
    });
    expect(again.state).toMatchObject({
      batch: { calls: [{ summary: "look run what=sea" }, { summary: "look" }, { summary: "nobody" }] },
    });
    expect(await again.describe({ name: "look", arguments: '{"what":"sky"}' })).toBe("look run what=sky");
  });

  it.each([
    ["resume", ["completed c0 first", "resolved c1 Tool result missing after crash"]],
    [
      "discard",
      ["resolved c0 Tool results discarded after crash", "resolved c1 Tool results discarded after crash"],
    ],
  ] as const)(
    "then %s: tells what became of each call, as of any other [FR-RES-05] [FR-TUI-02]",
    async (choice, outcome) => {
      const { again } = await interrupted(halfDone);
      const heard: LoopEvent[] = [];
      again.listen((event) => void heard.push(event));
      await again.recover(choice);
      expect(heard[0]).toMatchObject({
        kind: "planned",
        calls: [
          { index: 0, id: "c0", name: "look", summary: "look run", risk: "low", call: { state: "pending" } },
          { index: 1, id: "c1" },
        ],
      });
      const said = heard.flatMap((event) => {
        if (event.kind === "completed") return [`completed ${event.id} ${event.content}`];
        return event.kind === "resolved" ? [`resolved ${event.id} ${event.reason}`] : [];
      });
      expect(said).toEqual(outcome);
    },
  );

  it("while a person was asked: the question is withdrawn", async () => {
    const { again, engine, ran } = await interrupted(async (loop) => {
      await sealTwo(loop);
      const { conversation, engine, parts } = loop;
      const caller = { ...parts.caller, session: conversation.id };
      const order = { tool: "look", input: {}, callId: `${conversation.id}-1`, caller };
      await engine.call({ ...order, requireApproval: true, onApproval: "pending" });
    });
    await again.recover("resume");
    const [record] = await engine.approvals.list({ limit: 1 });
    expect(record?.standing.state).not.toBe("pending");
    expect(ran).toEqual([]);
  });

  it("while the model only spoke needs no decision: what it said is kept", async () => {
    const { again } = await interrupted(async ({ conversations: { journal } }) => {
      await journal.record("b", { kind: "text", delta: "As I was say" });
    });
    expect(again.state).toEqual({ state: "idle" });
    expect(outline(again.turns)).toEqual(["user: go", "assistant: As I was say"]);
    expect(await again.send("yes?")).toEqual({ kind: "done", text: "and so on" });
  });

  it("of a conversation nobody knows is no conversation", async () => {
    const { parts } = await scriptedLoop({ answers: [] });
    expect(await Conversation.reopen("none", parts)).toMatchObject({ code: "E3917" });
  });
});
