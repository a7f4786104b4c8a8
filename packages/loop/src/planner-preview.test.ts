import { type Failure, type FileEffects, failure, type JsonValue } from "@sallyport/protocol";
import { describe, expect, it } from "vitest";
import { calls, codesOf, planningContext, reasonOf, tool } from "./fixtures/planning.ts";
import { asks, oneTurn, outline, says, scriptedLoop } from "./fixtures/scripted-loop.ts";
import { recording } from "./fixtures/tools.ts";
import { planBatch } from "./planner.ts";
import type { LoopTool } from "./tools.ts";

const STALE = failure("E3952", { message: "Stale file a: File content changed since last read" });
const UNFIT = failure("E3951", { message: "Patch failed for a: patch line 2: not found" });
const NOTHING: FileEffects = { root: "/", files: [], omitted: 0, diffsCut: false, digest: "" };

type Preview = () => Promise<FileEffects | Failure | undefined>;
const patching = (preview: Preview): LoopTool => tool("apply_patch", { sideEffects: true, preview });
const planned = async (preview: Preview, ...names: string[]) => {
  const tools = [patching(preview), tool("read_file"), tool("write_file", { sideEffects: true })];
  return await planBatch(calls(...names), planningContext({ tools, plan: planFor }).context);
};
const planFor = (_input: JsonValue, id: string) => {
  const said = { summary: `About ${id}`, risk: "medium" } as const;
  return id === "sp.read_file"
    ? ({ kind: "run", ...said } as const)
    : ({ kind: "ask", because: "policy", ...said } as const);
};

describe("a call that its tool would refuse", () => {
  it("is answered with that before anybody is asked [FR-VAL-02] [FR-APR-02]", async () => {
    const [call] = await planned(async () => UNFIT, "apply_patch");
    expect(call).toMatchObject({
      kind: "resolved",
      error: UNFIT,
      summary: "About sp.apply_patch",
      risk: "medium",
    });
    expect(reasonOf(call)).toMatch(/^Patch failed for a: /);
  });

  it.each<[string, Failure, string[], string[]]>([
    ["after one that changes things", UNFIT, ["write_file", "apply_patch"], ["confirm", "confirm"]],
    ["after one that only reads", UNFIT, ["read_file", "apply_patch"], ["execute", "E3951"]],
    ["that was read too long ago, after a read", STALE, ["read_file", "apply_patch"], ["execute", "confirm"]],
    ["after one that is refused too", STALE, ["apply_patch", "apply_patch"], ["E3952", "E3952"]],
    ["before one that changes things", STALE, ["apply_patch", "write_file"], ["E3952", "confirm"]],
    ["after one that nobody knows", STALE, ["nobody", "apply_patch"], ["E3001", "E3952"]],
  ])("%s: only what cannot be mended by then [FR-APR-02]", async (_which, error, names, outcome) => {
    expect(codesOf(await planned(async () => error, ...names))).toEqual(outcome);
  });

  it("is asked about when the tool cannot tell, breaks, or takes too long to say", async () => {
    for (const preview of [
      async () => undefined,
      async () => NOTHING,
      () => Promise.reject(new Error("boom")),
    ]) {
      expect(codesOf(await planned(preview, "apply_patch"))).toEqual(["confirm"]);
    }
    const settings = { previewMs: 20 };
    const { context } = planningContext({
      tools: [patching(() => new Promise(() => undefined))],
      plan: planFor,
    });
    expect(codesOf(await planBatch(calls("apply_patch"), { ...context, ...settings }))).toEqual(["confirm"]);
  });

  it("is refused for its paths or by the mode first [FR-APR-05]", async () => {
    const path = failure("E3955", { message: "outside" });
    const seen: string[] = [];
    const preview = async () => {
      seen.push("previewed");
      return UNFIT;
    };
    const tools = [tool("apply_patch", { sideEffects: true, preview, preflight: async () => path })];
    expect(codesOf(await planBatch(calls("apply_patch"), planningContext({ tools }).context))).toEqual([
      "E3955",
    ]);
    const denying = planningContext({ tools: [patching(preview)], policy: { mode: "deny" } });
    expect(codesOf(await planBatch(calls("apply_patch"), denying.context))).toEqual(["E3953"]);
    expect(seen).toEqual([]);
  });
});

function patchTool(preview: LoopTool["preview"]) {
  const { ran, tool: fixture } = recording("put", { conduct: { sideEffects: "state" } });
  const face = tool("put", { tool: "put", sideEffects: true, ...(preview && { preview }) });
  return { ran, fixture, face };
}

describe("in a conversation", () => {
  it("a call that cannot be done is told to the model and never shown as a question [FR-VAL-02] [FR-APR-03]", async () => {
    const { ran, fixture, face } = patchTool(async () => UNFIT);
    const { conversation, asked, events, engine } = await scriptedLoop({
      tools: [fixture],
      customTools: [face],
      answers: [asks({ id: "p", name: "put" }), says("I read it again")],
    });
    expect(await conversation.send("go")).toMatchObject({ kind: "done" });
    expect([asked, ran]).toEqual([[], []]);
    expect(await engine.approvals.list({ limit: 9 })).toEqual([]);
    expect(outline(conversation.turns)[2]).toMatch(/^result p error: Patch failed for a: /);
    const said = events.filter(({ kind }) => kind === "planned" || kind === "resolved");
    expect(said).toMatchObject([
      { kind: "planned", calls: [{ id: "p", call: { state: "resolved" } }] },
      { kind: "resolved", id: "p" },
    ]);
  });

  it("what the call would change is shown with the question, and found out once", async () => {
    let looked = 0;
    const { ran, fixture, face } = patchTool(async () => {
      looked += 1;
      return NOTHING;
    });
    const { asked } = await oneTurn(asks({ id: "p", name: "put" }), {
      tools: [fixture],
      customTools: [face],
    });
    expect(asked).toMatchObject([[{ id: "p", preview: NOTHING }]]);
    expect([looked, ran]).toEqual([1, [{}]]);
  });

  it("arguments of the person's that cannot be done either are not taken", async () => {
    const { ran, fixture, face } = patchTool(async (input) =>
      Object(input).fits === false ? UNFIT : NOTHING,
    );
    const edits = [{ fits: false }, { fits: true }];
    const { refusals } = await oneTurn(asks({ id: "p", name: "put" }), {
      tools: [fixture],
      customTools: [face],
      decide: ([question]) => ({
        kind: "each",
        words: new Map([[question?.index ?? 0, { kind: "edit", input: edits.shift() ?? {} }]]),
      }),
    });
    expect([refusals, ran]).toEqual([["E3951"], [{ fits: true }]]);
  });
});
