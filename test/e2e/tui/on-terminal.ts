import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, it } from "vitest";
import { eventually, hasTmux, type TerminalWish, TmuxTerminal } from "../../fixtures/tmux-terminal/index.ts";

const SHOW = fileURLToPath(
  new URL("../../../packages/server/src/tui/fixtures/show-screen.ts", import.meta.url),
);
const READY = / ready|recovery |^You:|interrupted/m;

const there = hasTmux();

interface ScreenWish extends Pick<TerminalWish, "columns" | "rows" | "env"> {
  /** The script that is shown, and how. */
  args: readonly string[];
}

/**
 * A test with a screen in a terminal. The tests of a file share a terminal and a process, which shows each of them a new
 * screen. Plain screens, which leave standard input ended, and screens with an environment of their own get a terminal for
 * themselves; after a test that left or failed comes a new one.
 */
export function onTerminal(
  name: string,
  wish: ScreenWish,
  test: (terminal: TmuxTerminal) => Promise<void>,
): void {
  const inTerminal = wish.env || wish.args.includes("--plain") ? inOwnTerminal : inSharedTerminal;
  it.runIf(there)(name, () => inTerminal(wish, test));
}

async function inOwnTerminal({ args, ...wish }: ScreenWish, test: (terminal: TmuxTerminal) => Promise<void>) {
  const command = [process.execPath, SHOW, ...args];
  await using terminal = await TmuxTerminal.start({ ...wish, command, ready: READY });
  await test(terminal);
}

async function inSharedTerminal(wish: ScreenWish, test: (terminal: TmuxTerminal) => Promise<void>) {
  try {
    const terminal = await shared.show(wish);
    await test(terminal);
    if (terminal.hasLeft) await shared.close();
  } catch (error) {
    await shared.close();
    throw error;
  }
}

/** One terminal with one process, which shows one screen after the other. */
class SharedTerminal {
  #open: { terminal: TmuxTerminal; folder: string; screens: number } | undefined;

  async show({ args, columns = 80, rows = 24 }: ScreenWish): Promise<TmuxTerminal> {
    const text = JSON.stringify(args);
    if (!this.#open) return await this.#start(text, { columns, rows });
    const { terminal, folder } = this.#open;
    writeFileSync(join(folder, "next"), text);
    await terminal.resize(columns, rows);
    terminal.forget();
    process.kill(await terminal.pid(), "SIGUSR2");
    this.#open.screens += 1;
    const title = `screen ${this.#open.screens}`;
    await eventually(title, async () => ((await terminal.pane("pane_title")) === title ? true : undefined));
    await terminal.until(READY);
    return terminal;
  }

  async #start(text: string, size: { columns: number; rows: number }): Promise<TmuxTerminal> {
    const folder = mkdtempSync(join(tmpdir(), "sallyport-screens-"));
    writeFileSync(join(folder, "next"), text);
    const command = [process.execPath, SHOW, "--next", join(folder, "next")];
    const terminal = await TmuxTerminal.start({ ...size, command, ready: READY });
    this.#open = { terminal, folder, screens: 1 };
    return terminal;
  }

  async close(): Promise<void> {
    const open = this.#open;
    this.#open = undefined;
    await open?.terminal.close();
    if (open) rmSync(open.folder, { recursive: true, force: true });
  }
}

const shared = new SharedTerminal();
afterAll(() => shared.close());
