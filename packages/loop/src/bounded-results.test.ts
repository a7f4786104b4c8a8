import type { FixtureTool } from "@sallyport/engine/testing";
import { describe, expect, it } from "vitest";
import type { AnswerPart } from "./context.ts";
import type { Turn } from "./conversations-port.ts";
import { asks, oneTurn, says, scriptedLoop } from "./fixtures/scripted-loop.ts";
import { READ } from "./fixtures/tools.ts";

/** An answer of a model that says how many tokens everything took. */
function taking(tokens: number, answer: readonly AnswerPart[]): AnswerPart[] {
  const inputTokens = { total: tokens, noCache: tokens, cacheRead: 0, cacheWrite: 0 };
  const usage = { inputTokens, outputTokens: { total: 0, text: 0, reasoning: 0 } };
  return answer.map((part) => (part.type === "finish" ? { ...part, usage } : part));
}

const resultsIn = ({ turns }: { turns: readonly Turn[] }) =>
  turns.flatMap((turn) => (turn.kind === "tool_result" ? [turn.content] : []));

describe("output", () => {
  const long: FixtureTool = { id: "look", run: () => "x".repeat(5_000) };

  it("is cut to what there is room for, the marker included, and less for each call of a batch [FR-OUT-04] [FR-REG-04]", async () => {
    const { conversation } = await oneTurn(
      taking(500, asks({ id: "a", name: "look" }, { id: "b", name: "look" })),
      {
        tools: [long],
        settings: {
          limits: { maxOutputBytes: 3_000 },
          window: { contextTokens: 500 + 256 + 100 + 1_000, responseReserveTokens: 100 },
        },
      },
    );
    const results = resultsIn(conversation);
    expect(results.map((text) => text.length)).toEqual([3_000, 1_000]);
    expect(results.every((text) => text.endsWith("... [output truncated]"))).toBe(true);
  });

  it.each([0, 1, Number.NaN, -5])(
    "has no more room because a model says that everything took %d tokens [FR-REG-04b]",
    async (tokens) => {
      const { conversation } = await scriptedLoop({
        tools: [long],
        answers: [taking(tokens, asks({ id: "a", name: "look" })), says("ok")],
        settings: { window: { contextTokens: 6_000 + 256 + 100, responseReserveTokens: 100 } },
      });
      await conversation.send("y".repeat(4 * 5_500));
      const [content = ""] = resultsIn(conversation);
      expect(content.length).toBeLessThan(4 * 500);
      expect(content).toMatch(/x\n\n\.\.\. \[output truncated\]$/);
    },
  );

  it("given by hand shares the room of its batch [FR-REG-04b] [FR-MODE-02]", async () => {
    const { conversation } = await oneTurn(
      taking(500, asks({ id: "a", name: "look" }, { id: "b", name: "look" }, { id: "c", name: "look" })),
      {
        tools: [long],
        settings: {
          mode: "parse_only",
          window: { contextTokens: 500 + 256 + 100 + 1_000, responseReserveTokens: 100 },
        },
      },
    );
    for (const id of ["a", "c", "b"])
      await conversation.submit(id, { content: "z".repeat(9_000), isError: false });
    const sizes = resultsIn(conversation).map(({ length }) => length);
    expect(sizes).toEqual([4_000 - 1_024, 512, 512]);
  });

  it("that is too long is kept whole where that is possible, and the model is told how to read on [FR-OUT-04]", async () => {
    const kept: string[] = [];
    const { conversation } = await oneTurn(asks({ id: "a", name: "look" }), {
      tools: [long],
      settings: { limits: { maxOutputBytes: 1_000 } },
      parts: {
        spill: {
          keep: async ({ text }) => {
            kept.push(text);
            return "s1";
          },
          hint: (name) => `Read ${name}.`,
        },
      },
    });
    const [content = ""] = conversation.turns.flatMap((turn) =>
      turn.kind === "tool_result" ? [turn.content] : [],
    );
    expect(kept).toEqual(["x".repeat(5_000)]);
    expect(content.length).toBeLessThanOrEqual(1_000);
    expect(content).toMatch(/^x+\n\n\.\.\. \[output truncated\] \d+ bytes left out here\. Read s1\.\n\nx+$/);
  });
});

describe("refused calls", () => {
  const look = (id: string) => ({ id, name: "look", input: { what: "z" } });

  it("leave the room to those that run, however many they are [FR-LIM-06] [FR-EXE-02]", async () => {
    const calls = Array.from({ length: 60 }, (_, place) => look(`n${place}`));
    const { conversation } = await oneTurn(taking(3_000, asks(...calls)), {
      tools: [READ],
      settings: {
        limits: { maxToolCallsPerBatch: 8 },
        window: { contextTokens: 3_000 + 256 + 100 + 250, responseReserveTokens: 100 },
      },
    });
    const results = resultsIn(conversation);
    expect(results.slice(0, 8)).toEqual(Array(8).fill("saw z"));
    expect(results[8]).toMatch(/^60 tool calls in one batch; max_tool_calls_per_batch is 8/);
    expect(new Set(results.slice(9))).toEqual(new Set(["Not run: max_tool_calls_per_batch is 8"]));
  });

  it("are told in full where there is room, whatever the others take [FR-LIM-06]", async () => {
    const { lines } = await oneTurn(asks({ id: "a", name: "nothing_like_it" }, look("b"), look("b")), {
      tools: [READ],
    });
    expect(lines.slice(4).join("\n")).toMatch(
      /Unknown tool: nothing_like_it.*exact name.*saw z.*Duplicate tool call id: b/s,
    );
  });
});

describe("time", () => {
  it("is the loop's for a tool that states none [FR-EXE-03] [CFG-TMO-01]", async () => {
    const { lines } = await oneTurn(asks({ id: "a", name: "slow" }), {
      tools: [{ id: "slow", run: () => new Promise(() => undefined) }],
      settings: { defaultTimeoutMs: 40 },
    });
    expect(lines[2]).toMatch(/timed out after 0\.04s/);
  });

  it("is the tool's own where the loop's is longer, and the tool runs all the same [CFG-TMO-01]", async () => {
    const { lines } = await oneTurn(asks({ id: "a", name: "look", input: { what: "z" } }), {
      tools: [READ],
      settings: { defaultTimeoutMs: 60_000 },
    });
    expect(lines[2]).toBe("result a: saw z");
  });

  it("a tool that takes too long is an error like any other, and the batch goes on [T-TMO-01] [FR-EXE-03] [NFR-REL-02]", async () => {
    const slow: FixtureTool = {
      id: "slow",
      run: () => new Promise(() => undefined),
      conduct: { limits: { timeoutMs: 30 } },
    };
    const { lines } = await oneTurn(
      asks({ id: "a", name: "slow" }, { id: "b", name: "look", input: { what: "z" } }),
      {
        tools: [slow, READ],
      },
    );
    const [a, b] = lines.slice(3);
    expect(a).toMatch(/^result a error: Tool 'slow' timed out after 0\.03s/);
    expect(b).toBe("result b: saw z");
  });
});
