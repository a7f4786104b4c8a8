import type { FixtureTool } from "@sallyport/engine/testing";
import { describe, expect, it } from "vitest";
import { asks, outline, says, scriptedLoop } from "./fixtures/scripted-loop.ts";
import { READ, writer } from "./fixtures/tools.ts";

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

  it.each([
    { settings: {}, questions: 1, ran: [] },
    { settings: { policy: { mode: "auto" as const } }, questions: 0, ran: [1, 2] },
    { settings: { policy: { allowlist: ["put"] } }, questions: 0, ran: [1, 2] },
  ])(
    "follows the loop's mode also where the engine's policies know nothing of it: $settings [FR-APR-04]",
    async (given) => {
      const { tool, wrote } = writer();
      const { conversation, asked } = await scriptedLoop({
        tools: [READ, tool],
        answers: [batch, says("ok")],
        policies: [],
        settings: given.settings,
        decide: () => ({ kind: "deny_all" }),
      });
      await conversation.send("go");
      expect(asked).toHaveLength(given.questions);
      expect(wrote).toEqual(given.ran);
    },
  );

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
