import { createMemoryStore } from "@sallyport/engine";
import type { Store } from "@sallyport/engine/ports";
import type { FixtureTool } from "@sallyport/engine/testing";
import { describe, expect, it } from "vitest";
import type { PersonDecision } from "./events.ts";
import { asks, oneTurn, outline, says, scriptedLoop } from "./fixtures/scripted-loop.ts";
import { READ, writer } from "./fixtures/tools.ts";

describe("approval", () => {
  const batch = asks(
    { id: "r", name: "look", input: { what: "x" } },
    { id: "w1", name: "put", input: { what: 1 } },
    { id: "w2", name: "put", input: { what: 2 } },
  );

  it("asks about a mixed batch before anything of it runs, and then runs in call order [T-APR-01] [NFR-SEC-04] [FR-APR-02] [FR-APR-03]", async () => {
    const order: string[] = [];
    const { tool, ran } = writer();
    const look: FixtureTool = { id: "look", run: () => order.push("ran") };
    const { conversation, asked, engine } = await oneTurn(batch, {
      tools: [look, tool],
      decide: () => {
        order.push("asked");
        return { kind: "approve_all" };
      },
    });
    expect(order).toEqual(["asked", "ran"]);
    expect(ran).toEqual([{ what: 1 }, { what: 2 }]);
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
    { settings: { policy: { mode: "auto" as const } }, questions: 0, ran: [{ what: 1 }, { what: 2 }] },
    { settings: { policy: { allowlist: ["put"] } }, questions: 0, ran: [{ what: 1 }, { what: 2 }] },
  ])(
    "follows the loop's mode also where the engine's policies know nothing of it: $settings [FR-APR-04]",
    async (given) => {
      const { tool, ran } = writer();
      const { conversation, asked } = await scriptedLoop({
        tools: [READ, tool],
        answers: [batch, says("ok")],
        policies: [],
        settings: given.settings,
        decide: () => ({ kind: "deny_all" }),
      });
      await conversation.send("go");
      expect(asked).toHaveLength(given.questions);
      expect(ran).toEqual(given.ran);
    },
  );

  it("runs only what was selected; the rest is denied [T-APR-02] [FR-APR-03]", async () => {
    const { tool, ran } = writer();
    const { engine, lines } = await oneTurn(batch, {
      tools: [READ, tool],
      decide: (questions) => ({
        kind: "approve_selected",
        indexes: questions.slice(1).map(({ index }) => index),
      }),
    });
    expect(ran).toEqual([{ what: 2 }]);
    expect(lines[5]).toBe("result w1 error: Tool call denied by user");
    const states = (await engine.approvals.list({ limit: 9 })).map(({ standing }) => standing.state);
    expect(states.toSorted()).toEqual(["consumed", "denied"]);
  });

  it("denies all, with the person's reason for the model", async () => {
    const { tool, ran } = writer();
    const { lines } = await oneTurn(batch, {
      tools: [READ, tool],
      decide: () => ({ kind: "deny_all", reason: "not today" }),
    });
    expect(ran).toEqual([]);
    const results = lines.slice(4, 7);
    expect(results).toEqual([
      "result r: saw x",
      "result w1 error: Tool call denied by user: not today",
      "result w2 error: Tool call denied by user: not today",
    ]);
  });

  it("runs with the arguments the person gave instead, and asks again about those that cannot be used", async () => {
    const { tool, ran } = writer();
    const input = { type: "object", properties: { what: { type: "integer" } } };
    const edits = [{ what: "no number" }, { what: 7 }];
    const { asked, refusals, lines } = await oneTurn(asks({ id: "w", name: "put", input: { what: 1 } }), {
      tools: [{ ...tool, input: { $schema: "https://json-schema.org/draft/2020-12/schema", ...input } }],
      decide: ([question]) => ({
        kind: "each",
        words: new Map([[question?.index ?? 0, { kind: "edit", input: edits.shift() ?? {} }]]),
      }),
    });
    expect(ran).toEqual([{ what: 7 }]);
    expect(lines[2]).toBe('result w: [A person changed the arguments to {"what":7}]\nput');
    expect(asked).toHaveLength(2);
    expect(refusals).toEqual(["E3901"]);
  });

  it("where nobody is there what needs a person does not run, and nothing waits [FR-APR-05]", async () => {
    const { tool, ran } = writer();
    const { conversation, engine } = await scriptedLoop({
      tools: [READ, tool],
      answers: [batch, says("ok")],
      headless: true,
    });
    expect(await conversation.send("go")).toMatchObject({ kind: "done" });
    expect(ran).toEqual([]);
    expect(outline(conversation.turns)[5]).toMatch(/result w1 error: .*approval/);
    expect(await engine.approvals.list({ limit: 9, states: ["pending"] })).toEqual([]);
  });

  it("a denylisted tool is refused without a question, whatever the mode [FR-APR-04] [NFR-SEC-06]", async () => {
    const { tool, ran } = writer();
    const { asked } = await oneTurn(asks({ id: "w", name: "put" }), {
      tools: [tool],
      settings: { policy: { mode: "auto", denylist: ["put"] } },
    });
    expect([ran, asked]).toEqual([[], []]);
  });
});

const put: FixtureTool = { id: "put", conduct: { sideEffects: "state" }, run: () => "put" };

const ALWAYS: PersonDecision = {
  kind: "approve",
  always: { arguments: "any", agent: "this", tier: "user" },
};

interface House {
  store: Store;
  /** What an "always" is bound to. */
  project?: string;
}

/** A conversation in a folder of the house in which `put` is called; how often the person was asked. */
async function askedIn(folder: string, { store, project }: House): Promise<number> {
  const { conversation, asked, engine } = await scriptedLoop({
    tools: [put],
    answers: [asks({ id: "p", name: "put" }), says("ok")],
    house: { store, folder },
    ...(project !== undefined && { parts: { project } }),
    decide: (questions) => ({
      kind: "each",
      words: new Map(questions.map(({ index }) => [index, ALWAYS])),
    }),
  });
  expect(await conversation.send("go")).toEqual({ kind: "done", text: "ok" });
  expect(conversation.turns.find(({ kind }) => kind === "tool_result")).toMatchObject({ isError: false });
  await engine.close();
  return asked.length;
}

describe("what a person allows for good", () => {
  it("holds in the folder it was said in, and in no other folder of the house [R3-2]", async () => {
    const store = createMemoryStore();
    for (const [folder, asked] of [
      ["/work/a", 1],
      ["/work/a", 0],
      ["/work/b", 1],
    ] as const) {
      expect(await askedIn(folder, { store, project: folder }), folder).toBe(asked);
    }
    const grants = (await store.grants.changedSince()).changed;
    expect(grants.map((grant) => grant.kind === "standing" && grant.project)).toEqual(["/work/a", "/work/b"]);
  });

  it("holds everywhere where conversations are in no folder", async () => {
    const store = createMemoryStore();
    expect(await askedIn("/work/a", { store })).toBe(1);
    expect(await askedIn("/work/b", { store })).toBe(0);
  });
});
