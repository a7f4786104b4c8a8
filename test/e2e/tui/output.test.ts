import { describe, expect } from "vitest";
import { onTerminal } from "./on-terminal.ts";

function numbersOn(screen: string): number[] {
  return [...screen.matchAll(/line (\d+) of the output/g)].map(([, number]) => Number(number));
}

describe("the output of a running tool", () => {
  onTerminal(
    "is followed, stands still when scrolled up, and is followed again at the end [FR-TUI-03]",
    { args: ["streaming"] },
    async (terminal) => {
      await terminal.enter("go");
      const first = await terminal.until(/line 30 of/);
      expect(first).toMatch(/[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] run_command {2}make everything/);
      expect(first).toMatch(/· read_file {2}README.md/);
      await terminal.press("PPage");
      const held = numbersOn(await terminal.until(/\d+ more lines below/));
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      expect(numbersOn(await terminal.screen())).toEqual(held);
      await terminal.press("Up");
      await terminal.until((screen) => (numbersOn(screen)[0] ?? 0) === (held[0] ?? 0) - 1);
      await terminal.press("NPage", "NPage");
      const followed = await terminal.until((screen) => !screen.includes("below"));
      expect(numbersOn(followed).at(-1)).toBeGreaterThan((held.at(-1) ?? 0) + 15);
      await terminal.resize(40, 20);
      // The first frame after a resize may still be laid out for the old width.
      await terminal.until((screen) => /^ {2}╭─{36}╮$/m.test(screen) && screen.includes("running tools"));
      await terminal.resize(80, 24);
      const all = await terminal.until("All 200 lines are there.");
      expect(all).toContain("│ line 200 of the output");
      expect(all).toMatch(/✓ read_file {2}README.md/);
    },
  );

  onTerminal(
    "comes as fast as it likes without filling memory [FR-TUI-03] [FR-OUT-03]",
    { args: ["flood"] },
    async (terminal) => {
      await terminal.enter("1");
      const small = residentOf(await terminal.until(/Flooded 1 MB in .* resident/));
      await terminal.enter("40");
      const screen = await terminal.until(/Flooded 40 MB in .* resident/);
      expect(residentOf(screen.slice(screen.lastIndexOf("Flooded")))).toBeLessThan(small + 150);
    },
  );

  onTerminal(
    "shows a line that is rewritten as one line that changes [FR-TUI-03]",
    { args: ["progress"] },
    async (terminal) => {
      await terminal.enter("go");
      const seen = new Set<string>();
      const last = await terminal.until((screen) => {
        const lines = screen.match(/│ fetch.*/g) ?? [];
        if (lines.length > 0) seen.add(lines.map((line) => line.replace(/[│ ]+$/, "")).join(" "));
        return screen.includes("fetched");
      });
      expect(last).toMatch(/│ fetching 100% +│\n +│ fetched +│\n +│ run_command: [12] line/);
      expect([...seen].filter((lines) => /fetching.*fetching/.test(lines))).toEqual([]);
    },
  );

  onTerminal("does not keep a person from stopping it [FR-TUI-03]", { args: ["flood"] }, async (terminal) => {
    await terminal.enter("100000");
    await terminal.until("xxxxx");
    await terminal.press("C-c");
    await terminal.until("Cancelled.");
  });
});

function residentOf(screen: string): number {
  return Number(/(\d+) MB resident/.exec(screen)?.[1]);
}
