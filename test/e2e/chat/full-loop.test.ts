import { describe, expect, it } from "vitest";
import { call } from "./fixtures/calls.ts";
import { ChatRoom } from "./fixtures/chat-room.ts";

describe("a conversation over HTTP", () => {
  it("runs what the model asks for, keeps it, and goes on with the same model [IT-E2E-01] [FR-RES-01] [FR-RES-02] [FR-8.1]", async () => {
    await using room = await ChatRoom.open(
      [
        {
          text: "I look.",
          calls: [call("read_file", { path: "a.txt" }), call("list_directory", { path: "." })],
        },
        { text: ["It says ", "hello."] },
        { text: "As I said: hello." },
      ],
      { files: { "a.txt": "hello\n" } },
    );

    const first = await room.print("What does a.txt say?");
    expect(first).toMatchObject({ code: 0, end: { kind: "done", text: "It says hello." } });
    expect(first.events.map(({ kind }) => kind)).toEqual([
      "state",
      "text",
      "call",
      "call",
      "state",
      "planned",
      "started",
      "completed",
      "started",
      "completed",
      "state",
      "text",
      "text",
      "state",
    ]);
    expect(room.told(1)).toMatchObject({ call_1: "hello\n", call_2: expect.stringContaining("a.txt") });

    const listed = JSON.parse((await room.run("chat", "--list", "--json")).stdout);
    expect(listed).toMatchObject([
      { conversationId: first.conversation, model: "local/one", title: "What does a.txt say?" },
    ]);

    const second = await room.print("Again?", "--resume", first.conversation);
    expect(second).toMatchObject({ code: 0, conversation: first.conversation });
    const last = room.model.requests[2]?.body;
    expect(last?.messages.map(({ role }) => role)).toEqual([
      "user",
      "assistant",
      "tool",
      "tool",
      "assistant",
      "user",
    ]);
    expect(last?.messages.slice(2, 4).map(({ tool_call_id }) => tool_call_id)).toEqual(["call_1", "call_2"]);
    expect(last?.messages[1]?.tool_calls?.map(({ id }) => id)).toEqual(["call_1", "call_2"]);
    expect(room.model.requests.map(({ refused, body }) => [refused, body.model])).toEqual(
      Array.from({ length: 3 }, () => [undefined, "one"]),
    );
  });
});
