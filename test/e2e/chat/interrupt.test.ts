import { randomInt } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { eventually, hasTmux } from "../../fixtures/tmux-terminal/index.ts";
import { call } from "./fixtures/calls.ts";
import { ChatRoom } from "./fixtures/chat-room.ts";
import { goneFor, processesWith, thereFor } from "./fixtures/processes.ts";

/** Two within this time leave, whatever is between them. */
const TWICE_MS = 2_100;

/** A number of seconds nobody else sleeps for. */
function longTime(): string {
  return `300.${randomInt(1_000_000, 9_999_999)}`;
}

describe("Ctrl-C", () => {
  it.runIf(hasTmux())(
    "stops a command with all it started, once; twice it leaves [T-CAN-01] [FR-CAN-01] [NFR-REL-04]",
    async () => {
      const [child, own, last] = [longTime(), longTime(), longTime()];
      await using room = await ChatRoom.open(
        [
          {
            calls: [
              call("run_command", { command: `echo half > half.txt; sleep ${child} & sleep ${own}` }),
              call("run_command", { command: "echo second > second.txt" }),
            ],
          },
          { text: "I was stopped." },
          { calls: [call("write_file", { path: "w.txt", content: "x" })] },
          { calls: [call("run_command", { command: `sleep ${last}` })] },
        ],
        { loop: { approval: { denylist: [] } } },
      );
      const terminal = await room.terminal();
      await terminal.enter("run it");
      await terminal.prompt("May these 2 calls run?");
      await terminal.press("a");
      await thereFor(child);
      await thereFor(own);
      await terminal.press("C-c");
      await terminal.until("Cancelled.");
      await terminal.until(" ready");
      await goneFor(child);
      await goneFor(own);
      expect(room.model.requests).toHaveLength(1);
      expect([room.has("half.txt"), room.has("second.txt")]).toEqual([false, false]);

      await terminal.enter("what happened?");
      await terminal.until("I was stopped.");
      expect(room.told(1)).toEqual({ call_1: "Cancelled by user", call_2: "Cancelled by user" });

      await terminal.until(" ready");
      await terminal.enter("write");
      await terminal.prompt("May this run?");
      await sleep(TWICE_MS);
      await terminal.press("C-c");
      await terminal.until((screen) => (screen.match(/Cancelled\./g) ?? []).length === 2);
      await terminal.until(" ready");
      await terminal.enter("/approvals");
      expect(await terminal.until(/ write_file: /)).not.toMatch(/(pending|approved) +\w+: /);
      expect(room.has("w.txt")).toBe(false);

      await terminal.enter("once more");
      await terminal.prompt("May this run?");
      await terminal.press("a");
      await thereFor(last);
      await sleep(TWICE_MS);
      await terminal.press("C-c", "C-c");
      await terminal.until(/left with 0\s+shell>/);
      expect(processesWith(last)).toEqual([]);
      expect(await terminal.pane("cursor_flag")).toBe("1");
    },
  );

  it("ends a chat without a terminal in order [T-CAN-01] [FR-CAN-01]", async () => {
    await using room = await ChatRoom.open([{ text: "I begin", end: "hang" }, { text: "Here I am." }]);
    const { child, done, ran } = room.start("chat", "--print", "talk");
    await eventually("the first words", () => (ran.stdout.includes("I begin") ? true : undefined));
    child.kill("SIGINT");
    const { code, stdout } = await done;
    expect(code).toBe(6);
    expect(JSON.parse(stdout.trim().split("\n").at(-1) ?? "")).toMatchObject({ end: { kind: "cancelled" } });

    const next = await room.print("still there?", "--resume", "last");
    expect(next.end).toEqual({ kind: "done", text: "Here I am." });
    const said = room.model.requests[1]?.body.messages.map(({ role, content }) => [role, content]);
    expect(said).toEqual([
      ["user", "talk"],
      ["assistant", "I begin"],
      ["user", "still there?"],
    ]);
  });
});
