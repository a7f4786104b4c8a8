import type { ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  type Ran,
  type Running,
  runHere,
  type Started,
  startHere,
  startProcess,
} from "../fixtures/command-line.ts";

const TOOLS = fileURLToPath(new URL("./fixtures/tools.ts", import.meta.url));
const CALCULATOR = fileURLToPath(new URL("../../examples/calculator/calculator.ts", import.meta.url));
const COUNTER = fileURLToPath(new URL("../../examples/counter/counter.ts", import.meta.url));

/** A folder of its own with a configuration, and the command line to use in it: in this process unless a test asks for another. */
export class Shell {
  readonly folder = mkdtempSync(join(tmpdir(), "sallyport-e2e-"));
  readonly #children = new Set<ChildProcess>();
  readonly #running = new Set<Running>();

  constructor(config?: string) {
    writeFileSync(join(this.folder, "sallyport.yaml"), config ?? standardConfig());
  }

  path(name: string): string {
    return join(this.folder, name);
  }

  /** Runs a command in this process. */
  run(args: string[], { stdin }: { stdin?: string } = {}): Promise<Ran> {
    return runHere(args, { cwd: this.folder, stdin });
  }

  /** Runs a command in a process of its own, for what only a process shows. */
  runAlone(args: string[]): Promise<Ran> {
    return this.start(args).done;
  }

  /** The parsed JSON document a command prints with --json. */
  async json<T = Record<string, unknown>>(args: string[]): Promise<T & { exitCode: number | null }> {
    const { stdout, stderr, code } = await this.run([...args, "--json"]);
    try {
      const value = JSON.parse(stdout) as T;
      return Array.isArray(value) ? (value as T & { exitCode: number | null }) : { ...value, exitCode: code };
    } catch {
      throw new Error(`not JSON: ${stdout}\n${stderr}`);
    }
  }

  start(args: string[]): Started {
    const started = startProcess(args, { cwd: this.folder });
    const { child } = started;
    this.#children.add(child);
    child.once("close", () => this.#children.delete(child));
    return started;
  }

  /** A server in this process. */
  serve(args: string[]): Running {
    const running = startHere(["serve", ...args], { cwd: this.folder });
    this.#running.add(running);
    return running;
  }

  [Symbol.dispose](): void {
    // Once to stop, once not to wait; nothing hears it of a server that has stopped.
    for (const { kill } of this.#running) for (const signal of ["SIGTERM", "SIGTERM"] as const) kill(signal);
    for (const child of this.#children) child.kill("SIGKILL");
    rmSync(this.folder, { recursive: true, force: true });
  }
}

export function standardConfig(): string {
  return `
tools:
  - ${CALCULATOR}
  - ${COUNTER}
  - ${TOOLS}
grants:
  - id: numbers
    tools: [calculator]
  - id: counting
    tools: [counter]
    capabilities: [state.read, state.write]
  - id: acting
    tools: [actor]
`;
}
