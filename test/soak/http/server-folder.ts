import { randomInt } from "node:crypto";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ServerProcess } from "./server-process.ts";

/** A folder with a configuration whose server always comes back to the same port. */
export class ServerFolder implements AsyncDisposable {
  readonly folder: string;
  readonly port: number;
  readonly #lives: ServerProcess[] = [];

  private constructor(folder: string, port: number) {
    this.folder = folder;
    this.port = port;
  }

  static async make(config: string): Promise<ServerFolder> {
    const folder = mkdtempSync(join(tmpdir(), "sp-load-"));
    // As with the system's own folder for such files: the users of a root host's sandboxes have to pass.
    chmodSync(folder, 0o755);
    const made = new ServerFolder(folder, await freePort());
    made.configure(config);
    return made;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get stateFolder(): string {
    return this.path(".sallyport");
  }

  get operatorKey(): string {
    return readFileSync(join(this.stateFolder, "keys", "operator.key"), "utf8").trim();
  }

  path(name: string): string {
    return join(this.folder, name);
  }

  makeFolder(name: string): void {
    mkdirSync(this.path(name), { recursive: true });
  }

  configure(config: string): void {
    this.write("sallyport.yaml", config);
  }

  /** As an editor does: a reader finds the old file or the new one, never a part of it. */
  write(name: string, content: string): void {
    writeFileSync(this.path(`${name}.new`), content);
    renameSync(this.path(`${name}.new`), this.path(name));
  }

  /** The file that tools wait for which are told to wait `until` it is there. */
  get gate(): string {
    return this.path("gate");
  }

  /** Lets those tools end. */
  openGate(): void {
    this.write("gate", "");
  }

  /** Starts a server that is open when this resolves. */
  async start(...args: string[]): Promise<ServerProcess> {
    return await this.startWith({}, ...args);
  }

  /** The same with variables of its own. */
  async startWith(env: Record<string, string>, ...args: string[]): Promise<ServerProcess> {
    const life = new ServerProcess(this.folder, ["--port", String(this.port), ...args], env);
    this.#lives.push(life);
    return await life.open();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const life of this.#lives) if (life.isAlive) await life.kill();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Below the range of the system's choice, so that no connection takes it while the server is down. */
const LOWEST_PORT = 10_000;
const HIGHEST_PORT = 15_999;
const MOST_TRIES = 100;

/** A port that was free a moment ago. */
async function freePort(): Promise<number> {
  for (let turn = 0; turn < MOST_TRIES; turn += 1) {
    const port = randomInt(LOWEST_PORT, HIGHEST_PORT);
    if (await isFree(port)) return port;
  }
  throw new Error("no port is free");
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  const opened = await new Promise<boolean>((resolve) => {
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => resolve(true));
  });
  if (opened) await new Promise((resolve) => server.close(resolve));
  return opened;
}
