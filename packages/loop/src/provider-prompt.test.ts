import type { LanguageModelV4Prompt } from "@ai-sdk/provider";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Turn } from "./conversations-port.ts";
import { promptOf } from "./prompt.ts";

const at = 0;
const user = (text: string): Turn => ({ kind: "user", text, at });
const says = (text: string): Turn => ({ kind: "assistant", text, at });
const use = (id: string, args = "{}"): Turn => ({ kind: "tool_use", id, name: "t", arguments: args, at });
const result = (id: string, content = "ok", isError = false): Turn => ({
  kind: "tool_result",
  id,
  name: "t",
  isError,
  content,
  at,
});

const rolesOf = (prompt: LanguageModelV4Prompt) => prompt.map(({ role }) => role);
const saidIn = (prompt: LanguageModelV4Prompt) =>
  prompt.flatMap((message) => (message.role === "assistant" ? message.content : []));
const resultsIn = (prompt: LanguageModelV4Prompt) =>
  prompt.flatMap((message) => (message.role === "tool" ? message.content : []));

/** What a provider refuses; empty for a history it takes. */
function faultsOf(prompt: LanguageModelV4Prompt): string[] {
  const faults: string[] = [];
  const ids = saidIn(prompt).flatMap((part) => (part.type === "tool-call" ? [part.toolCallId] : []));
  if (new Set(ids).size !== ids.length) faults.push("an id twice");
  if (ids.some((id) => !/^[\w-]+$/.test(id))) faults.push("a bad id");
  prompt.forEach((message, index) => {
    const next = prompt[index + 1];
    if (message.role === "system" && index > 0) faults.push("system inside");
    if (message.content.length === 0) faults.push("empty message");
    if (next?.role === message.role) faults.push(`${message.role} twice`);
    if (message.role === "tool" && prompt[index - 1]?.role !== "assistant") faults.push("results of nothing");
    if (message.role !== "assistant") return;
    const calls = message.content.flatMap((part) => (part.type === "tool-call" ? [part.toolCallId] : []));
    const answers = next?.role === "tool" ? next.content : [];
    const answered = answers.flatMap((part) => (part.type === "tool-result" ? [part.toolCallId] : []));
    if (calls.join() !== answered.join()) faults.push("calls and results differ");
    const kinds = message.content.map(({ type }) => type);
    if (kinds.includes("tool-call") && kinds.lastIndexOf("text") > kinds.indexOf("tool-call"))
      faults.push("text after a call");
  });
  return faults;
}

const id = fc.constantFrom("a", "b", "c", "a_2", "x.y", "");
const anyTurn: fc.Arbitrary<Turn> = fc.oneof(
  fc.constantFrom("hi", "").map(user),
  fc.constantFrom("so", "").map(says),
  fc.constantFrom<Turn>(
    { kind: "reasoning", text: "hm", at },
    { kind: "reasoning", text: "", at, meta: { p: { s: 1 } } },
  ),
  fc.tuple(id, fc.constantFrom("{}", "[", "")).map(([one, args]) => use(one, args)),
  fc.tuple(id, fc.boolean()).map(([one, isError]) => result(one, "r", isError)),
);

