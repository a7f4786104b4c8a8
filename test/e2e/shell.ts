import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const BIN = fileURLToPath(new URL("../../packages/server/bin/sallyport.ts", import.meta.url));
const TOOLS = fileURLToPath(new URL("./fixtures/tools.ts", import.meta.url));
const CALCULATOR = fileURLToPath(new URL("../../examples/calculator/calculator.ts", import.meta.url));
const COUNTER = fileURLToPath(new URL("../../examples/counter/counter.ts", import.meta.url));

export interface Ran {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

/** A folder of its own with a configuration, and the command line to use in it. */
export class Shell {
  readonly folder = mkdtempSync(join(tmpdir(), "sallyport-e2e-"));
  readonly #children = new Set<ChildProcess>();

  constructor(config?: string) {
    writeFileSync(join(this.folder, "sallyport.yaml"), config ?? standardConfig());
  }

  path(name: string): string {
    return join(this.folder, name);
  }

  run(args: string[], options: { stdin?: string } = {}): Promise<Ran> {
    return this.start(args, options).done;
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

  start(args: string[], { stdin }: { stdin?: string } = {}): { child: ChildProcess; done: Promise<Ran> } {
    const child = spawn(process.execPath, [BIN, ...args], {
      cwd: this.folder,
      stdio: "pipe",
      env: { ...process.env, NO_COLOR: "1" },
    });
    this.#children.add(child);
    const ran: Ran = { code: null, signal: null, stdout: "", stderr: "" };
    child.stdout.on("data", (chunk: Buffer) => {
      ran.stdout += chunk.toString();
    });
    child.stderr.on("data", (chunk: Buffer) => {
      ran.stderr += chunk.toString();
    });
    child.stdin.end(stdin ?? "");
    const done = new Promise<Ran>((resolve, reject) => {
      child.once("error", reject);
      child.once("close", (code, signal) => {
        this.#children.delete(child);
        resolve({ ...ran, code, signal });
      });
    });
    return { child, done };
  }

  [Symbol.dispose](): void {
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
