import { execFile, execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const SHOW = fileURLToPath(
  new URL("../../../packages/server/src/tui/fixtures/show-screen.ts", import.meta.url),
);
const WAIT_MS = 30_000;
const LOOK_MS = 100;
/** Longer than a prompt stays deaf. */
const READ_MS = 500;

const run = promisify(execFile);

/** Whether there is a tmux to show the screen in; without one the tests are skipped, unless services are required. */
export function hasTmux(): boolean {
  try {
    execFileSync("tmux", ["-V"], { stdio: "pipe" });
    return true;
  } catch (error) {
    if (process.env.SALLYPORT_REQUIRE_SERVICES) throw error;
    console.warn("Screen tests are skipped: there is no tmux on this machine.");
    return false;
  }
}

export interface TerminalOptions {
  columns?: number;
  rows?: number;
  env?: Record<string, string>;
}

/** A real terminal with the screen in it, on a tmux server of its own. */
export class Terminal {
  readonly #folder = mkdtempSync(join(tmpdir(), "sallyport-tui-"));

  /** Starts the screen over a script and waits until it is there. */
  static async show(args: readonly string[], options: TerminalOptions = {}): Promise<Terminal> {
    const terminal = new Terminal();
    const { columns = 80, rows = 24, env = {} } = options;
    const given = { LC_ALL: "C.UTF-8", ...env };
    const words = Object.entries(given).map(([name, value]) => `${name}=${value}`);
    const command = ["env", "-u", "NO_COLOR", "-u", "CI", ...words, process.execPath, SHOW, ...args];
    const size = ["-x", String(columns), "-y", String(rows)];
    await terminal.#tmux("-f", "/dev/null", "new-session", "-d", ...size, "sh");
    await terminal.#tmux("set", "-g", "history-limit", "20000");
    // The shell stays when the screen has gone, so that it can be seen what is left behind.
    await terminal.#tmux("send-keys", "-l", `PS1='shell> '; clear; ${command.map(quoted).join(" ")}\n`);
    await terminal.until(/ ready|recovery |^You:|interrupted/m);
    return terminal;
  }

  async close(): Promise<void> {
    await this.#tmux("kill-server").catch(() => "");
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** Presses keys by their tmux names, one after the other. */
  async press(...keys: string[]): Promise<void> {
    for (const key of keys) {
      await this.#tmux("send-keys", key);
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
  }

  async type(text: string): Promise<void> {
    await this.#tmux("send-keys", "-l", text);
  }

  /** Types a line and enters it. */
  async enter(text: string): Promise<void> {
    await this.type(text);
    await this.until((screen) => screen.includes(text.slice(-20)));
    await this.press("Enter");
  }

  /** As a terminal pastes it. */
  async paste(text: string): Promise<void> {
    await this.#tmux("set-buffer", "-b", "paste", text);
    await this.#tmux("paste-buffer", "-p", "-d", "-b", "paste");
  }

  async resize(columns: number, rows: number): Promise<void> {
    await this.#tmux("resize-window", "-x", String(columns), "-y", String(rows));
  }

  /** What is on the screen, line by line. */
  async screen(): Promise<string> {
    return await this.#tmux("capture-pane", "-p");
  }

  /** The same with the colours, as escape sequences. */
  async painted(): Promise<string> {
    return await this.#tmux("capture-pane", "-p", "-e");
  }

  /** All that was ever written. */
  async scrollback(): Promise<string> {
    return await this.#tmux("capture-pane", "-p", "-S", "-");
  }

  /** A variable of the pane, such as its title. */
  async pane(variable: string): Promise<string> {
    return (await this.#tmux("display-message", "-p", `#{${variable}}`)).trim();
  }

  async clipboard(): Promise<string> {
    return await this.#tmux("list-buffers");
  }

  /** Sends a signal to the screen's process. */
  async signal(signal: NodeJS.Signals): Promise<void> {
    const shell = await this.pane("pane_pid");
    const { stdout } = await run("ps", ["-o", "pid=", "--ppid", shell]);
    process.kill(Number(stdout.trim().split(/\s+/)[0]), signal);
  }

  /** Waits for something on the screen and gives the screen; a prompt is left long enough to be read. */
  async until(wanted: string | RegExp | ((screen: string) => boolean)): Promise<string> {
    const before = Date.now();
    for (;;) {
      const screen = await this.screen();
      if (matches(screen, wanted)) return screen;
      if (Date.now() - before > WAIT_MS) throw new Error(`never came: ${String(wanted)}\n${screen}`);
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
  }

  /** Waits for a prompt, and then as long as a person needs to read it. */
  async prompt(wanted: string | RegExp): Promise<string> {
    const screen = await this.until(wanted);
    await new Promise((resolve) => setTimeout(resolve, READ_MS));
    return screen;
  }

  async #tmux(...args: string[]): Promise<string> {
    const { stdout } = await run("tmux", ["-S", join(this.#folder, "socket"), ...args]);
    return stdout;
  }
}

function matches(screen: string, wanted: string | RegExp | ((screen: string) => boolean)): boolean {
  if (typeof wanted === "function") return wanted(screen);
  return typeof wanted === "string" ? screen.includes(wanted) : wanted.test(screen);
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}
