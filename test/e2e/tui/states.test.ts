import { describe, expect } from "vitest";
import { onTerminal } from "./on-terminal.ts";

describe("an interrupted conversation", () => {
  onTerminal(
    "shows what was recovered and resumes with it [FR-RES-05]",
    { args: ["recovery"] },
    async (terminal) => {
      const screen = await terminal.prompt("This conversation was interrupted");
      expect(screen).toContain("2 of 3 calls have a result:");
      expect(screen).toMatch(/✓ read_file call_1 {2}# Readme more/);
      expect(screen).toMatch(/✗ apply_patch call_2 {2}E3951 does not fit/);
      expect(screen).toMatch(/⊘ run_command call_3 {2}no result/);
      expect(screen).toContain("Nothing runs again, whatever you choose.");
      await terminal.press("Enter", "x");
      // On a slow machine the first may come together with what was pressed before, and then is no answer.
      await terminal.press("r");
      await terminal.press("r");
      await terminal.until("You chose to resume.");
      await terminal.until(" ready");
    },
  );

  onTerminal("discards on d [FR-RES-05]", { args: ["recovery"] }, async (terminal) => {
    await terminal.prompt("This conversation was interrupted");
    await terminal.press("d");
    await terminal.until("You chose to discard.");
  });

  onTerminal(
    "asks line by line in plain mode [FR-RES-05]",
    { args: ["recovery", "--plain"] },
    async (terminal) => {
      await terminal.until("[r]esume");
      await terminal.enter("what?");
      await terminal.enter("d");
      await terminal.until("You chose to discard.");
    },
  );
});

describe("mode parse_only", () => {
  onTerminal(
    "lists pending calls and takes their results [FR-TUI-04]",
    { args: ["results"] },
    async (terminal) => {
      await terminal.enter("go");
      const screen = await terminal.until("2 calls wait for your results");
      expect(screen).toMatch(/read_file {2}call_1/);
      expect(screen).toContain('{"path":"src","depth":2}');
      expect(screen).toContain("/tool <id> <result>");
      await terminal.enter("/tool call_9 x");
      await terminal.until("No pending call has the id call_9.");
      await terminal.enter("/tool call_1 # Readme");
      await terminal.until("call_1 is fine: # Readme");
      await terminal.until("1 call waits for your result");
      await terminal.enter("/tool error call_2 no such folder");
      await terminal.until("call_2 is an error: no such folder");
      await terminal.until((now) => now.includes("Thank you.") && !now.includes("waits for"));
    },
  );
});

describe("plain mode", () => {
  const args = ["approval", "--plain"];

  onTerminal("asks by lines and redraws nothing [FR-TUI-01]", { args }, async (terminal) => {
    await terminal.enter("please");
    await terminal.until("Approve apply_patch (medium risk)?");
    await terminal.enter("p");
    await terminal.until("+export function greet(whom = name) {");
    await terminal.enter("y");
    await terminal.until("WARNING: HIGH RISK");
    await terminal.enter("n");
    await terminal.enter("too risky");
    const screen = await terminal.until("Decision: each");
    expect(screen).toContain('0={"kind":"approve"} 1={"kind":"deny","reason":"too risky"}');
    await terminal.enter("/quit");
    await terminal.until(/left with 0\s+shell>/);
    expect(await terminal.painted()).not.toContain("\u001b");
  });

  onTerminal(
    "says when tools start and end [FR-TUI-02]",
    { args: ["streaming", "--plain"] },
    async (terminal) => {
      await terminal.enter("go");
      await terminal.until("All 200 lines are there.");
      const all = await terminal.scrollback();
      expect(all).toContain("Tool run_command (make everything): started");
      expect(all).toContain("  | line 20 of the output");
      expect(all).not.toContain("line 21 of the output");
      expect(all).toContain("Tool run_command: finished, 200 lines of output");
    },
  );

  onTerminal(
    "is what a dumb terminal gets; Ctrl-C stops, then leaves",
    { args: ["echo"], env: { TERM: "dumb" } },
    async (terminal) => {
      await terminal.enter("work");
      await terminal.press("C-c");
      await terminal.until("Warning: Cancelled.");
      await terminal.press("C-c");
      await terminal.until(/left with 0\s+shell>/);
    },
  );
});
