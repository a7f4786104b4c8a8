import { describe, expect, it } from "vitest";
import { hasTmux } from "../../fixtures/tmux-terminal/index.ts";
import { call, replaceLine } from "./fixtures/calls.ts";
import { ChatRoom } from "./fixtures/chat-room.ts";

describe("a batch of several calls in a terminal", () => {
  it.runIf(hasTmux())(
    "runs what needs no question and what was selected, and tells the model of the rest [T-APR-01] [T-APR-02] [FR-TUI-01] [FR-EXE-01]",
    async () => {
      await using room = await ChatRoom.open(
        [
          { calls: [call("read_file", { path: "b.txt" })] },
          {
            text: "Two changes.",
            calls: [
              call("read_file", { path: "a.txt" }),
              call("write_file", { path: "new/c.txt", content: "a new file\n" }),
              call("apply_patch", { patch: replaceLine("b.txt", "two", "TWO") }),
            ],
          },
          { text: "One was enough." },
        ],
        { files: { "a.txt": "hello\n", "b.txt": "one\ntwo\nthree\n" } },
      );
      const terminal = await room.terminal();
      await terminal.enter("change things");
      const asked = await terminal.prompt("May these 2 calls run?");
      expect(asked).toMatch(/❯ \[ \] write_file {2}medium {2}Write new file: new\/c.txt/);
      expect(asked).toMatch(/\[ \] apply_patch {2}medium {2}Apply patch to 1 file\(s\): b.txt/);
      expect(asked).toContain("+a new file");
      expect(asked).not.toMatch(/\[.\] read_file/);
      expect(room.model.requests).toHaveLength(2);
      await terminal.press("j");
      const diff = await terminal.until("+TWO");
      expect(diff).toMatch(/-two/);
      await terminal.press("Space");
      await terminal.until("[x] apply_patch");
      await terminal.press("Enter");
      await terminal.until("One was enough.");

      expect(room.read("b.txt")).toBe("one\nTWO\nthree\n");
      expect(room.has("new")).toBe(false);
      expect(room.told(2)).toEqual({
        call_1: "one\ntwo\nthree\n",
        call_2: "hello\n",
        call_3: "Tool call denied by user",
        call_4: "modified: b.txt",
      });
      await terminal.until(" ready");
      const all = await terminal.joinedScrollback();
      expect(all).toMatch(/⊘ write_file .* · Tool call denied by user/);
      expect(all).toMatch(/M b.txt {2}\+1 −1/);
      await terminal.enter("/quit");
      await terminal.until(/Go on with: sallyport chat --resume [0-9a-f-]{36}\nleft with 0/);

      const again = await room.terminal(["--resume", "last"]);
      const shown = await again.until("One was enough.");
      expect(shown).toContain("change things");
      expect(shown).toMatch(/write_file.*Tool call denied by user/);
    },
  );
});
