import { it } from "vitest";
import { hasTmux, Terminal, type TerminalOptions } from "./terminal.ts";

const there = hasTmux();

/** A test with a screen in a terminal, which is gone afterwards. */
export function onTerminal(
  name: string,
  { args, ...options }: TerminalOptions & { args: readonly string[] },
  test: (terminal: Terminal) => Promise<void>,
): void {
  it.runIf(there)(name, async () => {
    const terminal = await Terminal.show(args, options);
    try {
      await test(terminal);
    } finally {
      await terminal.close();
    }
  });
}
