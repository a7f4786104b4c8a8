import { describe, expect } from "vitest";
import type { TmuxTerminal } from "../../fixtures/tmux-terminal/index.ts";
import { onTerminal } from "./on-terminal.ts";

const SIZES = [
  [80, 10],
  [80, 8],
  [80, 6],
  [80, 5],
  [80, 4],
  [40, 8],
  [40, 6],
  [30, 5],
  [20, 8],
  [20, 6],
] as const;

/** Asked in a large window, which then becomes small. */
async function asked(terminal: TmuxTerminal, [columns, rows]: readonly [number, number]) {
  await terminal.enter("please");
  await terminal.prompt("May these 2 calls run?");
  await terminal.resize(columns, rows);
}

/** Fails unless the question is there, above the keys. */
function expectQuestion(screen: string, name: string, risk: string): void {
  const lines = screen.split("\n");
  const question = lines.findIndex((line) => line.includes(name) && line.includes(risk));
  const keys = lines.findIndex((line) => line.includes("a all") && line.includes("d deny"));
  expect([question >= 0, keys > question]).toEqual([true, true]);
}

describe("the approval prompt in a small window", () => {
  for (const size of SIZES) {
    const name = `shows name, risk and summary above the keys at ${size.join("×")} [FR-TUI-01]`;
    onTerminal(name, { args: ["approval"] }, async (terminal) => {
      await asked(terminal, size);
      const isThere = (screen: string) => /2 files: ?s/.test(screen) && !screen.includes("╭");
      expectQuestion(await terminal.prompt(isThere), "apply_patch", "medium");
      await terminal.press("j");
      expectQuestion(await terminal.until("2 of 2"), "run_command", "high");
      await terminal.press("a");
      await terminal.until(/Decision:|all 0,1/);
    });
  }

  onTerminal(
    "lets what would change be scrolled in what is left [FR-TUI-01]",
    { args: ["approval"] },
    async (terminal) => {
      await asked(terminal, [80, 8]);
      await terminal.prompt("↓ 12 more (PgDn)");
      await terminal.press("NPage");
      await terminal.until("↓ 11 more (PgDn)");
      for (let page = 2; page <= 12; page += 1) await terminal.press("NPage");
      await terminal.until(/the end \(PgUp\)[\s\S]*\+export const name/);
    },
  );

  onTerminal(
    "takes nothing but a denial where it cannot be shown, and asks when it can [FR-TUI-01] [NFR-SEC-05]",
    { args: ["approval"] },
    async (terminal) => {
      await asked(terminal, [80, 3]);
      await terminal.prompt("Too small to ask you.");
      await terminal.press("a", "Space", "Enter", "A", "1", "Enter");
      await terminal.resize(19, 24);
      await terminal.prompt(/Too small to ask\s+you\./);
      await terminal.press("a", "Space", "Enter");
      await terminal.resize(80, 24);
      const back = await terminal.prompt("May these 2 calls run?");
      expect(back).toContain("[ ] apply_patch");
      expect(back).not.toContain("Decision:");
      await terminal.resize(80, 2);
      await terminal.prompt("Too small to ask you.");
      await terminal.press("d");
      await terminal.resize(80, 24);
      await terminal.until("Decision: deny_all -");
    },
  );

  onTerminal(
    "does not approve calls together that were never shown [FR-TUI-01] [NFR-SEC-05]",
    { args: ["many"], rows: 12 },
    async (terminal) => {
      await terminal.enter("please");
      await terminal.prompt("May these 8 calls run?");
      await terminal.press("a");
      await terminal.until(/\d calls were not shown yet: j goes on to the next\./);
      for (let step = 2; step <= 8; step += 1) {
        await terminal.press("j");
        await terminal.until(`(${step} of 8)`);
      }
      await terminal.press("a");
      await terminal.until("Decision: approve_all");
    },
  );

  onTerminal(
    "offers a scope only as a whole [FR-TUI-01] [NFR-SEC-05]",
    { args: ["approval"] },
    async (terminal) => {
      await asked(terminal, [30, 8]);
      await terminal.prompt(/2 files/);
      await terminal.press("A");
      await terminal.until(/❯ 1 these arguments, in this\s+conversation/);
      await terminal.press("j");
      await terminal.until(/❯ 2 these arguments, in\s+every conversation[^\n]*\s+folder/);
      await terminal.press("Enter");
      await terminal.until("[A]");
    },
  );

  onTerminal(
    "shows a crash's leftovers above the keys too [FR-RES-05]",
    { args: ["recovery"], rows: 8 },
    async (terminal) => {
      const screen = await terminal.prompt("This conversation was interrupted");
      expect(screen).toMatch(/interrupted\s+2 of 3 calls have a result:[\s\S]*read_file[\s\S]* r resume/);
      await terminal.press("r");
      await terminal.until("You chose to resume.");
    },
  );
});
