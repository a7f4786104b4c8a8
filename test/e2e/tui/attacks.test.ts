import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import type { TmuxTerminal } from "../../fixtures/tmux-terminal/index.ts";
import { onTerminal } from "./on-terminal.ts";

const SHOW = fileURLToPath(
  new URL("../../../packages/server/src/tui/fixtures/show-screen.ts", import.meta.url),
);
const UNTOUCHED = [
  "pane_title",
  "alternate_on",
  "mouse_any_flag",
  "insert_flag",
  "scroll_region_upper",
  "scroll_region_lower",
];
/** What the screen itself paints with. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: escapes are what this is about.
const OWN = /\u001b\[(?:0|1|2|7|22|27|31|32|33|36|39|49)(?:;(?:0|1|2|7|31|32|33|36|39|49))*m/g;

async function stateOf(terminal: TmuxTerminal): Promise<string[]> {
  return [await terminal.clipboard(), ...(await Promise.all(UNTOUCHED.map((name) => terminal.pane(name))))];
}

describe.each([
  ["the screen", ["attack"]],
  ["plain mode", ["attack", "--plain"]],
] as const)("%s", (_, args) => {
  onTerminal(
    "is not moved by what a hostile text holds, in any field [FR-OUT-02] [NFR-SEC-05]",
    { args, rows: args.length > 1 ? 300 : 24 },
    async (terminal) => {
      const before = await stateOf(terminal);
      await terminal.enter("go");
      await terminal.prompt(/HIGH RISK|high risk\)\?/);
      await terminal.press("v");
      if (args.length > 1) await terminal.press("Enter");
      await terminal.until(/\\u001b\[31mred/);
      expect((await terminal.painted()).replaceAll(OWN, "")).not.toContain("\u001b");
      await (args.length > 1 ? terminal.press("d", "Enter", "Enter") : terminal.press("Escape"));
      await terminal.until(/\/tool error <id> <message>/);
      expect(await stateOf(terminal)).toEqual(before);
      expect(await terminal.scrollback()).not.toMatch(/PWNED|\u202e/);
    },
  );
});

describe("print mode", () => {
  it("gives every event as a line of JSON without a single control character [FR-OUT-02] [NFR-SEC-05]", async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [SHOW, "attack", "--print", "go"]).catch(
      (error) => error,
    );
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this is about.
    expect(stdout).not.toMatch(/[\0-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]/);
    const lines = stdout
      .trim()
      .split("\n")
      .map((line: string) => JSON.parse(line));
    expect(lines.at(-1)).toMatchObject({ kind: "end", end: { kind: "failed", error: { code: "E3959" } } });
    expect(lines.find(({ kind }: { kind: string }) => kind === "stdout").chunk).toContain("\u001b[31mred");
  });
});
