import { describe, expect, it } from "vitest";
import { call } from "./fixtures/calls.ts";
import { ChatRoom } from "./fixtures/chat-room.ts";

describe("a model that calls tools oddly", () => {
  it("is told what was wrong, and the conversation stays one its provider takes [FR-VAL-02] [FR-VAL-02a] [FR-LIM-01] [FR-RES-03] [FR-8.1]", async () => {
    const read = call("read_file", { path: "a.txt" });
    const nine = Array.from({ length: 9 }, () => read);
    await using room = await ChatRoom.open(
      [
        {
          calls: [
            { ...read, id: "same" },
            { ...read, id: "same" },
          ],
        },
        { calls: [{ ...read, id: null }] },
        {
          calls: [
            { name: "read_file", arguments: "not json", id: "a" },
            { name: "read_file", arguments: [], id: "b" },
            { name: "read_file", arguments: "[1]", id: "c" },
            { name: "", arguments: "{}", id: "d" },
            call("read_file", { path: 7, more: true }, "e"),
            call("read_file", { path: `${"x/".repeat(200_000)}a` }, "f"),
          ],
        },
        { calls: nine.map((one, place) => ({ ...one, id: `n${place}` })) },
        { calls: [{ ...read, id: "beyond" }] },
        { text: "I stop." },
      ],
      { files: { "a.txt": "hello\n" } },
    );
    const { code, end } = await room.print("go");
    expect(room.model.requests.map(({ refused }) => refused)).toEqual(Array(6).fill(undefined));
    expect({ code, end }).toEqual({ code: 0, end: { kind: "done", text: "I stop." } });
    expect(room.told(-1)).toMatchObject({
      same: "hello\n",
      same_2: expect.stringContaining("Duplicate tool call id: same"),
      a: expect.stringContaining("Bad args: Arguments are not valid JSON"),
      b: expect.stringContaining("/path is required but missing"),
      c: expect.stringContaining("must be a JSON object, not an array"),
      e: expect.stringContaining("/more is not a known property"),
      f: expect.stringContaining("max_tool_args_bytes is 262144"),
      n7: "hello\n",
      n8: expect.stringContaining("max_tool_calls_per_batch is 8"),
      beyond: "Max tool iterations reached",
    });
  });
});
