import { fileURLToPath } from "node:url";
import { it } from "vitest";
import { hasTmux, type TerminalWish, TmuxTerminal } from "../../fixtures/tmux-terminal/index.ts";

const SHOW = fileURLToPath(
  new URL("../../../packages/server/src/tui/fixtures/show-screen.ts", import.meta.url),
);
const READY = / ready|recovery |^You:|interrupted/m;

const there = hasTmux();

interface ScreenWish extends Pick<TerminalWish, "columns" | "rows" | "env"> {
  /** The script that is shown, and how. */
  args: readonly string[];
}

/** A test with a screen in a terminal, which is gone afterwards. */
export function onTerminal(
  name: string,
  { args, ...wish }: ScreenWish,
  test: (terminal: TmuxTerminal) => Promise<void>,
): void {
  it.runIf(there)(name, async () => {
    const command = [process.execPath, SHOW, ...args];
    await using terminal = await TmuxTerminal.start({ ...wish, command, ready: READY });
    await test(terminal);
  });
}
