import type { FixtureTool } from "@sallyport/engine/testing";
import { isFailure } from "@sallyport/protocol";
import { describe, expect, it } from "vitest";
import { Conversation } from "./conversation.ts";
import type { Conversations } from "./conversations-port.ts";
import { outputChunks } from "./event-channel.ts";
import { asks, finish, oneTurn, outline, says, scriptedLoop } from "./fixtures/scripted-loop.ts";
import { recording } from "./fixtures/tools.ts";
import { createMemoryConversations } from "./memory-conversations.ts";

const counting = (id = "look", conduct: FixtureTool["conduct"] = {}) =>
  recording(id, { conduct, answer: "x".repeat(300) });

/** A store that fails a number of times from some operation on. */
function failing(): { conversations: Conversations; fail(times: number): void } {
  const inner = createMemoryConversations();
  let left = 0;
  const guard = <Target extends object>(target: Target): Target =>
    new Proxy(target, {
      get(on, key) {
        const value: unknown = Reflect.get(on, key);
        if (typeof value === "object" && value !== null) return guard(value);
        if (typeof value !== "function") return value;
        return (...given: unknown[]) => {
          if (left-- > 0) return Promise.reject(new Error("the disk is full"));
          return Reflect.apply(value, on, given);
        };
      },
    });
  const fail = (times: number) => {
    left = times;
  };
  return { conversations: guard(inner), fail };
}

