import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { ServerFolder } from "../../soak/http/server-folder.ts";
import type { ServerProcess } from "../../soak/http/server-process.ts";
import { CutLine } from "./cut-line.ts";
import { ask } from "./load.ts";

const TOOLS = fileURLToPath(new URL("./tools.ts", import.meta.url));
const CLOCK = fileURLToPath(new URL("./clock.ts", import.meta.url));

/** Each try waits for the database as long as a server does. */
const MOST_STARTS = 15;

interface Place {
  databasePort: number;
  schema: string;
  leaseMs: number;
}

const configOf = (port: number, { schema, leaseMs }: Place) => `
store:
  postgres: { url: "postgres://sallyport@127.0.0.1:${port}/postgres", schema: ${schema} }
  leaseSeconds: ${leaseMs / 1_000}
tools: [{ module: ${TOOLS}, runner: inline }]
grants:
  - { id: all, tools: ["*"], capabilities: [state.read, state.write, filesystem.read, filesystem.write] }
limits: { concurrentCalls: 64, concurrentCallsPerAgent: 64 }
webhooks: { allowPrivate: true, timeoutSeconds: 2 }
log: { level: warn }
`;

/** One server of the fleet, its line to the database, and what can go wrong with them. */
export class Replica implements AsyncDisposable {
  readonly folder: ServerFolder;
  readonly line: CutLine;
  readonly leaseMs: number;
  /** The processes it has been so far. */
  readonly pids = new Set<number>();
  /** What those said that ended by themselves: none may. */
  readonly ended: string[] = [];
  #life: ServerProcess | undefined;

  private constructor(folder: ServerFolder, line: CutLine, leaseMs: number) {
    this.folder = folder;
    this.line = line;
    this.leaseMs = leaseMs;
  }

  static async make(place: Place): Promise<Replica> {
    const line = await new CutLine(place.databasePort).open();
    const folder = await ServerFolder.make(configOf(line.port, place));
    folder.makeFolder("notes");
    return new Replica(folder, line, place.leaseMs);
  }

  get port(): number {
    return this.folder.port;
  }

  get said(): string {
    return this.#life?.log.map((line) => JSON.stringify(line)).join("\n") ?? "";
  }

  /** Resolves once it serves; a database that is away just then makes it end, and it is started again. */
  async start(): Promise<void> {
    const files = { CLOCK_FILE: this.folder.path("clock"), STALLS_FILE: this.folder.path("stalls") };
    const env = { NODE_OPTIONS: `--import=${CLOCK}`, ...files };
    for (let tries = 0; ; tries += 1) {
      const life = await this.folder.startWith(env);
      // One that cannot start says so on the same stream.
      while (life.isAlive) {
        if (await ask(this.port, { path: "/healthz" })) return this.#watch(life);
        await sleep(50);
      }
      const { code, signal, stdout, stderr } = await life.gone;
      const isForDatabase = stdout.includes('"E3914"');
      if (!isForDatabase || tries === MOST_STARTS)
        throw new Error(`It did not start (${code ?? signal}): ${stdout} ${stderr.slice(-2_000)}`);
    }
  }

  #watch(life: ServerProcess): void {
    this.#life = life;
    this.pids.add(life.pid);
    void life.gone.then(({ code, signal, stderr }) => {
      if (this.#life === life)
        this.ended.push(`${this.port} ended (${code ?? signal}): ${stderr.slice(-2_000)}`);
    });
  }

  /** The process it is now. */
  get pid(): number {
    return this.#life?.pid ?? -1;
  }

  async kill(): Promise<void> {
    const life = this.#life;
    this.#life = undefined;
    await life?.kill();
  }

  /** Holds every thread of the process for so long; `meanwhile` can make it longer. */
  async freeze(ms: number, meanwhile?: () => Promise<void>): Promise<void> {
    this.#life?.send("SIGSTOP");
    await sleep(ms);
    await meanwhile?.();
    this.#life?.send("SIGCONT");
  }

  /** When it did not run, by its own account. */
  get stalls(): { from: number; to: number }[] {
    const file = this.folder.path("stalls");
    const lines = existsSync(file) ? readFileSync(file, "utf8").split("\n") : [];
    return lines.filter(Boolean).map((line) => JSON.parse(line));
  }

  stepClock(byMs: number): void {
    writeFileSync(this.folder.path("clock"), String(Math.round(byMs)));
    this.#life?.send("SIGUSR2");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#life = undefined;
    await this.folder[Symbol.asyncDispose]();
    await this.line[Symbol.asyncDispose]();
  }
}
