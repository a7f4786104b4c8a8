import { setTimeout as sleep } from "node:timers/promises";
import type { FixtureTool } from "@sallyport/engine/testing";
import { describe, expect, it } from "vitest";
import { asks, outline, says, scriptedLoop } from "./fixtures/scripted-loop.ts";
import { READ, writer } from "./fixtures/tools.ts";

describe("cancelling", () => {
  it("marks the running call and the rest, records everything, and does not resume [T-CAN-01] [FR-EXE-04] [NFR-REL-03]", async () => {
    const started = Promise.withResolvers<void>();
    const { tool, ran } = writer();
    const hang: FixtureTool = {
      id: "hang",
      run: (_input, { signal }) => {
        started.resolve();
        return new Promise((resolve) => signal.addEventListener("abort", () => resolve("late")));
      },
    };
    const { conversation, prompts, engine } = await scriptedLoop({
      tools: [READ, hang, tool],
      answers: [
        asks(
          { id: "a", name: "look", input: { what: "x" } },
          { id: "b", name: "hang" },
          { id: "c", name: "put" },
        ),
        says("never"),
      ],
    });
    const turn = conversation.send("go");
    await started.promise;
    conversation.cancel();
    expect(await turn).toEqual({ kind: "cancelled" });
    expect(outline(conversation.turns).slice(4)).toEqual([
      "result a: saw x",
      "result b error: Cancelled by user",
      "result c error: Cancelled by user",
    ]);
    expect(prompts).toHaveLength(1);
    expect(ran).toEqual([]);
    expect(conversation.state).toEqual({ state: "idle" });
    const [record] = await engine.approvals.list({ limit: 1 });
    expect(record?.standing.state).toBe("withdrawn");
  });

  it("while the person is asked withdraws the questions", async () => {
    const { tool, ran } = writer();
    const loop = await scriptedLoop({
      tools: [tool],
      answers: [asks({ id: "w", name: "put" }), says("never")],
      decide: (_questions, signal) => {
        loop.conversation.cancel();
        expect(signal.aborted).toBe(true);
        return { kind: "approve_all" };
      },
    });
    expect(await loop.conversation.send("go")).toEqual({ kind: "cancelled" });
    expect(ran).toEqual([]);
    expect(outline(loop.conversation.turns).at(-1)).toBe("result w error: Cancelled by user");
    const [record] = await loop.engine.approvals.list({ limit: 1 });
    expect(record?.standing.state).not.toMatch(/pending|approved/);
  });

  it("while the model speaks keeps what it said, even if it does not stop", async () => {
    const speaking = Promise.withResolvers<void>();
    const { conversation } = await scriptedLoop({
      answers: [
        async function* () {
          yield { type: "text-delta", id: "t", delta: "so far" };
          speaking.resolve();
          await new Promise(() => undefined);
        },
      ],
    });
    const turn = conversation.send("go");
    await speaking.promise;
    await sleep(5);
    conversation.cancel();
    expect(await turn).toEqual({ kind: "cancelled" });
    expect(outline(conversation.turns)).toEqual(["user: go", "assistant: so far"]);
  });
});
