import { afterEach, describe, expect, it } from "vitest";
import { ask, failureOf, modelAt, outline, TEST_KEY } from "./fixtures/ask.ts";
import { goneAway } from "./fixtures/gone-away.ts";
import {
  type MessagesStep,
  openScriptedMessages,
  type ScriptedMessages,
} from "./fixtures/scripted-messages.ts";

const A = '{"path":"a"}';
const B = '{"path":"b"}';
const OPENING = ["stream-start", "response-metadata", "custom"];
const opened: ScriptedMessages[] = [];

async function answerTo(step: MessagesStep, stopAt?: string) {
  const server = await openScriptedMessages([step, step, step]);
  opened.push(server);
  // Long where it is stopped: it must not be the limit on silence that closes the connection.
  const idleSeconds = stopAt ? 60 : 1;
  const model = modelAt({ kind: "anthropic", baseUrl: server.url, idleSeconds }, "claude-sonnet-4-5");
  return { ...(await ask(model, stopAt === undefined ? {} : { stopAt })), server };
}

function problem(type: string, message: string) {
  return { type: "error", error: { type, message } };
}

afterEach(async () => {
  await Promise.all(opened.splice(0).map((server) => server.close()));
});

describe("a model behind anthropic", () => {
  it("streams thoughts and text, and says why it ended and what it took", async () => {
    const { parts, server } = await answerTo({ blocks: [{ thinking: ["hm"] }, { text: ["Hel", "lo"] }] });
    expect(outline(parts)).toEqual([
      ...OPENING,
      "reasoning-start",
      "reasoning-delta hm",
      "reasoning-delta ",
      "reasoning-end",
      "text-start",
      "text-delta Hel",
      "text-delta lo",
      "text-end",
      "finish stop",
    ]);
    expect(parts.at(-1)).toMatchObject({ usage: { inputTokens: { total: 11 }, outputTokens: { total: 7 } } });
    expect(server.requests[0]?.headers["x-api-key"]).toBe(TEST_KEY);
  });

  it("gives each call whole before the next begins", async () => {
    const { parts } = await answerTo({
      blocks: [
        { text: ["So:"] },
        { id: "t1", name: "read_file", input: ["", '{"path"', ':"a"}'] },
        { id: "t2", name: "read_file", input: [B] },
      ],
    });
    expect(outline(parts).slice(OPENING.length)).toEqual([
      "text-start",
      "text-delta So:",
      "text-end",
      "tool-input-start t1",
      'tool-input-delta t1 {"path"',
      'tool-input-delta t1 :"a"}',
      "tool-input-end t1",
      `tool-call t1 read_file ${A}`,
      "tool-input-start t2",
      `tool-input-delta t2 ${B}`,
      "tool-input-end t2",
      `tool-call t2 read_file ${B}`,
      "finish tool-calls",
    ]);
  });

  it("gives no arguments as {}, broken ones as they are, and an id twice when it comes twice", async () => {
    const { parts } = await answerTo({
      blocks: [
        { id: "t1", name: "read_file", input: [] },
        { id: "t1", name: "read_file", input: ['{"path":', "oops"] },
      ],
    });
    expect(outline(parts).filter((line) => line.startsWith("tool-call"))).toEqual([
      "tool-call t1 read_file {}",
      'tool-call t1 read_file {"path":oops',
    ]);
  });

  it.each([
    ["401", 401, problem("authentication_error", "invalid x-api-key"), false, []],
    ["404", 404, problem("not_found_error", "model: claude-x"), false, []],
    ["429", 429, problem("rate_limit_error", "slow down"), true, [2_000, 2_000]],
    ["529", 529, problem("overloaded_error", "Overloaded"), true, [2_000, 2_000]],
  ])("says of %s what it is", async (_what, status, body, retryable, waits) => {
    const headers: Record<string, string> = retryable ? { "retry-after": "2" } : {};
    const answer = await answerTo({ status, body, headers });
    const words = `could not answer: ${status}, ${body.error.message}.`;
    expect(failureOf(answer)).toMatchObject({
      code: "E3959",
      retryable,
      message: expect.stringContaining(words),
    });
    expect(answer.waits).toEqual(waits);
  });

  it("tries again when it is overloaded before it said anything", async () => {
    const message = { id: "m", type: "message", role: "assistant", model: "c", content: [] };
    const start = {
      type: "message_start",
      message: { ...message, usage: { input_tokens: 1, output_tokens: 1 } },
    };
    const overloaded = problem("overloaded_error", "Overloaded");
    for (const events of [[overloaded], [start, overloaded]]) {
      const answer = await answerTo({ events });
      expect(failureOf(answer)).toMatchObject({ retryable: true, details: { status: 529 } });
      expect(answer.waits).toEqual([500, 2_000]);
    }
  });

  it("says when what comes is not the protocol", async () => {
    const answer = await answerTo({ events: [{ type: "message_start" }] });
    expect(failureOf(answer)).toMatchObject({ retryable: false, details: { kind: "protocol" } });
  });

  it("says when nothing comes any more", async () => {
    const answer = await answerTo({ blocks: [{ text: ["a"] }], end: "hang" });
    expect(failureOf(answer)).toMatchObject({ message: expect.stringContaining("it sent nothing for 1 s") });
    await goneAway(answer.server.requests);
  });

  it.each(["cut", "close"] as const)(
    "does not finish an answer that ends in the middle by %s",
    async (end) => {
      const { parts, waits } = await answerTo({ blocks: [{ id: "t1", name: "read_file", input: [A] }], end });
      expect(parts.at(-1)).toMatchObject({ type: "failed", error: { retryable: true } });
      expect(parts.some(({ type }) => type === "finish")).toBe(false);
      expect(waits).toEqual([]);
    },
  );

  it("closes the connection when it is stopped in the middle", async () => {
    const { parts, server } = await answerTo({ blocks: [{ text: ["a"] }], end: "hang" }, "text-delta");
    expect(parts.at(-1)).toEqual({ type: "aborted" });
    await goneAway(server.requests);
  });
});
