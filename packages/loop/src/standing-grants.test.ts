import { createMemoryStore } from "@sallyport/engine";
import type { Store } from "@sallyport/engine/ports";
import type { FixtureTool } from "@sallyport/engine/testing";
import { describe, expect, it } from "vitest";
import type { PersonDecision } from "./events.ts";
import { asks, says, scriptedLoop } from "./fixtures/scripted-loop.ts";

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
    const grants = await store.grants.all();
    expect(grants.map((grant) => grant.kind === "standing" && grant.project)).toEqual(["/work/a", "/work/b"]);
  });

  it("holds everywhere where conversations are in no folder", async () => {
    const store = createMemoryStore();
    expect(await askedIn("/work/a", { store })).toBe(1);
    expect(await askedIn("/work/b", { store })).toBe(0);
  });
});
