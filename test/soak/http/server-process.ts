import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

const BIN = fileURLToPath(new URL("../../../packages/server/bin/sallyport.js", import.meta.url));

/** V8 collects late where there is much memory; bounded, it shows what is really held on to. */
const NODE_OPTIONS = "--max-old-space-size=192";

/** A line of the server's log. */
export interface LogLine {
  level: string;
  message: string;
  context?: Record<string, unknown>;
}

/** How a server process ended, and everything it had to say. */
export interface Ended {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

/** One life of `sallyport serve`, from its start to its end. */
export class ServerProcess {
  readonly child: ChildProcess;
  readonly startedAt = Date.now();
  /** Resolves when it is gone, however it ended. */
  readonly gone: Promise<Ended>;
  readonly #said = { stdout: "", stderr: "" };
  readonly #listeners = new Set<() => void>();

  /** `env` is added to the little that it gets otherwise. */
  constructor(folder: string, args: readonly string[], env: Record<string, string> = {}) {
    this.child = spawn(process.execPath, [BIN, "serve", "--json", "--json-logs", ...args], {
      cwd: folder,
      stdio: ["ignore", "pipe", "pipe"],
      env: { PATH: process.env.PATH, HOME: folder, TMPDIR: folder, NO_COLOR: "1", NODE_OPTIONS, ...env },
    });
    for (const name of ["stdout", "stderr"] as const) {
      this.child[name]?.on("data", (chunk: Buffer) => this.#hear(name, chunk));
    }
    this.gone = new Promise((resolve, reject) => {
      this.child.once("error", reject);
      this.child.once("close", (code, signal) => resolve({ code, signal, ...this.#said }));
    });
  }

  get pid(): number {
    return this.child.pid ?? -1;
  }

  get isAlive(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  /** The strongest isolation it found; null where there is none. */
  get isolation(): string | null {
    const { isolation }: { isolation: { level: string } | null } = JSON.parse(this.#said.stdout);
    return isolation?.level ?? null;
  }

  get log(): LogLine[] {
    const lines = this.#said.stderr.split("\n");
    return lines.filter((line) => line.startsWith("{") && line.endsWith("}")).map((line) => JSON.parse(line));
  }

  /** Resolves once it says that its door is open; rejects with its last words when it ends before. */
  async open(): Promise<this> {
    await this.#until(() => this.#said.stdout.endsWith("}\n"), "open its door");
    return this;
  }

  /** The first line of the log, from that one on, whose message fits. */
  async logged(message: RegExp, from = 0): Promise<LogLine> {
    const find = () => this.log.slice(from).find((line) => message.test(line.message));
    await this.#until(() => find() !== undefined, `log ${message}`);
    return find() ?? { level: "", message: "" };
  }

  send(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  /** Ends it without a chance to say anything. */
  async kill(): Promise<void> {
    this.send("SIGKILL");
    await this.gone;
  }

  #hear(name: "stdout" | "stderr", chunk: Buffer): void {
    this.#said[name] += chunk.toString();
    for (const listener of [...this.#listeners]) listener();
  }

  #until(isSo: () => boolean, what: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const look = () => {
        if (!isSo()) return;
        this.#listeners.delete(look);
        resolve();
      };
      this.#listeners.add(look);
      this.gone.then(({ code, signal, stderr }) => {
        reject(new Error(`it ended (${code ?? signal}) and did not ${what}: ${stderr}`));
      }, reject);
      look();
    });
  }
}
