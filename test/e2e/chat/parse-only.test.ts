import { describe, expect, it } from "vitest";
import { hasTmux } from "../../fixtures/tmux-terminal/index.ts";
import { call } from "./fixtures/calls.ts";
import { ChatRoom } from "./fixtures/chat-room.ts";

describe("mode parse_only in a terminal", () => {
  it.runIf(hasTmux())(
    "runs nothing, lists the calls, and gives the model the person's results in call order [T-MODE-02] [FR-MODE-02] [FR-TUI-04]",
    async () => {
      await using room = await ChatRoom.open(
        [
          {
            text: "Please do these.",
            calls: [
              call("read_file", { path: "a.txt" }),
              call("write_file", { path: "w.txt", content: "never" }),
              call("no_such_tool", { x: 1 }),
            ],
          },
          { text: "Thank you." },
        ],
        { loop: { mode: "parse_only" }, files: { "a.txt": "not what the model is told\n" } },
      );
      const terminal = await room.terminal();
      await terminal.enter("do things");
      const listed = await terminal.until("3 calls wait for your results");
      expect(listed).toMatch(/read_file {2}call_1/);
      expect(listed).toContain('{"path":"a.txt"}');
      await terminal.enter("what now?");
      await terminal.until("Tool calls wait for their results");
      await terminal.enter("/tool call_7 x");
      await terminal.until("No pending call has the id call_7.");
      await terminal.enter("/tool error call_3 there is no such tool");
      await terminal.until("2 calls wait for your results");
      process.kill(await terminal.pid(), "SIGKILL");
      await terminal.until("left with 137");

      const again = await room.terminal(["--resume", "last"]);
      await again.until("2 calls wait for your results");
      await again.enter("/tool call_2 written by me");
      await again.until("1 call waits for your result");
      await again.enter("/tool call_1 typed by a person");
      await again.until("Thank you.");
      expect(room.has("w.txt")).toBe(false);
      expect(room.told(1)).toEqual({
        call_1: "typed by a person",
        call_2: "written by me",
        call_3: "there is no such tool",
      });
      const { messages = [] } = room.model.requests[1]?.body ?? {};
      expect(messages.map(({ tool_call_id }) => tool_call_id).filter(Boolean)).toEqual([
        "call_1",
        "call_2",
        "call_3",
      ]);
    },
  );
});