describe("a conversation goes on", () => {
  it("when long output cannot be kept: it is cut instead", async () => {
    const { tool } = counting();
    const { conversation } = await scriptedLoop({
      tools: [tool],
      answers: [asks({ id: "a", name: "look" }), says("ok")],
      settings: { limits: { maxOutputBytes: 100 } },
      parts: { spill: { keep: () => Promise.reject(new Error("ENOSPC")), hint: (name) => name } },
    });
    expect(await conversation.send("go")).toEqual({ kind: "done", text: "ok" });
    expect(outline(conversation.turns)[2]).toMatch(/^result a: x+\n\n\.\.\. \[output truncated\]$/);
  });

  it.each([1, 2, 3, 5])(
    "after the store failed %i times in the middle, without a turn lost or in the wrong place",
    async (times) => {
      const { conversations, fail } = failing();
      const { ran, tool } = counting();
      const trouble: FixtureTool = {
        ...tool,
        run: (input) => {
          fail(times);
          ran.push(input);
          return "seen";
        },
      };
      const { conversation } = await scriptedLoop({
        tools: [trouble],
        answers: [asks({ id: "a", name: "look" }), says("ok"), says("fine")],
        conversations,
      });
      expect(await conversation.send("go")).toMatchObject({ kind: "failed" });
      fail(0);
      const next = await conversation.send("on");
      if (next.kind === "failed") {
        expect(conversation.state.state).toBe("recovery");
        await conversation.recover("resume");
      }
      expect(ran).toHaveLength(1);
      const kinds = conversation.turns.map(({ kind }) => kind);
      expect(kinds.slice(0, 3)).toEqual(["user", "tool_use", "tool_result"]);
      expect(conversation.state).toEqual({ state: "idle" });
    },
  );

  it("with a word for every call, although the first took all the room there was [FR-OUT-04]", async () => {
    const { tool } = counting();
    const fails: FixtureTool = { id: "fails", run: () => Promise.reject(new Error("no such file")) };
    const { lines } = await oneTurn(asks({ id: "a", name: "look" }, { id: "b", name: "fails" }), {
      tools: [tool, fails],
      settings: { window: { contextTokens: 15 + 256 + 100 + 140, responseReserveTokens: 100 } },
    });
    const [a, b] = lines.slice(3);
    expect(a).toMatch(/output truncated|no room left/);
    expect(b).toBe("result b error: Tool panicked: no such file");
  });

  it("with each call's own arguments when an id is begun twice before either is whole", async () => {
    const { ran, tool } = counting();
    const other = counting("other");
    const begun = (toolName: string) => ({ type: "tool-input-start" as const, id: "a", toolName });
    const whole = (toolName: string, n: number) =>
      ({ type: "tool-call", toolCallId: "a", toolName, input: JSON.stringify({ n }) }) as const;
    await oneTurn(
      [begun("look"), begun("other"), whole("look", 1), whole("other", 2), finish("tool-calls")],
      {
        tools: [tool, other.tool],
      },
    );
    expect([ran, other.ran]).toEqual([[{ n: 1 }], []]);
  });

  it("although a call was cut off before its arguments came: it does not run", async () => {
    const { ran, tool } = counting();
    const { conversation } = await scriptedLoop({
      tools: [tool],
      answers: [[{ type: "tool-input-start", id: "a", toolName: "look" }, finish("tool-calls")], says("ok")],
    });
    expect(await conversation.send("go")).toEqual({ kind: "done", text: "ok" });
    expect(ran).toEqual([]);
    expect(outline(conversation.turns)[2]).toMatch(/cut off/);
  });

  it("when the person's answer cannot be had: what needs it is denied, and no question stays open", async () => {
    const { ran, tool } = counting("put", { sideEffects: "external" });
    const { conversation, engine, events } = await scriptedLoop({
      tools: [tool],
      answers: [asks({ id: "a", name: "put" }), says("ok")],
      decide: () => Promise.reject(new Error("the screen is gone")),
    });
    expect(await conversation.send("go")).toEqual({ kind: "done", text: "ok" });
    expect(ran).toEqual([]);
    expect(events).toContainEqual(expect.objectContaining({ kind: "notice", level: "warning" }));
    expect(await engine.approvals.list({ limit: 9, states: ["pending", "approved"] })).toEqual([]);
  });

  it("when a person does not notice that nobody waits any more", async () => {
    const { tool } = counting("put", { sideEffects: "external" });
    const loop = await scriptedLoop({
      tools: [tool],
      answers: [asks({ id: "a", name: "put" })],
      decide: () => {
        setTimeout(() => loop.conversation.cancel(), 5);
        return new Promise(() => undefined);
      },
    });
    expect(await loop.conversation.send("go")).toEqual({ kind: "cancelled" });
  });

  it("when who listens never comes back", async () => {
    const { conversation } = await scriptedLoop({ answers: [says("ok")] });
    conversation.listen(() => new Promise(() => undefined));
    expect(await conversation.send("go")).toEqual({ kind: "done", text: "ok" });
  });

  it("in the mode a turn began with, whatever is chosen meanwhile", async () => {
    const { ran, tool } = counting();
    const loop = await scriptedLoop({
      tools: [tool],
      answers: [
        () => {
          loop.settings.mode = "enabled";
          return asks({ id: "a", name: "look" });
        },
      ],
      settings: { mode: "parse_only" },
    });
    expect(await loop.conversation.send("go")).toEqual({ kind: "awaiting_results" });
    expect(ran).toEqual([]);
  });

  it("in recovery, not by hand, when calls that were to run are reopened in mode parse_only [FR-RES-05]", async () => {
    const { tool } = counting();
    let again: Conversation | undefined;
    const loop = await scriptedLoop({ tools: [tool], answers: [], latest: () => again });
    const { conversations, conversation, engine, parts, settings } = loop;
    const { id: conversationId } = conversation;
    const made = { conversationId, model: "m", cwd: "/", title: "", createdAt: 1, updatedAt: 1 };
    await conversations.create(made);
    await conversations.journal.open({ batchId: "b", conversationId, model: "m", at: 1 });
    await conversations.journal.record("b", { kind: "call", index: 0, id: "c", name: "look" });
    await conversations.journal.seal("b", {
      turns: [],
      calls: [{ index: 0, arguments: "{}", callId: "one" }],
    });
    await engine.call({ tool: "look", input: {}, callId: "one", caller: parts.caller });
    settings.mode = "parse_only";
    const reopened = await Conversation.reopen(conversationId, parts);
    if (isFailure(reopened)) throw new Error(reopened.message);
    again = reopened;
    expect(reopened.state).toMatchObject({
      state: "recovery",
      batch: { calls: [{ result: { isError: false } }] },
    });
  });

  it("idle, when the last result by hand was there and only the closing was missing", async () => {
    const { tool } = counting();
    let again: Conversation | undefined;
    const loop = await scriptedLoop({
      tools: [tool],
      answers: [asks({ id: "a", name: "look" })],
      settings: { mode: "parse_only" },
      latest: () => again,
    });
    const { conversation, conversations, parts } = loop;
    await conversation.send("go");
    const open = await conversations.journal.openOf(conversation.id);
    await conversations.journal.result(open?.batchId ?? "", 0, { isError: false, content: "by hand", at: 1 });
    const reopened = await Conversation.reopen(conversation.id, parts);
    if (isFailure(reopened)) throw new Error(reopened.message);
    again = reopened;
    expect(reopened.state).toEqual({ state: "idle" });
    expect(outline(reopened.turns).at(-1)).toBe("result a: by hand");
  });

  it("and is kept only once something was said", async () => {
    const { conversation, conversations } = await scriptedLoop({ answers: [says("hi")] });
    expect(await conversations.get(conversation.id)).toBeUndefined();
    await conversation.send("hello");
    expect(await conversations.get(conversation.id)).toMatchObject({ title: "hello" });
  });
});

describe("what a process writes", () => {
  it("takes no more room than its text while nobody keeps up, and nothing of it is lost [NFR-PERF-04] [FR-OUT-01]", async () => {
    const seen = { stdout: "", stderr: "" };
    const release = Promise.withResolvers<void>();
    let events = 0;
    const chunks = outputChunks({ index: 0, id: "a" }, (event) => {
      events += 1;
      if (event.kind === "stdout" || event.kind === "stderr") seen[event.kind] += event.chunk;
      return release.promise;
    });
    for (let n = 0; n < 10_000; n += 1) {
      chunks.take("stdout", Buffer.from("o"));
      chunks.take("stderr", Buffer.from("e"));
    }
    expect(events).toBe(1);
    release.resolve();
    await chunks.end();
    expect(seen).toEqual({ stdout: "o".repeat(10_000), stderr: "e".repeat(10_000) });
    expect(events).toBeLessThan(10);
  });
});
