import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { delimiter, dirname } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import { processEnvironment } from "../config/environment.ts";

export interface ProcessOrder {
  command: readonly [string, ...string[]];
  folder: string;
  env: Readonly<Record<string, string>>;
  /** Hears each line that it prints. */
  onLine(line: string, from: "stdout" | "stderr"): void;
}

/** A process with everything that it starts: they are a group, and end together. */
export class LocalProcess {
  /** Resolves with how it ended; never rejects. */
  readonly ended: Promise<string>;
  readonly #child: ChildProcess;

  constructor({ command: [program, ...args], folder, env, onLine }: ProcessOrder) {
    const own = processEnvironment();
    // `node` and what `npm` starts are this Node, whichever else is installed.
    const path = [dirname(process.execPath), own.PATH ?? ""].join(delimiter);
    this.#child = spawn(program, args, {
      cwd: folder,
      env: { ...own, PATH: path, ...env },
      stdio: ["ignore", "pipe", "pipe"],
      detached: true,
    });
    for (const from of ["stdout", "stderr"] as const) {
      const stream = this.#child[from];
      if (stream) createInterface(stream).on("line", (line) => onLine(line, from));
    }
    this.ended = this.#end();
  }

  get id(): number | undefined {
    return this.#child.pid;
  }

  /** Asks it to end, and ends it when it has not after so long. Resolves once it is gone. */
  async stop(graceMs: number): Promise<void> {
    this.signal("SIGTERM");
    const late = setTimeout(() => this.signal("SIGKILL"), graceMs);
    await this.ended;
    clearTimeout(late);
  }

  /** To the whole group. */
  signal(name: NodeJS.Signals): void {
    if (this.#child.pid === undefined) return;
    try {
      process.kill(-this.#child.pid, name);
    } catch (error) {
      const isGone = error instanceof Error && "code" in error && error.code === "ESRCH";
      if (!isGone) throw error;
    }
  }

  async #end(): Promise<string> {
    try {
      const [code, signal] = await once(this.#child, "exit");
      // What it has started and left behind goes, too.
      this.signal("SIGKILL");
      return signal ? `was ended by ${signal}` : `ended with code ${code}`;
    } catch (error) {
      return `cannot be started: ${error instanceof Error ? error.message : String(error)}`;
    }
  }
}

export interface KeepOptions {
  name: string;
  order: ProcessOrder;
  port: number;
  say(text: string): void;
  /** Waits before it is started again: the first, which doubles up to the longest. */
  waits?: { firstMs: number; longestMs: number };
}

const LISTENS_WITHIN_MS = 180_000;
/** One that ran so long begins with the first wait again. */
const WELL_AFTER_MS = 30_000;
const GRACE_MS = 10_000;

/** Keeps a process running: one that dies is started again. */
export class KeptProcess {
  readonly #options: Required<KeepOptions>;
  readonly #stopping = new AbortController();
  #process: LocalProcess;
  #kept: Promise<void> | undefined;

  constructor(options: KeepOptions) {
    this.#options = { waits: { firstMs: 500, longestMs: 15_000 }, ...options };
    this.#process = new LocalProcess(options.order);
  }

  get id(): number | undefined {
    return this.#process.id;
  }

  /** Resolves with undefined once it listens at its port, and is kept from then on; else with why it never did. */
  async open(): Promise<string | undefined> {
    const { port } = this.#options;
    const { signal } = this.#stopping;
    const ended = this.#process.ended.then((how) => `${how} before it listened at port ${port}`);
    const open = new AbortController();
    const looked = listening(port, AbortSignal.any([signal, open.signal])).then((isOpen) =>
      isOpen ? undefined : `does not listen at port ${port}, which the variable PORT gave it`,
    );
    const trouble = await Promise.race([ended, looked]);
    open.abort();
    if (trouble === undefined) this.#kept = this.#keep();
    return trouble;
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#process.stop(GRACE_MS);
    await this.#kept;
  }

  kill(): void {
    this.#process.signal("SIGKILL");
  }

  async #keep(): Promise<void> {
    const { name, order, say, waits } = this.#options;
    const { signal } = this.#stopping;
    let waitMs = waits.firstMs;
    while (!signal.aborted) {
      const startedAt = performance.now();
      const how = await this.#process.ended;
      if (signal.aborted) return;
      if (performance.now() - startedAt > WELL_AFTER_MS) waitMs = waits.firstMs;
      say(`${name} ${how}; it is started again in ${waitMs / 1_000} s`);
      await pause(waitMs, undefined, { signal }).catch(() => undefined);
      waitMs = Math.min(2 * waitMs, waits.longestMs);
      if (!signal.aborted) this.#process = new LocalProcess(order);
    }
  }
}

/** Whether somebody listens there, within a long time; false once nobody wants to know. */
async function listening(port: number, signal: AbortSignal): Promise<boolean> {
  const until = performance.now() + LISTENS_WITHIN_MS;
  while (performance.now() < until && !signal.aborted) {
    if (await connects(port)) return true;
    await pause(100, undefined, { signal }).catch(() => undefined);
  }
  return false;
}

function connects(port: number): Promise<boolean> {
  const socket = connect({ host: "127.0.0.1", port });
  return new Promise((resolve) => {
    socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
  }).then((isOpen) => {
    socket.destroy();
    return isOpen === true;
  });
}
