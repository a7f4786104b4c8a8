import { describe, expect } from "vitest";
import { onTerminal } from "./on-terminal.ts";

/** Longer than a question takes no keys, than a key takes to have an effect, and than the busy script is busy. */
const MEANWHILE_MS = 3_000;
const BUSY = "2000";

// biome-ignore lint/suspicious/noControlCharactersInRegex: escapes are what this is about.
const PAINT = /\u001b\[[\d;]*m/g;

async function meanwhile(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, MEANWHILE_MS));
}

describe("keys at a question", () => {
  const args = ["approval"];

  onTerminal(
    "count in their order when they move, also in one piece [FR-TUI-01]",
    { args },
    async (terminal) => {
      await terminal.enter("please");
      await terminal.prompt("May these 2 calls run? (1 of 2)");
      await terminal.type("jjj");
      await terminal.until("(2 of 2)");
      await terminal.type("kv");
      await terminal.until((screen) => screen.includes("(1 of 2)") && screen.includes("── Arguments"));
    },
  );

  onTerminal(
    "approve nothing when they come together, typed or pasted [FR-TUI-01] [NFR-SEC-05]",
    { args },
    async (terminal) => {
      await terminal.enter("please");
      await terminal.prompt("May these 2 calls run? (1 of 2)");
      await terminal.type("ja");
      const said = await terminal.until("Keys that come together approve nothing");
      expect(said).toContain("(2 of 2)");
      await terminal.type("k \r");
      await terminal.until((screen) => screen.includes("(1 of 2)") && screen.includes("[ ] apply_patch"));
      await terminal.paste("a");
      await terminal.paste("j");
      await terminal.type("A3\r");
      await meanwhile();
      expect(await terminal.screen()).toMatch(/\(1 of 2\)[\s\S]*\[ \] apply_patch[\s\S]*\[ \] run_command/);
      await terminal.press("a");
      await terminal.until("Decision: approve_all 0,1");
    },
  );

  onTerminal("may deny together, with a reason [FR-TUI-01]", { args }, async (terminal) => {
    await terminal.enter("please");
    await terminal.prompt("May these 2 calls run?");
    await terminal.type("jdnot now\rand more");
    const screen = await terminal.until("Decision: deny_all not now");
    expect(screen).not.toContain("› and more");
  });

  onTerminal(
    "count only after a silence, and it is shown that they do not yet [FR-TUI-01] [NFR-SEC-05]",
    { args },
    async (terminal) => {
      await terminal.enter("please");
      await terminal.prompt("May these 2 calls run?");
      const dim = "\u001b[2ma all\u001b[22m";
      const bright = "\u001b[36ma\u001b[39m\u001b[2m all";
      const received = terminal.received();
      expect(received.replaceAll(PAINT, "")).toContain("one moment, then  a all  d deny");
      expect(received.indexOf(dim)).toBeGreaterThan(0);
      expect(received.indexOf(bright)).toBeGreaterThan(received.lastIndexOf(dim));
      await terminal.press("a");
      await terminal.until("Decision: approve_all");
    },
  );

  onTerminal(
    "are no line that waited while the machine was busy, in plain mode [FR-TUI-01] [NFR-SEC-05]",
    { args: ["busy", "--plain"] },
    async (terminal) => {
      await terminal.enter(BUSY);
      await terminal.press("y", "Enter");
      await terminal.until("Approve apply_patch");
      await meanwhile();
      expect(await terminal.scrollback()).not.toContain("Decision:");
      await terminal.enter("y");
      await terminal.until("Decision: each");
    },
  );

  onTerminal(
    "do not count that waited while the machine was busy [FR-TUI-01] [NFR-SEC-05]",
    { args: ["busy"] },
    async (terminal) => {
      await terminal.enter(BUSY);
      await terminal.press("a");
      await terminal.prompt("May this run?");
      await meanwhile();
      expect(await terminal.scrollback()).not.toContain("Decision:");
      await terminal.press("a");
      await terminal.until("Decision: approve_all");
    },
  );
});
