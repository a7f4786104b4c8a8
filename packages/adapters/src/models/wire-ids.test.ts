import { scaledRuns } from "@sallyport/engine/testing";
import { isFailure, SallyportError } from "@sallyport/protocol";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ask } from "./fixtures/ask.ts";
import { openModel } from "./open-model.ts";
import { WireIds } from "./wire-ids.ts";

interface SentCall {
  id: string | null;
  pieces: string[];
}

/** The chunks of an answer: what each call begins with, then what it goes on with. */
function chunksOf(calls: readonly SentCall[], isTogether: boolean): object[] {
  const begun = calls.map(({ id, pieces }, index) => ({
    index,
    id,
    type: "function",
    function: { name: "read_file", arguments: pieces[0] ?? "" },
  }));
  const later = calls.flatMap(({ pieces }, index) =>
    pieces.slice(1).map((text) => [{ index, function: { arguments: text } }]),
  );
  return [...(isTogether ? [begun] : begun.map((one) => [one])), ...later].map((tool_calls) => ({
    choices: [{ delta: { tool_calls } }],
  }));
}

/** A model that sends these chunks, and no server. */
function modelThatSends(chunks: readonly object[]) {
  const end = { choices: [{ delta: {}, finish_reason: "tool_calls" }] };
  const body = [...chunks, end].map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join("");
  const model = openModel("test/one", {
    providers: { test: { kind: "openai-compatible", baseUrl: "http://127.0.0.1:9/v1" } },
    environment: {},
    secret: () => undefined,
    fetch: async () =>
      new Response(`${body}data: [DONE]\n\n`, { headers: { "content-type": "text/event-stream" } }),
  });
  if (isFailure(model)) throw new SallyportError(model);
  return model;
}

async function idsOf(chunks: readonly object[]) {
  const { parts } = await ask(modelThatSends(chunks));
  expect(parts.at(-1)?.type).toBe("finish");
  return parts.flatMap((part) => {
    if (part.type !== "tool-call") return [];
    return [{ own: part.toolCallId, wire: part.wireId ?? part.toolCallId, input: part.input }];
  });
}

describe("the ids of calls on the wire", () => {
  const id = fc.constantFrom("a", "b", "c", null);
  const pieces = fc.constantFrom<string[]>(['{"n":1}'], ['{"n"', ":1}"], ["", '{"n":', "1}"]);
  const call = fc.record({ id, pieces });

  it("are told of every call, also of one whose id was there already [FR-VAL-02a]", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(call, { maxLength: 6 }), fc.boolean(), async (calls, isTogether) => {
        const found = await idsOf(chunksOf(calls, isTogether));
        expect(found.map(({ input }) => input)).toEqual(calls.map(({ pieces }) => pieces.join("")));
        expect(new Set(found.map(({ own }) => own)).size).toBe(calls.length);
        for (const [place, sent] of calls.entries())
          if (sent.id !== null) expect(found[place]?.wire).toBe(sent.id);
          else expect(["a", "b", "c"]).not.toContain(found[place]?.wire);
      }),
      { numRuns: scaledRuns(60) },
    );
  });

  it("are not mistaken for those of a call that only goes on [FR-VAL-02a]", async () => {
    const named = (index: number, id: string | undefined, text: string) => ({
      index,
      ...(id !== undefined && { id }),
      function: { name: "read_file", arguments: text },
    });
    const chunks = [[named(0, "a", '{"n"')], [named(0, "a", ":1}"), named(1, "b", "{}")]].map(
      (tool_calls) => ({ choices: [{ delta: { tool_calls } }] }),
    );
    expect(await idsOf(chunks)).toEqual([
      { own: "a", wire: "a", input: '{"n":1}' },
      { own: "b", wire: "b", input: "{}" },
    ]);
  });

  it.each([null, 7, { choices: "x" }, { choices: [{ delta: { tool_calls: [null, { id: 4 }] } }] }])(
    "are not looked for in %j",
    (chunk) => {
      const ids = new WireIds();
      ids.note(chunk);
      ids.begin({ type: "tool-input-start", id: "x", toolName: "read_file" });
      expect(ids.of("x")).toBeUndefined();
    },
  );
});
