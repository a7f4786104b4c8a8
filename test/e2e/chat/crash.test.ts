import { randomInt } from "node:crypto";
import { describe, expect, it } from "vitest";
import { eventually, hasTmux } from "../../fixtures/tmux-terminal/index.ts";
import { call } from "./fixtures/calls.ts";
import { ChatRoom } from "./fixtures/chat-room.ts";
import { goneFor, thereFor } from "./fixtures/processes.ts";

const loop = { approval: { denylist: [] } };

describe("a chat that is killed", () => {
  it.runIf(hasTmux())(
    "while a tool runs goes on with the results there are, and runs nothing again [IT-JRN-02] [FR-RES-04] [FR-RES-05] [NFR-REL-04]",
    async () => {
      const long = `300.${randomInt(1_000_000, 9_999_999)}`;
      await using room = await ChatRoom.open(
        [
          {
            calls: [
              call("run_command", { command: "echo one >> log.txt; echo first done" }),
              call("run_command", { command: `echo two >> log.txt; sleep ${long}` }),
              call("run_command", { command: "echo three >> log.txt" }),
            ],
          },
          { text: "I see." },
        ],
        { loop },
      );
      const terminal = await room.terminal();
      await terminal.enter("run them");
      await terminal.prompt("May these 3 calls run?");
      await terminal.press("a");
      await thereFor(long);
      process.kill(await terminal.pid(), "SIGKILL");
      await terminal.until("left with 137");
      await goneFor(long);

      const again = await room.terminal(["--resume", "last"]);
      const asked = await again.prompt("This conversation was interrupted");
      expect(asked).toContain("2 of 3 calls have a result:");
      expect(asked).toMatch(/✓ Run command: echo one >> log.txt; echo first do… {2}first done/);
      expect(asked).toMatch(/✗ Run command: echo two .*… {2}run_command failed: The process ended/);
      expect(asked).toMatch(/⊘ Run command: echo three >> log.txt {2}no result/);
      await again.press("r");
      await again.until("I see.");
      expect(room.told(1)).toEqual({
        call_1: "first done\n",
        call_2: expect.stringContaining("The process ended while the call ran"),
        call_3: "Tool result missing after crash",
      });
      expect(room.read("log.txt")).toBe("one\n");
      await again.until(" ready");
      await again.enter("/approvals");
      expect(await again.until(/run_command: /)).not.toMatch(/(pending|approved) +run_command: /);
      expect(room.model.requests).toHaveLength(2);
    },
  );

  it.runIf(hasTmux())(
    "while calls come in keeps what there is of them, and discards on d [IT-JRN-01] [FR-RES-04] [FR-RES-05]",
    async () => {
      await using room = await ChatRoom.open(
        [
          {
            text: "I will run",
            calls: [
              call("run_command", { command: "echo one >> log.txt" }),
              { name: "run_command", arguments: ['{"comm', 'and":"echo two >> '] },
            ],
            end: "hang",
          },
          { text: "Let us start over." },
        ],
        { loop },
      );
      const terminal = await room.terminal();
      await terminal.enter("run them");
      await terminal.until((screen) => (screen.match(/run_command/g) ?? []).length >= 2);
      process.kill(await terminal.pid(), "SIGKILL");
      await terminal.until("left with 137");

      const again = await room.terminal(["--resume", "last"]);
      const asked = await again.prompt("This conversation was interrupted");
      expect(asked).toContain("The model's answer had not come in completely.");
      expect(asked).toMatch(/⊘ Run command: echo one >> log.txt {2}no result/);
      expect(asked).toMatch(/⊘ run_command call_2 {2}no result/);
      await again.press("d");
      await again.until("Let us start over.");
      expect(room.told(1)).toEqual({
        call_1: "Tool results discarded after crash",
        call_2: "Tool results discarded after crash",
      });
      expect(room.has("log.txt")).toBe(false);
    },
  );

  it.runIf(hasTmux())("while it asks leaves no question behind [FR-RES-05] [NFR-REL-04]", async () => {
    await using room = await ChatRoom.open([
      { calls: [call("write_file", { path: "w.txt", content: "x" })] },
      { text: "Not written, then." },
    ]);
    const terminal = await room.terminal();
    await terminal.enter("write");
    await terminal.prompt("May this run?");
    process.kill(await terminal.pid(), "SIGKILL");
    await terminal.until("left with 137");

    const again = await room.terminal(["--resume", "last"]);
    await again.prompt("This conversation was interrupted");
    await again.press("r");
    await again.until("Not written, then.");
    await again.until(" ready");
    expect(room.told(1)).toEqual({ call_1: "Tool result missing after crash" });
    expect(room.has("w.txt")).toBe(false);
    await again.enter("/approvals");
    expect(await again.until(/ write_file: /)).toMatch(/(cancelled|withdrawn|denied|expired) +write_file: /);
  });

  it("is recovered without a terminal only where it is said how [FR-RES-05] [NFR-REL-04]", async () => {
    await using room = await ChatRoom.open([
      { calls: [call("write_file", { path: "w.txt", content: "x" })], end: "hang" },
      { text: "Discarded, then." },
      { text: "And on we go." },
    ]);
    const { child, done, ran } = room.start("chat", "--print", "write");
    await eventually("the call", () => (ran.stdout.includes('"kind":"call"') ? true : undefined));
    child.kill("SIGKILL");
    await done;

    const refused = await room.print("go on", "--resume", "last");
    expect(refused).toMatchObject({ code: 1, end: { kind: "failed", error: { code: "E3958" } } });
    expect(JSON.stringify(refused.end)).toContain("--recover");
    expect(room.model.requests).toHaveLength(1);

    const { end } = await room.print("go on", "--resume", "last", "--recover", "discard");
    expect(end).toEqual({ kind: "done", text: "And on we go." });
    expect(room.told(1)).toEqual({ call_1: "Tool results discarded after crash" });
    expect(room.has("w.txt")).toBe(false);
  });
});
