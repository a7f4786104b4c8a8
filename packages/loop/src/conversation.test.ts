import { setTimeout as sleep } from "node:timers/promises";
import type { FixtureTool } from "@sallyport/engine/testing";
import { failure } from "@sallyport/protocol";
import { describe, expect, it } from "vitest";
import { asks, finish, oneTurn, outline, says, scriptedLoop } from "./fixtures/scripted-loop.ts";
import { READ, writer } from "./fixtures/tools.ts";

describe("a turn", () => {
  it("goes from the model to the tool and back to the model, everything on record in order [FR-MODE-03] [FR-RES-01] [FR-RES-02] [FR-REG-05]", async () => {
    const { conversation, prompts, parts } = await scriptedLoop({
      tools: [READ],
      answers: [asks({ id: "c1", name: "look", input: { what: "sea" } }), says("It is blue.")],
    });
    expect(await conversation.send("What is there?")).toEqual({ kind: "done", text: "It is blue." });
    expect(outline(conversation.turns)).toEqual([
      "user: What is there?",
      "use c1 look",
      "result c1: saw sea",
      "assistant: It is blue.",
    ]);
    expect(prompts[1]?.prompt.map(({ role }) => role)).toEqual(["user", "assistant", "tool"]);
    expect(prompts[0]?.tools?.map(({ name }) => name)).toEqual(["look"]);
    expect(await parts.conversations.journal.openOf(conversation.id)).toBeUndefined();
    expect((await parts.conversations.get(conversation.id))?.title).toBe("What is there?");
    expect(conversation.state).toEqual({ state: "idle" });
  });

  it("gives every call exactly one result, in call order, and goes on after a failure [FR-EXE-01] [FR-EXE-02] [FR-RES-01] [NFR-REL-01] [FR-EXE-04b]", async () => {
    const fails: FixtureTool = {
      id: "fails",
      run: () => {
        throw new Error("no \u001b[31mluck");
      },
    };
    const { conversation } = await scriptedLoop({
      tools: [READ, fails],
      answers: [
        asks(
          { id: "a", name: "fails" },
          { id: "b", name: "nobody" },
          { id: "c", name: "look", input: { what: "x" } },
        ),
        says("done"),
      ],
    });
    await conversation.send("go");
    const [, , , , a, b, c] = outline(conversation.turns);
    expect(a).toBe("result a error: Tool panicked: no luck");
    expect(b).toMatch(/^result b error: Unknown tool: nobody/);
    expect(c).toBe("result c: saw x");
  });

  it("tells what happens in order: started, then completed [FR-OUT-01] [FR-TUI-02]", async () => {
    const { events } = await oneTurn(asks({ id: "c1", name: "look", input: { what: "a" } }), {
      tools: [READ],
    });
    expect(events.map(({ kind }) => kind)).toEqual([
      "state",
      "call",
      "state",
      "planned",
      "started",
      "completed",
      "state",
      "text",
      "state",
    ]);
  });

  it("journals what comes in before it acts on it, half-received arguments too [FR-RES-04]", async () => {
    const seen: unknown[] = [];
    const loop = await scriptedLoop({
      tools: [READ],
      answers: [
        async function* () {
          yield { type: "text-delta", id: "t", delta: "let me see" };
          yield { type: "tool-input-start", id: "c1", toolName: "look" };
          yield { type: "tool-input-delta", id: "c1", delta: '{"wh' };
          seen.push(await loop.conversations.journal.openOf(loop.conversation.id));
          yield { type: "tool-input-delta", id: "c1", delta: 'at":"x"}' };
          yield { type: "tool-call", toolCallId: "c1", toolName: "look", input: '{"what":"x"}' };
          yield finish("tool-calls");
        },
        says("ok"),
      ],
    });
    await loop.conversation.send("go");
    expect(seen).toMatchObject([
      {
        phase: "streaming",
        text: "let me see",
        calls: [{ index: 0, id: "c1", name: "look", arguments: '{"wh' }],
      },
    ]);
  });

  it("ends with the model's trouble, and keeps what was said until then", async () => {
    const error = { type: "failed" as const, error: failure("E3959") };
    const { conversation } = await scriptedLoop({
      answers: [[{ type: "text-delta", id: "t", delta: "half a" }, error], says("again")],
    });
    expect(await conversation.send("go")).toMatchObject({ kind: "failed", error: { code: "E3959" } });
    expect(outline(conversation.turns)).toEqual(["user: go", "assistant: half a"]);
    expect(await conversation.send("once more")).toEqual({ kind: "done", text: "again" });
  });

  it("is one at a time", async () => {
    const { conversation } = await scriptedLoop({ answers: [says("one")] });
    const first = conversation.send("a");
    expect(await conversation.send("b")).toMatchObject({ kind: "failed", error: { code: "E3958" } });
    expect(await first).toEqual({ kind: "done", text: "one" });
  });

  it("does not go on for ever: beyond the limit calls are refused, and a stubborn model is left [FR-LIM-02] [FR-RES-03]", async () => {
    const ran: unknown[] = [];
    const tool: FixtureTool = { id: "look", run: (input) => ran.push(input) };
    const { conversation, prompts } = await scriptedLoop({
      tools: [tool],
      answers: Array.from({ length: 30 }, (_, n) => asks({ id: `c${n}`, name: "look" })),
      settings: { limits: { maxToolIterationsPerUserTurn: 2 } },
    });
    expect(await conversation.send("go")).toMatchObject({ kind: "done" });
    expect(ran).toHaveLength(2);
    const results = outline(conversation.turns).filter((line) => line.startsWith("result"));
    expect(results.slice(2)).toEqual(
      ["c2", "c3", "c4"].map((id) => `result ${id} error: Max tool iterations reached`),
    );
    expect(prompts.map(({ toolChoice }) => toolChoice?.type)).toEqual([
      "auto",
      "auto",
      "auto",
      "none",
      "none",
    ]);
  });

  it("runs calls that only read side by side where that is allowed, results in call order [FR-EXE-01] [D-2]", async () => {
    let running = 0;
    let most = 0;
    const slow: FixtureTool = {
      id: "look",
      run: async (input) => {
        running += 1;
        most = Math.max(most, running);
        await sleep(Object(input).ms);
        running -= 1;
        return Object(input).ms;
      },
    };
    const batch = asks(
      { id: "a", name: "look", input: { ms: 60 } },
      { id: "b", name: "look", input: { ms: 5 } },
      { id: "c", name: "look", input: { ms: 20 } },
    );
    for (const allowParallel of [false, true]) {
      most = 0;
      const { conversation } = await scriptedLoop({
        tools: [slow],
        answers: [batch, says("ok")],
        settings: { allowParallel },
      });
      await conversation.send("go");
      const results = outline(conversation.turns).filter((line) => line.startsWith("result"));
      expect(results).toEqual(["result a: 60", "result b: 5", "result c: 20"]);
      expect(most).toBe(allowParallel ? 3 : 1);
    }
  });
});

