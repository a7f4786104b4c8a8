import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { FixtureTool } from "../testing/fixture-engine.ts";
import { asks, finish, outline, says, scriptedLoop } from "./fixtures/scripted-loop.ts";

const READ: FixtureTool = { id: "look", run: (input) => `saw ${Object(input).what}` };

function writer() {
  const wrote: unknown[] = [];
  const tool: FixtureTool = {
    id: "put",
    conduct: { sideEffects: "external" },
    run: (input) => {
      wrote.push(Object(input).what);
      return "put";
    },
  };
  return { wrote, tool };
}

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
    expect(a).toBe("result a error: fails failed: no luck");
    expect(b).toMatch(/^result b error: Unknown tool: nobody/);
    expect(c).toBe("result c: saw x");
  });

  it("tells what happens in order: started, then completed [FR-OUT-01] [FR-TUI-02]", async () => {
    const { conversation, events } = await scriptedLoop({
      tools: [READ],
      answers: [asks({ id: "c1", name: "look", input: { what: "a" } }), says("ok")],
    });
    await conversation.send("go");
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
    const error = { type: "failed" as const, error: (await import("@sallyport/protocol")).failure("E3959") };
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

  it("runs calls that only read side by side where that is allowed, results in call order [FR-EXE-01]", async () => {
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
    const { tool, wrote } = writer();
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
    expect(wrote).toEqual([]);
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

describe("approval", () => {
  const batch = asks(
    { id: "r", name: "look", input: { what: "x" } },
    { id: "w1", name: "put", input: { what: 1 } },
    { id: "w2", name: "put", input: { what: 2 } },
  );

  it("asks about a mixed batch before anything of it runs, and then runs in call order [T-APR-01] [NFR-SEC-04] [FR-APR-02] [FR-APR-03]", async () => {
    const order: string[] = [];
    const { tool, wrote } = writer();
    const look: FixtureTool = { id: "look", run: () => order.push("ran") };
    const { conversation, asked, engine } = await scriptedLoop({
      tools: [look, tool],
      answers: [batch, says("ok")],
      decide: () => {
        order.push("asked");
        return { kind: "approve_all" };
      },
    });
    await conversation.send("go");
    expect(order).toEqual(["asked", "ran"]);
    expect(wrote).toEqual([1, 2]);
    expect(asked[0]).toMatchObject([
      { id: "w1", name: "put", because: "policy", summary: "put run what=1", input: { what: 1 } },
      { id: "w2" },
    ]);
    const records = await engine.approvals.list({ limit: 9 });
    expect(records.map(({ standing }) => standing.state)).toEqual(["consumed", "consumed"]);
    expect(records[0]).toMatchObject({ session: conversation.id, votes: [{ by: "ann" }] });
  });

  it("runs only what was selected; the rest is denied [T-APR-02] [FR-APR-03]", async () => {
    const { tool, wrote } = writer();
    const { conversation, engine } = await scriptedLoop({
      tools: [READ, tool],
      answers: [batch, says("ok")],
      decide: (questions) => ({
        kind: "approve_selected",
        indexes: questions.slice(1).map(({ index }) => index),
      }),
    });
    await conversation.send("go");
    expect(wrote).toEqual([2]);
    expect(outline(conversation.turns)[5]).toBe("result w1 error: Tool call denied by user");
    const states = (await engine.approvals.list({ limit: 9 })).map(({ standing }) => standing.state);
    expect(states.toSorted()).toEqual(["consumed", "denied"]);
  });

  it("denies all, with the person's reason for the model", async () => {
    const { tool, wrote } = writer();
    const { conversation } = await scriptedLoop({
      tools: [READ, tool],
      answers: [batch, says("ok")],
      decide: () => ({ kind: "deny_all", reason: "not today" }),
    });
    await conversation.send("go");
    expect(wrote).toEqual([]);
    const results = outline(conversation.turns).slice(4, 7);
    expect(results).toEqual([
      "result r: saw x",
      "result w1 error: Tool call denied by user: not today",
      "result w2 error: Tool call denied by user: not today",
    ]);
  });

  it("runs with the arguments the person gave instead, and asks again about those that cannot be used", async () => {
    const { tool, wrote } = writer();
    const input = { type: "object", properties: { what: { type: "integer" } } };
    const edits = [{ what: "no number" }, { what: 7 }];
    const { conversation, asked, refusals } = await scriptedLoop({
      tools: [{ ...tool, input: { $schema: "https://json-schema.org/draft/2020-12/schema", ...input } }],
      answers: [asks({ id: "w", name: "put", input: { what: 1 } }), says("ok")],
      decide: ([question]) => ({
        kind: "each",
        words: new Map([[question?.index ?? 0, { kind: "edit", input: edits.shift() ?? {} }]]),
      }),
    });
    await conversation.send("go");
    expect(wrote).toEqual([7]);
    expect(outline(conversation.turns)[2]).toBe(
      'result w: [A person changed the arguments to {"what":7}]\nput',
    );
    expect(asked).toHaveLength(2);
    expect(refusals).toEqual(["E3901"]);
  });

  it("where nobody is there what needs a person does not run, and nothing waits [FR-APR-05]", async () => {
    const { tool, wrote } = writer();
    const { conversation, engine } = await scriptedLoop({
      tools: [READ, tool],
      answers: [batch, says("ok")],
      headless: true,
    });
    expect(await conversation.send("go")).toMatchObject({ kind: "done" });
    expect(wrote).toEqual([]);
    expect(outline(conversation.turns)[5]).toMatch(/result w1 error: .*approval/);
    expect(await engine.approvals.list({ limit: 9, states: ["pending"] })).toEqual([]);
  });

  it("a denylisted tool is refused without a question, whatever the mode [FR-APR-04] [NFR-SEC-06]", async () => {
    const { tool, wrote } = writer();
    const { conversation, asked } = await scriptedLoop({
      tools: [tool],
      answers: [asks({ id: "w", name: "put" }), says("ok")],
      settings: { policy: { mode: "auto", denylist: ["put"] } },
    });
    await conversation.send("go");
    expect([wrote, asked]).toEqual([[], []]);
  });
});

describe("cancelling", () => {
  it("marks the running call and the rest, records everything, and does not resume [T-CAN-01] [FR-EXE-04] [NFR-REL-03]", async () => {
    const started = Promise.withResolvers<void>();
    const { tool, wrote } = writer();
    const hang: FixtureTool = {
      id: "hang",
      run: (_input, { signal }) => {
        started.resolve();
        return new Promise((resolve) => signal.addEventListener("abort", () => resolve("late")));
      },
    };
    const { conversation, prompts, engine } = await scriptedLoop({
      tools: [READ, hang, tool],
      answers: [
        asks(
          { id: "a", name: "look", input: { what: "x" } },
          { id: "b", name: "hang" },
          { id: "c", name: "put" },
        ),
        says("never"),
      ],
    });
    const turn = conversation.send("go");
    await started.promise;
    conversation.cancel();
    expect(await turn).toEqual({ kind: "cancelled" });
    expect(outline(conversation.turns).slice(4)).toEqual([
      "result a: saw x",
      "result b error: Cancelled by user",
      "result c error: Cancelled by user",
    ]);
    expect(prompts).toHaveLength(1);
    expect(wrote).toEqual([]);
    expect(conversation.state).toEqual({ state: "idle" });
    const [record] = await engine.approvals.list({ limit: 1 });
    expect(record?.standing.state).toBe("withdrawn");
  });

  it("while the person is asked withdraws the questions", async () => {
    const { tool, wrote } = writer();
    const loop = await scriptedLoop({
      tools: [tool],
      answers: [asks({ id: "w", name: "put" }), says("never")],
      decide: (_questions, signal) => {
        loop.conversation.cancel();
        expect(signal.aborted).toBe(true);
        return { kind: "approve_all" };
      },
    });
    expect(await loop.conversation.send("go")).toEqual({ kind: "cancelled" });
    expect(wrote).toEqual([]);
    expect(outline(loop.conversation.turns).at(-1)).toBe("result w error: Cancelled by user");
    const [record] = await loop.engine.approvals.list({ limit: 1 });
    expect(record?.standing.state).not.toMatch(/pending|approved/);
  });

  it("while the model speaks keeps what it said, even if it does not stop", async () => {
    const speaking = Promise.withResolvers<void>();
    const { conversation } = await scriptedLoop({
      answers: [
        async function* () {
          yield { type: "text-delta", id: "t", delta: "so far" };
          speaking.resolve();
          await new Promise(() => undefined);
        },
      ],
    });
    const turn = conversation.send("go");
    await speaking.promise;
    await sleep(5);
    conversation.cancel();
    expect(await turn).toEqual({ kind: "cancelled" });
    expect(outline(conversation.turns)).toEqual(["user: go", "assistant: so far"]);
  });
});

describe("output", () => {
  const long: FixtureTool = { id: "look", run: () => "x".repeat(5_000) };

  it("is cut to what there is room for, the marker included, and less for each call of a batch [FR-OUT-04] [FR-REG-04]", async () => {
    const { conversation } = await scriptedLoop({
      tools: [long],
      answers: [asks({ id: "a", name: "look" }, { id: "b", name: "look" }), says("ok")],
      settings: {
        limits: { maxOutputBytes: 3_000 },
        window: { contextTokens: 15 + 256 + 100 + 1_000, responseReserveTokens: 100 },
      },
    });
    await conversation.send("go");
    const results = conversation.turns.flatMap((turn) => (turn.kind === "tool_result" ? [turn.content] : []));
    expect(results.map((text) => text.length)).toEqual([3_000, 1_000]);
    expect(results.every((text) => text.endsWith("... [output truncated]"))).toBe(true);
  });

  it("that is too long is kept whole where that is possible, and the model is told how to read on [FR-OUT-04]", async () => {
    const kept: string[] = [];
    const { conversation } = await scriptedLoop({
      tools: [long],
      answers: [asks({ id: "a", name: "look" }), says("ok")],
      settings: { limits: { maxOutputBytes: 1_000 } },
      parts: {
        spill: {
          keep: async ({ text }) => {
            kept.push(text);
            return "s1";
          },
          hint: (name) => `Read ${name}.`,
        },
      },
    });
    await conversation.send("go");
    const [content = ""] = conversation.turns.flatMap((turn) =>
      turn.kind === "tool_result" ? [turn.content] : [],
    );
    expect(kept).toEqual(["x".repeat(5_000)]);
    expect(content.length).toBeLessThanOrEqual(1_000);
    expect(content).toMatch(/^x+\n\n\.\.\. \[output truncated\] \d+ bytes left out here\. Read s1\.\n\nx+$/);
  });
});

describe("time", () => {
  it("is the loop's for a tool that states none [FR-EXE-03] [CFG-TMO-01]", async () => {
    const { conversation } = await scriptedLoop({
      tools: [{ id: "slow", run: () => new Promise(() => undefined) }],
      answers: [asks({ id: "a", name: "slow" }), says("ok")],
      settings: { defaultTimeoutMs: 40 },
    });
    await conversation.send("go");
    expect(outline(conversation.turns)[2]).toMatch(/timed out after 0\.04s/);
  });

  it("a tool that takes too long is an error like any other, and the batch goes on [T-TMO-01] [FR-EXE-03] [NFR-REL-02]", async () => {
    const slow: FixtureTool = {
      id: "slow",
      run: () => new Promise(() => undefined),
      conduct: { limits: { timeoutMs: 30 } },
    };
    const { conversation } = await scriptedLoop({
      tools: [slow, READ],
      answers: [asks({ id: "a", name: "slow" }, { id: "b", name: "look", input: { what: "z" } }), says("ok")],
    });
    await conversation.send("go");
    const [a, b] = outline(conversation.turns).slice(3);
    expect(a).toMatch(/^result a error: Tool 'slow' timed out after 0\.03s/);
    expect(b).toBe("result b: saw z");
  });
});
