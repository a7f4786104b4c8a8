import type { LanguageModelV4, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { describe, expect, it } from "vitest";
import { ask, failureOf, outline, QUESTION } from "./fixtures/ask.ts";
import { ModelTrouble } from "./model-trouble.ts";
import type { ModelPart } from "./one-try.ts";
import { startStream } from "./start-stream.ts";

type Try = Error | (LanguageModelV4StreamPart | Error)[];

const START: LanguageModelV4StreamPart = { type: "stream-start", warnings: [] };
const TEXT: LanguageModelV4StreamPart = { type: "text-delta", id: "0", delta: "hello" };
const CUT = new ModelTrouble("cut", "gone");
const FINISH: LanguageModelV4StreamPart = {
  type: "finish",
  finishReason: { unified: "stop", raw: "stop" },
  usage: {
    inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 1, text: 1, reasoning: 0 },
  },
};

/** A model that goes through its tries; an error is thrown, at once or in the middle. */
function modelOf(tries: Try[]): LanguageModelV4 & { asked: number } {
  const model = {
    specificationVersion: "v4" as const,
    provider: "fake",
    modelId: "fake",
    supportedUrls: {},
    asked: 0,
    doGenerate: () => Promise.reject(new Error("not used")),
    doStream: async () => {
      const now = tries[model.asked] ?? new Error("no more tries");
      model.asked += 1;
      if (now instanceof Error) throw now;
      return { stream: ReadableStream.from(partsOf(now)) };
    },
  };
  return model;
}

async function* partsOf(parts: (LanguageModelV4StreamPart | Error)[]) {
  for (const part of parts) {
    if (part instanceof Error) throw part;
    yield part;
  }
}

async function collect(parts: AsyncIterable<ModelPart>): Promise<ModelPart[]> {
  const collected: ModelPart[] = [];
  for await (const part of parts) collected.push(part);
  return collected;
}

describe("starting a model's stream", () => {
  it("tries again what failed before anything was said, and shows one answer only", async () => {
    const model = modelOf([CUT, [START, CUT], [START, TEXT, FINISH]]);
    const { parts, waits } = await ask(model);
    expect(outline(parts)).toEqual(["stream-start", "text-delta hello", "finish stop"]);
    expect(waits).toEqual([500, 2_000]);
  });

  it("gives up after two further tries", async () => {
    const model = modelOf([CUT, CUT, CUT, [START, TEXT, FINISH]]);
    expect(failureOf(await ask(model))).toMatchObject({ code: "E3959", retryable: true });
    expect(model.asked).toBe(3);
  });

  it("never asks again once a part was given out", async () => {
    const model = modelOf([
      [START, TEXT, CUT],
      [START, TEXT, FINISH],
    ]);
    const { parts, waits } = await ask(model);
    expect(outline(parts)).toEqual(["stream-start", "text-delta hello", "failed"]);
    expect([model.asked, waits]).toEqual([1, []]);
  });

  it("does not try again after a time-out or what is wrong for good", async () => {
    for (const trouble of [new ModelTrouble("timeout", "slow"), new ModelTrouble("protocol", "odd")]) {
      const model = modelOf([trouble, [START, FINISH]]);
      expect(failureOf(await ask(model))?.code).toBe("E3959");
      expect(model.asked).toBe(1);
    }
  });

  it.each([
    ["nothing at the end", [START, TEXT]],
    [
      "an interrupted finish",
      [START, TEXT, { ...FINISH, finishReason: { unified: "interrupted" as const, raw: undefined } }],
    ],
    [
      "an error finish",
      [START, TEXT, { ...FINISH, finishReason: { unified: "error" as const, raw: undefined } }],
    ],
  ])("calls an answer with %s broken off", async (_what, parts) => {
    expect(failureOf(await ask(modelOf([parts])))).toMatchObject({ details: { kind: "cut" } });
  });

  it("takes the first error of a stream for its end", async () => {
    const spoken: LanguageModelV4StreamPart = { type: "error", error: { message: "quota", code: "x" } };
    const { parts } = await ask(modelOf([[START, TEXT, spoken, TEXT, FINISH]]));
    expect(outline(parts)).toEqual(["stream-start", "text-delta hello", "failed"]);
  });

  it("stops while it waits between tries", async () => {
    const stopper = new AbortController();
    const model = modelOf([CUT, [START, TEXT, FINISH]]);
    const retrying = () => stopper.abort();
    const parts = await collect(startStream(model, QUESTION, { signal: stopper.signal, retrying }));
    expect(parts).toEqual([{ type: "aborted" }]);
    expect(model.asked).toBe(1);
  });

  it("stops a model that does not look at the signal", async () => {
    const stopper = new AbortController();
    const model = { ...modelOf([]), doStream: () => new Promise<never>(() => undefined) };
    setTimeout(() => stopper.abort(), 5);
    const parts = await collect(startStream(model, QUESTION, { signal: stopper.signal }));
    expect(parts).toEqual([{ type: "aborted" }]);
  });
});
