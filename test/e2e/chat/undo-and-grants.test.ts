import { describe, expect, it } from "vitest";
import { hasTmux } from "../../fixtures/tmux-terminal/index.ts";
import { call, replaceLine } from "./fixtures/calls.ts";
import { ChatRoom } from "./fixtures/chat-room.ts";

describe("a person at the terminal", () => {
  it.runIf(hasTmux())(
    "allows a tool from now on, and takes changes back while nobody else changed them [FR-TUI-01] [FR-APR-04]",
    async () => {
      const patch = (before: string, after: string) =>
        call("apply_patch", { patch: replaceLine("a.txt", before, after) });
      await using room = await ChatRoom.open(
        [
          { calls: [call("read_file", { path: "a.txt" })] },
          { calls: [patch("two", "TWO")] },
          { text: "First change made." },
          { calls: [patch("three", "THREE")] },
          { text: "Second change made." },
        ],
        { files: { "a.txt": "one\ntwo\nthree\n" } },
      );
      const terminal = await room.terminal();
      await terminal.enter("/tools");
      const tools = await terminal.until(/apply_patch {2,}asks/);
      expect(tools).toMatch(/read_file {2,}allowed/);
      expect(tools).toMatch(/run_command {2,}denied/);
      expect(tools).not.toContain("LP1");
      await terminal.enter("/undo");
      await terminal.until("No call of this conversation changed files");

      await terminal.enter("change two");
      await terminal.prompt("May this run?");
      await terminal.press("A");
      await terminal.until("4 every apply_patch, in every conversation");
      await terminal.press("4");
      await terminal.until("[A] apply_patch");
      await terminal.press("Enter");
      await terminal.until("First change made.");
      await terminal.until(" ready");
      await terminal.enter("change three");
      await terminal.until("Second change made.");
      await terminal.until(" ready");
      expect(room.read("a.txt")).toBe("one\nTWO\nTHREE\n");
      await terminal.enter("/approvals");
      await terminal.until(/consumed +apply_patch: Apply patch to 1 file/);

      await terminal.enter("/undo");
      await terminal.until(/Took back apply_patch[\s\S]*edited: a.txt/);
      expect(room.read("a.txt")).toBe("one\nTWO\nthree\n");
      room.write("a.txt", "one\nTWO\nthree\nby hand\n");
      await terminal.enter("/undo");
      const refused = await terminal.until("was not taken back");
      expect(refused).toMatch(/a\.txt: /);
      expect(room.read("a.txt")).toBe("one\nTWO\nthree\nby hand\n");
      room.write("a.txt", "one\nTWO\nthree\n");
      await terminal.enter("/undo");
      await terminal.until((screen) => (screen.match(/Took back apply_patch/g) ?? []).length === 2);
      expect(room.read("a.txt")).toBe("one\ntwo\nthree\n");
      await terminal.enter("/quit");
      await terminal.until("left with 0");

      const { stdout, code } = await room.run("grants", "list", "--json");
      expect(code).toBe(0);
      expect(stdout).toContain("apply_patch");
    },
  );
});
