import { writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { ServerFolder } from "../../soak/http/server-folder.ts";
import type { ServerProcess } from "../../soak/http/server-process.ts";
import { CutLine } from "./cut-line.ts";

const TOOLS = fileURLToPath(new URL("./tools.ts", import.meta.url));
const CLOCK = fileURLToPath(new URL("./clock.ts", import.meta.url));

/** Short, so that a run sees many of them expire. */
export const LEASE_MS = 3_000;

const configOf = (port: number, schema: string) => `
store:
  postgres: { url: "postgres://sallyport@127.0.0.1:${port}/postgres", schema: ${schema} }
  leaseSeconds: ${LEASE_MS / 1_000}
tools: [{ module: ${TOOLS}, runner: inline }]
grants:
  - { id: all, tools: ["*"], capabilities: [state.read, state.write, filesystem.read, filesystem.write] }
limits: { concurrentCalls: 64, concurrentCallsPerAgent: 64 }
webhooks: { allowPrivate: true }
log: { level: warn }
`;

/** One server of the fleet, its line to the database, and what can go wrong with them. */
export class Replica implements AsyncDisposable {
  readonly folder: ServerFolder;
  readonly line: CutLine;
  #life: ServerProcess | undefined;

  private constructor(folder: ServerFolder, line: CutLine) {
    this.folder = folder;
    this.line = line;
  }

  static async make(databasePort: number, schema: string): Promise<Replica> {
    const line = await new CutLine(databasePort).open();
    const folder = await ServerFolder.make(configOf(line.port, schema));
    folder.makeFolder("notes");
    return new Replica(folder, line);
  }

  get port(): number {
    return this.folder.port;
  }

  get said(): string {
    return this.#life?.log.map((line) => JSON.stringify(line)).join("\n") ?? "";
  }

  /** Starts it; a database that is away just then makes it end, and it is started again. */
  async start(): Promise<void> {
    const env = { NODE_OPTIONS: `--import=${CLOCK}`, CLOCK_FILE: this.folder.path("clock") };
    for (let tries = 0; ; tries += 1) {
      try {
        this.#life = await this.folder.startWith(env);
        return;
      } catch (error) {
        if (tries === 20) throw error;
        await sleep(500);
      }
    }
  }

  async kill(): Promise<void> {
    await this.#life?.kill();
  }

  /** Holds every thread of the process for so long. */
  async freeze(ms: number): Promise<void> {
    this.#life?.send("SIGSTOP");
    await sleep(ms);
    this.#life?.send("SIGCONT");
  }

  stepClock(byMs: number): void {
    writeFileSync(this.folder.path("clock"), String(byMs));
    this.#life?.send("SIGUSR2");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.folder[Symbol.asyncDispose]();
    await this.line[Symbol.asyncDispose]();
  }
}