describe("modes", () => {
  it("disabled: offers nothing and refuses what is asked for all the same [T-MODE-01] [FR-MODE-01]", async () => {
    const { conversation, prompts } = await scriptedLoop({
      tools: [READ],
      answers: [asks({ id: "c1", name: "look" }), says("then not")],
      settings: { mode: "disabled" },
    });
    expect(await conversation.send("go")).toEqual({ kind: "done", text: "then not" });
    expect(prompts[0]?.tools).toBeUndefined();
    expect(outline(conversation.turns)[2]).toBe("result c1 error: Tool execution disabled");
  });

  it("parse_only: shows the calls, runs nothing, and goes on with the person's results [T-MODE-02] [FR-MODE-02] [FR-TUI-04]", async () => {
    const { tool, ran } = writer();
    const { conversation, prompts } = await scriptedLoop({
      tools: [tool],
      answers: [asks({ id: "a", name: "put", input: { what: 1 } }, { id: "b", name: "put" }), says("thanks")],
      settings: { mode: "parse_only" },
    });
    expect(await conversation.send("go")).toEqual({ kind: "awaiting_results" });
    expect(conversation.state).toMatchObject({
      state: "awaiting_results",
      calls: [{ id: "a", name: "put", arguments: '{"what":1}' }, { id: "b" }],
    });
    expect(await conversation.submit("nope", { content: "x", isError: false })).toMatchObject({
      code: "E3917",
    });
    expect(await conversation.send("hurry")).toMatchObject({ kind: "failed", error: { code: "E3958" } });
    expect(await conversation.submit("b", { content: "broke", isError: true })).toEqual({
      kind: "awaiting_results",
    });
    expect(await conversation.submit("a", { content: "fine", isError: false })).toEqual({
      kind: "done",
      text: "thanks",
    });
    expect(ran).toEqual([]);
    expect(outline(conversation.turns).slice(3, 5)).toEqual(["result a: fine", "result b error: broke"]);
    expect(prompts[1]?.prompt.at(-1)?.role).toBe("tool");
  });

  it("parse_only: who does not want to supply results can leave it", async () => {
    const { conversation } = await scriptedLoop({
      tools: [READ],
      answers: [asks({ id: "a", name: "look" }), says("all right")],
      settings: { mode: "parse_only" },
    });
    await conversation.send("go");
    conversation.cancel();
    await expect.poll(() => conversation.state.state).toBe("idle");
    expect(outline(conversation.turns).at(-1)).toBe("result a error: Cancelled by user");
    expect(await conversation.send("on")).toEqual({ kind: "done", text: "all right" });
  });
});
