import type { LanguageModelV4CallOptions } from "@ai-sdk/provider";
import type { FixtureTool } from "@sallyport/engine/testing";
import { isFailure } from "@sallyport/protocol";
import { describe, expect, it } from "vitest";
import type { AnswerPart } from "./context.ts";
import { Conversation } from "./conversation.ts";
import { type Answer, asks, says, scriptedLoop } from "./fixtures/scripted-loop.ts";

/** 1000 tokens by the estimate. */
const LONG = "word ".repeat(800);
const look: FixtureTool = { id: "look", run: () => LONG };

/** Room for about this many tokens of history; a quarter of it is kept free for results. */
const roomFor = (tokens: number) => ({
  window: { contextTokens: 256 + 100 + Math.ceil((tokens * 4) / 3), responseReserveTokens: 100 },
});

type Prompt = LanguageModelV4CallOptions["prompt"];
const shape = (prompt: Prompt | undefined) => prompt?.map(({ role }) => role).join(" ");
const texts = (prompt: Prompt | undefined) =>
  prompt?.flatMap(({ role, content }) =>
    role === "user" ? content.map((part) => (part.type === "text" ? part.text.trimEnd() : part.type)) : [],
  );

/** Says each of these, `n words` long, and gives what the model got for the last. */
async function talked(said: string[], settings: object, answers: Answer[] = said.map(() => says("yes"))) {
  const loop = await scriptedLoop({ tools: [look], answers, settings: { system: "Be brief.", ...settings } });
  for (const text of said) await loop.conversation.send(text);
  const notices = loop.events.flatMap((event) => (event.kind === "notice" ? [event.text] : []));
  return { ...loop, notices };
}

/** An answer of a model that does not say how many tokens it took. */
function uncounted(parts: AnswerPart[]): AnswerPart[] {
  const nothing = { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined };
  return parts.map((part) =>
    part.type === "finish" ? { ...part, usage: { ...part.usage, inputTokens: nothing } } : part,
  );
}

describe("a history that no longer fits the model", () => {
  it("goes to it without its oldest turns, whole, and stays on record [FR-REG-04]", async () => {
    const said = ["one", "two", "three", "four"].map((word) => `${word} ${LONG}`);
    const { prompts, conversation, conversations, notices } = await talked(said, roomFor(2_600));
    expect(prompts.map(({ prompt }) => shape(prompt))).toEqual([
      "system user",
      "system user assistant user",
      "system user assistant user",
      "system user assistant user",
    ]);
    expect(texts(prompts[3]?.prompt)?.map((text) => text.slice(0, 5))).toEqual(["three", "four "]);
    expect(await conversations.turns(conversation.id)).toHaveLength(8);
    expect(notices).toEqual([
      "The conversation no longer fits the model: 2 of its oldest messages were left out this time. They stay on record.",
      "The conversation no longer fits the model: 4 of its oldest messages were left out this time. They stay on record.",
    ]);
  });

  it("never without half of a call and its result, and the person is told once a turn", async () => {
    const answers = [
      asks({ id: "a", name: "look" }, { id: "b", name: "look" }),
      says("seen"),
      asks({ id: "c", name: "look" }),
      asks({ id: "d", name: "look" }),
      says("done"),
    ];
    const { prompts, notices } = await talked(["first", "second"], roomFor(2_600), answers);
    expect(prompts.map(({ prompt }) => shape(prompt))).toEqual([
      "system user",
      "system user assistant tool",
      "system user assistant tool assistant user",
      "system user assistant tool",
      "system user assistant tool assistant tool",
    ]);
    expect(texts(prompts[4]?.prompt)).toEqual(["second"]);
    expect(notices).toHaveLength(1);
  });

  it("goes whole where the model's context is not known, or it fits", async () => {
    const said = ["one", "two", "three"].map((word) => `${word} ${LONG}`);
    for (const settings of [{}, roomFor(5_000)]) {
      const { prompts, notices } = await talked(said, settings);
      expect(prompts[2]?.prompt).toHaveLength(6);
      expect(notices).toEqual([]);
    }
  });

  it("keeps the newest message, however long it is", async () => {
    const { prompts } = await talked(["short", LONG.repeat(9)], roomFor(500));
    expect(shape(prompts[1]?.prompt)).toBe("system user");
    expect(texts(prompts[1]?.prompt)).toEqual([LONG.repeat(9).trimEnd()]);
  });

  it("is measured as the model does, where it says that its tokens are shorter than thought", async () => {
    const dense = (): AnswerPart[] => [
      { type: "text-delta", id: "t", delta: "yes" },
      {
        type: "finish",
        finishReason: { unified: "stop", raw: "stop" },
        usage: {
          inputTokens: { total: 4_500, noCache: 4_500, cacheRead: 0, cacheWrite: 0 },
          outputTokens: { total: 1, text: 1, reasoning: 0 },
        },
      },
    ];
    const said = ["one", "two", "three"].map((word) => `${word} ${LONG}`);
    const settings = { ...roomFor(3_500), mode: "disabled" };
    const plain = await talked(said, settings);
    expect(shape(plain.prompts[2]?.prompt)).toBe("system user assistant user assistant user");
    const { prompts } = await talked(said, settings, [says("yes"), dense(), says("yes")]);
    expect(shape(prompts[2]?.prompt)).toBe("system user");
  });

  it("leaves room for the results of tools [FR-REG-04]", async () => {
    const said = ["one", "two", "three"].map((word) => `${word} ${LONG}`);
    const answers = [says("yes"), says("yes"), asks({ id: "a", name: "look" }), says("seen")];
    const { conversation } = await talked(said, roomFor(2_600), answers.map(uncounted));
    const [result] = conversation.turns.flatMap((turn) => (turn.kind === "tool_result" ? [turn] : []));
    expect(result?.content.length).toBeGreaterThan(2_000);
  });

  it("fits again once a conversation is taken up with a larger model", async () => {
    let again: Conversation | undefined;
    const answers = [says("yes"), says("yes"), says("yes")];
    const loop = await scriptedLoop({ answers, settings: roomFor(1_500), latest: () => again });
    await loop.conversation.send(`one ${LONG}`);
    await loop.conversation.send(`two ${LONG}`);
    loop.settings.window = { contextTokens: 100_000, responseReserveTokens: 100 };
    const reopened = await Conversation.reopen(loop.conversation.id, loop.parts);
    if (isFailure(reopened)) throw new Error(reopened.message);
    again = reopened;
    await reopened.send("three");
    expect(loop.prompts.map(({ prompt }) => shape(prompt))).toEqual([
      "user",
      "user",
      "user assistant user assistant user",
    ]);
  });
});
