import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { LanguageModelV4Prompt } from "@ai-sdk/provider";
import { describe, expect, it } from "vitest";
import {
  type ChatMessage,
  messageOrderProblem,
  openScriptedModel,
} from "../../../../test/fixtures/scripted-model/index.ts";
import { ask, failureOf, modelAt, outline, QUESTION } from "./fixtures/ask.ts";

const USER: ChatMessage = { role: "user", content: "go" };
const SERVE = fileURLToPath(new URL("../../../../test/fixtures/scripted-model/serve.ts", import.meta.url));

function assistant(...ids: string[]): ChatMessage {
  return {
    role: "assistant",
    tool_calls: ids.map((id) => ({ id, function: { name: "f", arguments: "{}" } })),
  };
}

function tool(id: string): ChatMessage {
  return { role: "tool", tool_call_id: id, content: "done" };
}

function toolTurn(...ids: string[]): LanguageModelV4Prompt[number] {
  const output = { type: "text" as const, value: "done" };
  return {
    role: "tool",
    content: ids.map((toolCallId) => ({ type: "tool-result", toolCallId, toolName: "read_file", output })),
  };
}

function callTurn(...ids: string[]): LanguageModelV4Prompt[number] {
  const call = (toolCallId: string) =>
    ({ type: "tool-call", toolCallId, toolName: "read_file", input: {} }) as const;
  return { role: "assistant", content: ids.map(call) };
}

describe("the order of messages that a scripted model accepts [FR-8.1]", () => {
  it("is every result after its call, in any order among themselves", () => {
    expect(messageOrderProblem([USER, assistant("a", "b"), tool("b"), tool("a"), USER])).toBeUndefined();
  });

  it.each<[string, ChatMessage[]]>([
    ["a result is missing at the end", [USER, assistant("a", "b"), tool("a")]],
    ["a result is missing before the next turn", [USER, assistant("a", "b"), tool("a"), USER, tool("b")]],
    ["something comes between", [USER, assistant("a"), { role: "system", content: "x" }, tool("a")]],
    ["a result comes twice", [USER, assistant("a"), tool("a"), tool("a")]],
    ["a result has no call", [USER, tool("a")]],
    ["an id occurs twice", [USER, assistant("a", "a"), tool("a")]],
    ["there is nothing", []],
  ])("is broken when %s", (_what, messages) => {
    expect(messageOrderProblem(messages)).toBeTypeOf("string");
  });

  it("is broken by arguments that are no JSON object", () => {
    const calls = [{ id: "a", function: { name: "f", arguments: '"text"' } }];
    expect(messageOrderProblem([USER, { role: "assistant", tool_calls: calls }, tool("a")])).toContain(
      "JSON object",
    );
  });

  it("is demanded over the wire, and a refused request takes no step", async () => {
    const server = await openScriptedModel([({ messages }) => ({ text: `after ${messages.at(-1)?.role}` })]);
    const model = modelAt({ kind: "openai-compatible", baseUrl: server.url });
    const [user] = QUESTION.prompt;
    if (!user) throw new Error("no question");
    const refused = await ask(model, { question: { prompt: [user, callTurn("a", "b"), toolTurn("a")] } });
    const accepted = await ask(model, {
      question: { prompt: [user, callTurn("a", "b"), toolTurn("a", "b")] },
    });
    await server.close();
    expect(failureOf(refused)?.message).toContain("no answer for: b");
    expect(outline(accepted.parts)).toContain("text-delta after tool");
  });
});

describe("a scripted model", () => {
  it("says that its script is at an end, or begins again", async () => {
    for (const [atEnd, status] of [
      ["refuse", 400],
      ["again", undefined],
    ] as const) {
      const server = await openScriptedModel([{ text: "once" }], { atEnd });
      const model = modelAt({ kind: "openai-compatible", baseUrl: server.url });
      await ask(model);
      const second = await ask(model);
      await server.close();
      expect(failureOf(second)?.details?.status).toBe(status);
    }
  });

  it("lists its model", async () => {
    const server = await openScriptedModel([]);
    const answer = await fetch(`${server.url}/models`).then((response) => response.json());
    await server.close();
    expect(answer).toMatchObject({ data: [{ id: "scripted" }] });
  });

  it("runs in a process of its own", async () => {
    const folder = mkdtempSync(join(tmpdir(), "scripted-model-"));
    const script = join(folder, "script.json");
    writeFileSync(script, JSON.stringify([{ text: ["from", " afar"] }]));
    const child = spawn(process.execPath, [SERVE, script], { stdio: ["ignore", "pipe", "inherit"] });
    const [url] = await once(createInterface(child.stdout), "line");
    const { parts } = await ask(modelAt({ kind: "openai-compatible", baseUrl: url }));
    const exited = once(child, "exit");
    child.kill("SIGTERM");
    expect((await exited)[0]).toBe(0);
    rmSync(folder, { recursive: true });
    expect(outline(parts)).toContain("text-delta  afar");
  });
});
