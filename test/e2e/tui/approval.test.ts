import { describe, expect } from "vitest";
import type { TmuxTerminal } from "../../fixtures/tmux-terminal/index.ts";
import { onTerminal } from "./on-terminal.ts";

async function asked(terminal: TmuxTerminal): Promise<string> {
  await terminal.enter("please");
  return await terminal.prompt("May these 2 calls run?");
}

describe("the approval prompt in a terminal", () => {
  const args = ["approval"];

  onTerminal("shows name, summary, risk and what would change [FR-TUI-01]", { args }, async (terminal) => {
    const screen = await asked(terminal);
    expect(screen).toMatch(/❯ \[ \] apply_patch {2}medium {2}2 files: src\/greeting.ts/);
    expect(screen).toMatch(/\[ \] run_command {2}high {2}npm test/);
    expect(screen).toContain("+export function greet(whom = name) {");
    expect(screen).toContain('-  return "hello";');
    expect(await terminal.painted()).toContain("\u001b[32m+export function");
    await terminal.press("v");
    await terminal.until(/"patch": "LP1/);
    await terminal.press("p");
    await terminal.until("What would change");
    await terminal.press("?");
    await terminal.until("approve all");
  });

  onTerminal(
    "approves all by a, and shows how each call goes [FR-TUI-01] [FR-TUI-02]",
    { args },
    async (terminal) => {
      await asked(terminal);
      await terminal.press("a");
      await terminal.until(/[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] apply_patch/);
      await terminal.until("Decision: approve_all 0,1");
      const all = await terminal.scrollback();
      expect(all).toMatch(/✓ apply_patch {2}2 files/);
      expect(all).toMatch(/M src\/greeting.ts {2}\+3 −2/);
      expect(all).toMatch(/✗ run_command {2}npm test · exit code 1/);
    },
  );

  onTerminal(
    "runs what was selected and denies the rest [FR-TUI-01] [FR-TUI-02]",
    { args },
    async (terminal) => {
      await asked(terminal);
      await terminal.press("Enter");
      await terminal.until("Nothing is selected");
      await terminal.press("Space");
      await terminal.until("[x] apply_patch");
      await terminal.press("Enter");
      await terminal.until("Decision: approve_selected 0");
      expect(await terminal.scrollback()).toMatch(/⊘ run_command {2}npm test · Tool call denied by user/);
    },
  );

  onTerminal("denies all with a reason [FR-TUI-01]", { args }, async (terminal) => {
    await asked(terminal);
    await terminal.press("d");
    await terminal.until("Why not?");
    await terminal.type("not today");
    await terminal.press("Enter");
    await terminal.until("Decision: deny_all not today");
  });

  onTerminal("denies all by Esc [FR-TUI-01]", { args }, async (terminal) => {
    await asked(terminal);
    await terminal.press("Escape");
    await terminal.until("Decision: deny_all -");
  });

  onTerminal(
    "warns of high risk, and does not offer always for it [FR-TUI-01]",
    { args },
    async (terminal) => {
      expect(await asked(terminal)).toContain("⚠ HIGH RISK: look closely before run_command may run");
      await terminal.press("j");
      await terminal.until("(2 of 2)");
      await terminal.press("A");
      await terminal.until("This tool asks about every call.");
    },
  );

  onTerminal("allows from now on within a scope [FR-TUI-01]", { args }, async (terminal) => {
    await asked(terminal);
    await terminal.press("A");
    await terminal.until("3 every apply_patch, in this conversation");
    await terminal.press("3");
    await terminal.until("[A] apply_patch");
    await terminal.press("Enter");
    await terminal.until(/"\s*session":"this"/);
  });

  onTerminal(
    "edits arguments; what is no JSON or refused is asked about again [FR-TUI-01]",
    { args },
    async (terminal) => {
      await asked(terminal);
      await terminal.press("e");
      await terminal.until("Edit the arguments");
      await terminal.press("x");
      await terminal.until("│ x{");
      await terminal.press("C-s");
      await terminal.until("Not JSON");
      await terminal.press("BSpace");
      await terminal.until("│ {");
      await terminal.press("C-s");
      await terminal.until("[e] apply_patch");
      await terminal.press("Enter");
      await terminal.prompt("The edit was refused: The patch does not fit src/greeting.ts.");
      await terminal.press("a");
      await terminal.until("Decision: approve_all");
    },
  );

  onTerminal("fits a narrow terminal, and a wide one again [FR-TUI-01]", { args }, async (terminal) => {
    await asked(terminal);
    await terminal.resize(40, 24);
    const narrow = await terminal.prompt(/^╭─{38}╮$[\s\S]*↓ \d+ more \(PgDn\)/m);
    expect(narrow).toContain("May these 2 calls run?");
    await terminal.press("NPage", "NPage");
    await terminal.until(/\+export const name/);
    await terminal.resize(100, 30);
    await terminal.prompt(/^╭─{98}╮$/m);
    expect((await terminal.screen()).match(/╭/g)).toHaveLength(1);
    await terminal.press("a");
    await terminal.until("Decision: approve_all");
  });
});
