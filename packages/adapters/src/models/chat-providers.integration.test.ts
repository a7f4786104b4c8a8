import { afterEach, describe, expect, it } from "vitest";
import {
  openScriptedModel,
  type ScriptedModel,
  type ScriptStep,
} from "../../../../test/fixtures/scripted-model/index.ts";
import { ask, failureOf, modelAt, outline, TEST_KEY } from "./fixtures/ask.ts";
import { CHAT_ERRORS } from "./fixtures/expected-errors.ts";
import { goneAway } from "./fixtures/gone-away.ts";
import type { ProviderKind } from "./provider-settings.ts";

const KINDS = ["openai-compatible", "openai"] as const satisfies ProviderKind[];
const A = '{"path":"a"}';
const B = '{"path":"b"}';
const opened: ScriptedModel[] = [];

async function scripted(script: ScriptStep[]) {
  const server = await openScriptedModel(script);
  opened.push(server);
  return server;
}

/** Parts without what comes with every answer. OpenAI's own provider begins with an empty text. */
function said(parts: Parameters<typeof outline>[0]): string[] {
  const overhead = /^(stream-start|response-metadata|text-start|text-end|text-delta )$/;
  return outline(parts).filter((line) => !overhead.test(line));
}

afterEach(async () => {
  await Promise.all(opened.splice(0).map((server) => server.close()));
});

describe.each(KINDS)("a model behind %s", (kind) => {
  async function answerTo(step: ScriptStep, stopAt?: string) {
    const server = await scripted([step, step, step]);
    // Long where it is stopped: it must not be the limit on silence that closes the connection.
    const model = modelAt({ kind, baseUrl: server.url, idleSeconds: stopAt ? 60 : 1 });
    return { ...(await ask(model, stopAt === undefined ? {} : { stopAt })), server };
  }

  it("streams text, and says why it ended and what it took", async () => {
    const { parts, server } = await answerTo({ text: ["Hel", "lo"], usage: { input: 3, output: 4 } });
    expect(said(parts)).toEqual(["text-delta Hel", "text-delta lo", "finish stop"]);
    expect(parts.at(-1)).toMatchObject({ usage: { inputTokens: { total: 3 }, outputTokens: { total: 4 } } });
    expect(server.requests[0]).toMatchObject({
      headers: { authorization: `Bearer ${TEST_KEY}` },
      body: {
        model: "test-model",
        stream_options: { include_usage: true },
        tools: [{ function: { name: "read_file" } }],
      },
    });
  });

  it("gives calls in pieces as they come, and all of them whole at the end", async () => {
    const calls = [
      { name: "read_file", arguments: ['{"path"', ':"a"}'] },
      { name: "read_file", arguments: B },
    ];
    const { parts } = await answerTo({ text: "So:", calls });
    expect(said(parts)).toEqual([
      "text-delta So:",
      "tool-input-start call_1",
      'tool-input-delta call_1 {"path"',
      'tool-input-delta call_1 :"a"}',
      "tool-input-start call_2",
      `tool-input-delta call_2 ${B}`,
      "tool-input-end call_1",
      `tool-call call_1 read_file ${A}`,
      "tool-input-end call_2",
      `tool-call call_2 read_file ${B}`,
      "finish tool-calls",
    ]);
  });

  it("gives a call without arguments as empty text, and broken ones as they are", async () => {
    const calls = [
      { id: "x", name: "read_file", arguments: [] },
      { id: "y", name: "read_file", arguments: ['{"path":', "oops"] },
    ];
    const { parts } = await answerTo({ calls });
    expect(said(parts).filter((line) => line.startsWith("tool-call"))).toEqual([
      "tool-call x read_file ",
      'tool-call y read_file {"path":oops',
    ]);
  });

  it.each([
    ["twice the same id", "same", [undefined, "same"]],
    ["no id at all", null, [undefined, undefined]],
  ])("tells calls with %s apart, and what the model called them [FR-VAL-02a]", async (_what, id, wireIds) => {
    const calls = [
      { id, name: "read_file", arguments: A },
      { id, name: "read_file", arguments: B },
    ];
    const { parts } = await answerTo({ calls });
    const given = parts.filter((part) => part.type === "tool-call");
    expect(given.map(({ wireId }) => wireId)).toEqual(wireIds);
    expect(new Set(given.map(({ toolCallId }) => toolCallId)).size).toBe(2);
    expect(given.every(({ toolCallId }) => toolCallId.length > 0)).toBe(true);
    expect(parts.some(({ type }) => String(type) === "raw")).toBe(false);
  });

  it.each(CHAT_ERRORS)(
    "says of $what what it is",
    async ({ step, says, details, retryable = false, waits = [] }) => {
      const answer = await answerTo(step);
      const error = failureOf(answer);
      expect(error).toMatchObject({ code: "E3959", retryable });
      expect(error?.message).toContain(says);
      expect(error?.details).toMatchObject(details);
      expect(answer.waits).toEqual(waits);
      expect(answer.server.requests).toHaveLength(waits.length + 1);
    },
  );

  it("never shows a key that a provider repeats", async () => {
    const token = `ghp_${"a1B2".repeat(9)}`;
    const answer = await answerTo({ status: 400, body: { error: { message: `no: ${TEST_KEY} ${token}` } } });
    const text = JSON.stringify(failureOf(answer));
    expect(text).toContain("400, no: ");
    expect(text).not.toContain(TEST_KEY);
    expect(text).not.toContain(token);
  });

  it.each(["cut", "close"] as const)(
    "does not finish an answer that ends in the middle by %s",
    async (end) => {
      const calls = [{ name: "read_file", arguments: ['{"pa'] }];
      const { parts, waits } = await answerTo({ text: "So:", calls, end });
      expect(parts.at(-1)).toMatchObject({ type: "failed", error: { retryable: true } });
      expect(parts.some(({ type }) => type === "finish")).toBe(false);
      expect(waits).toEqual([]);
    },
  );

  it("closes the connection when it is stopped in the middle", async () => {
    const { parts, server } = await answerTo({ text: ["a"], end: "hang" }, "text-delta");
    expect(parts.at(-1)).toEqual({ type: "aborted" });
    await goneAway(server.requests);
  });

  it("goes on with the answer of a later try", async () => {
    const server = await scripted([{ status: 500 }, { text: "there", end: "done" }]);
    const { parts, waits } = await ask(modelAt({ kind, baseUrl: server.url }));
    expect(said(parts)).toEqual(["text-delta there", "finish stop"]);
    expect(waits).toEqual([500]);
  });

  it("says when nobody is there", async () => {
    const server = await openScriptedModel([]);
    await server.close();
    const answer = await ask(modelAt({ kind, baseUrl: server.url }));
    expect(failureOf(answer)).toMatchObject({
      message: expect.stringContaining("there is no connection (ECONNREFUSED)"),
    });
    expect(answer.waits).toEqual([500, 2_000]);
  });

  it("is asked for no more than is configured", async () => {
    const server = await scripted([{ text: "x" }]);
    const models = { "test-model": { maxOutputTokens: 77 } };
    await ask(modelAt({ kind, baseUrl: server.url, models }));
    expect(server.requests[0]?.body.max_tokens).toBe(77);
  });
});