describe("a history as a provider takes it", () => {
  it("is in a valid order for any turns [FR-8.1]", () => {
    fc.assert(
      fc.property(
        fc.array(anyTurn, { maxLength: 30, size: "max" }),
        fc.option(fc.string(), { nil: undefined }),
        (turns, system) => {
          expect(faultsOf(promptOf(turns, system))).toEqual([]);
        },
      ),
    );
  });

  it("loses nothing that was said and no call [FR-8.1]", () => {
    fc.assert(
      fc.property(fc.array(anyTurn, { maxLength: 30, size: "max" }), (turns) => {
        const count = (kind: Turn["kind"]) =>
          turns.filter((turn) => turn.kind === kind && !("text" in turn && turn.text === "")).length;
        const prompt = promptOf(turns);
        const texts = prompt.flatMap((message) => (message.role === "user" ? message.content : []));
        const parts = saidIn(prompt);
        expect(texts).toHaveLength(count("user"));
        expect(parts.filter(({ type }) => type === "text")).toHaveLength(count("assistant"));
        expect(parts.filter(({ type }) => type === "tool-call")).toHaveLength(count("tool_use"));
      }),
    );
  });

  it("puts all results of an answer into one message directly after it, in call order [FR-8.1]", () => {
    const prompt = promptOf(
      [user("go"), says("I"), use("a"), use("b"), result("b", "B"), result("a", "A"), says("done")],
      "Be brief.",
    );
    expect(prompt[0]).toEqual({ role: "system", content: "Be brief." });
    expect(rolesOf(prompt)).toEqual(["system", "user", "assistant", "tool", "assistant"]);
    expect(prompt[3]?.content).toEqual([
      { type: "tool-result", toolCallId: "a", toolName: "t", output: { type: "text", value: "A" } },
      { type: "tool-result", toolCallId: "b", toolName: "t", output: { type: "text", value: "B" } },
    ]);
  });

  it("supplies a missing result and leaves out one without a call [FR-8.1]", () => {
    const prompt = promptOf([user("go"), result("z"), use("a"), user("and?"), result("q")]);
    expect(rolesOf(prompt)).toEqual(["user", "assistant", "tool", "user"]);
    expect(resultsIn(prompt)).toMatchObject([
      { output: { type: "error-text", value: "Missing tool result" } },
    ]);
  });

  it("brings a late result back to its call, and gives each of two equal ids its own [FR-8.1]", () => {
    const late = promptOf([use("a"), user("well?"), result("a", "late")]);
    expect(rolesOf(late)).toEqual(["assistant", "tool", "user"]);
    expect(resultsIn(late)).toMatchObject([{ output: { value: "late" } }]);
    const twice = promptOf([
      use("a"),
      use("a"),
      result("a", "1"),
      result("a", "2", true),
      use("a"),
      result("a", "3"),
    ]);
    expect(resultsIn(twice)).toMatchObject([
      { toolCallId: "a", output: { type: "text", value: "1" } },
      { toolCallId: "a_2", output: { type: "error-text", value: "2" } },
      { toolCallId: "a_3", output: { type: "text", value: "3" } },
    ]);
  });

  it("gives a later call's result to the later call, although an earlier one of that id has none [FR-8.1]", () => {
    const prompt = promptOf([use("a"), user("again"), use("a"), result("a", "mine")]);
    expect(resultsIn(prompt)).toMatchObject([
      { output: { value: "Missing tool result" } },
      { output: { value: "mine" } },
    ]);
  });

  it("sends arguments as an object, whatever the model wrote [FR-8.1]", () => {
    const inputs = saidIn(promptOf(['{"p":1}', "", "[1]", "{bro"].map((args, n) => use(`${n}`, args))));
    expect(inputs.map((part) => "input" in part && part.input)).toEqual([
      { p: 1 },
      {},
      { _raw: "[1]" },
      { _raw: "{bro" },
    ]);
  });

  it("gives the provider back what it wants back, and nothing that it would not understand [FR-8.1]", () => {
    const thought: Turn = {
      kind: "reasoning",
      text: "hm",
      at,
      meta: { anthropic: { signature: "s" }, odd: 1 },
    };
    const prompt = promptOf([user("x"), thought, { kind: "assistant", text: "y", at, meta: "odd" }]);
    expect(prompt[1]?.content).toEqual([
      { type: "reasoning", text: "hm", providerOptions: { anthropic: { signature: "s" } } },
      { type: "text", text: "y" },
    ]);
  });

  it("takes a long history with one id all along in little time [FR-8.1]", () => {
    const turns = Array.from({ length: 20_000 }, (_, n) => (n % 2 === 0 ? use("call_0") : result("call_0")));
    const began = performance.now();
    expect(promptOf(turns)).toHaveLength(20_000);
    expect(performance.now() - began).toBeLessThan(20_000);
  });
});
