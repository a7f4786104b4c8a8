import { describe, expect, it } from "vitest";
import type { StreamEntry } from "./conversations-port.ts";
import { says, scriptedLoop } from "./fixtures/scripted-loop.ts";
import { AnswerBuilder, askDirectly } from "./model-answer.ts";

describe("a model of the AI SDK", () => {
  it("can be asked directly, and one that fails is told like any trouble with a model", async () => {
    const parts = says("hello").filter((part) => part.type !== "failed" && part.type !== "aborted");
    const model = {
      specificationVersion: "v4" as const,
      provider: "test",
      modelId: "one",
      supportedUrls: {},
      doGenerate: () => Promise.reject(new Error("not this way")),
      doStream: async () => ({ stream: ReadableStream.from(parts) }),
    };
    const well = await scriptedLoop({ answers: [], parts: { startModel: askDirectly(model) } });
    expect(await well.conversation.send("hi")).toEqual({ kind: "done", text: "hello" });
    const broken = { ...model, doStream: () => Promise.reject(new Error("no luck")) };
    const ill = await scriptedLoop({ answers: [], parts: { startModel: askDirectly(broken) } });
    expect(await ill.conversation.send("hi")).toMatchObject({ kind: "failed", error: { code: "E3959" } });
  });

  it("keeps two calls of one id apart while they come in turns [FR-VAL-02a]", async () => {
    const recorded: StreamEntry[] = [];
    const answer = new AnswerBuilder({
      record: async (entry) => void recorded.push(entry),
      tell: () => undefined,
      now: () => 0,
    });
    const begin = (id: string) => ({ type: "tool-input-start", id, toolName: "t", wireId: "same" }) as const;
    const delta = (id: string, text: string) => ({ type: "tool-input-delta", id, delta: text }) as const;
    const whole = (id: string, input: string) =>
      ({ type: "tool-call", toolCallId: id, toolName: "t", input, wireId: "same" }) as const;
    for (const part of [begin("x"), begin("y"), delta("x", "1"), delta("y", "2"), delta("x", "3")])
      await answer.take(part);
    for (const part of [whole("y", "2"), whole("x", "13")]) await answer.take(part);
    expect(answer.result().calls).toEqual([
      { index: 0, id: "same", name: "t", arguments: "13" },
      { index: 1, id: "same", name: "t", arguments: "2" },
    ]);
    const pieces = recorded.flatMap((one) => (one.kind === "arguments" ? [`${one.index} ${one.delta}`] : []));
    expect(pieces).toEqual(["0 1", "1 2", "0 3"]);
  });
});
