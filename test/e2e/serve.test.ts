import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Ran, Running } from "../fixtures/command-line.ts";
import { Shell, standardConfig } from "./shell.ts";

let shell: Shell;
beforeEach(() => {
  shell = new Shell();
});
afterEach(() => shell[Symbol.dispose]());

interface Report {
  url: string;
  docs: string;
  curl: string | null;
  operatorKeyFile: string;
  stateFolder: string;
  warnings: { message: string }[];
}

/** A server that is open, and what it has logged. */
class Server {
  readonly #running: Running;
  readonly done: Promise<Ran>;
  #logged = "";
  #onLine: () => void = () => undefined;

  constructor(running: Running) {
    this.#running = running;
    this.done = running.done;
    running.stderr.on("data", (chunk: Buffer) => {
      this.#logged += chunk.toString();
      this.#onLine();
    });
  }

  /** What it says once it is open. */
  report(): Promise<Report> {
    return new Promise((resolve, reject) => {
      let text = "";
      this.#running.stdout.on("data", (chunk: Buffer) => {
        text += chunk.toString();
        if (text.endsWith("}\n")) resolve(JSON.parse(text));
      });
      this.done.then(({ stderr }) => reject(new Error(`it ended: ${stderr}`)), reject);
    });
  }

  get log(): { level: string; message: string; context?: Record<string, unknown> }[] {
    return this.#logged
      .split("\n")
      .filter((line) => line.startsWith("{") && line.endsWith("}"))
      .map((line) => JSON.parse(line));
  }

  /** The first line of the log whose message fits. */
  logged(message: RegExp): Promise<(typeof this.log)[number]> {
    return new Promise((resolve) => {
      this.#onLine = () => {
        const found = this.log.find((record) => message.test(record.message));
        if (found) resolve(found);
      };
      this.#onLine();
    });
  }

  kill(signal: NodeJS.Signals): void {
    this.#running.kill(signal);
  }

  async stop(): Promise<Ran> {
    this.kill("SIGTERM");
    return await this.done;
  }
}

const OPEN = ["--port", "0", "--json"];

async function open(...args: string[]): Promise<{ server: Server; report: Report }> {
  const server = new Server(shell.serve([...OPEN, ...args]));
  return { server, report: await server.report() };
}

/** In a process of its own. */
async function openAlone(): Promise<{ server: Server; report: Report }> {
  const { child, done } = shell.start(["serve", ...OPEN]);
  const { stdout, stderr } = child;
  const server = new Server({ stdout, stderr, kill: (signal) => child.kill(signal), done });
  return { server, report: await server.report() };
}

async function invoke(url: string, body: object): Promise<{ status: string; result?: unknown }> {
  const response = await fetch(`${url}/v1/tools/invoke`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  return (await response.json()) as { status: string; result?: unknown };
}

/** What a printed curl line sends. */
function bodyOf(curl: string): object {
  return JSON.parse(/-d '(.*)'$/.exec(curl)?.[1] ?? "");
}

const adding = { tool_id: "calculator", operation: "add", parameters: { a: 2, b: 3 } };

/** Its timer throws while its call waits. */
const TIMER_BOMB = `import { defineTool } from ${JSON.stringify(import.meta.resolve("@sallyport/engine/tool"))};
const input = { $schema: "https://json-schema.org/draft/2020-12/schema" };
export const bomb = defineTool({ id: "bomb", version: "1.0.0", description: "Throws in a timer.", sideEffects: "none",
  input, output: input, run: () => new Promise(() => setTimeout(() => { throw new Error("in a timer"); }, 20)) });
export const calm = defineTool({ id: "calm", version: "1.0.0", description: "Answers.", sideEffects: "none",
  input, output: input, run: () => "calm" });
`;

describe("an inline tool that throws in a timer", () => {
  beforeEach(() => {
    writeFileSync(shell.path("bomb.mjs"), TIMER_BOMB);
    const config = 'tools: [{ module: bomb.mjs, runner: inline }]\ngrants: [{ id: g, tools: ["*"] }]\n';
    writeFileSync(shell.path("sallyport.yaml"), config);
  });

  it("ends its call and not the command [FR-EXE-04b]", async () => {
    const { code, stdout } = await shell.runAlone(["call", "bomb", "{}", "--json"]);
    expect(JSON.parse(stdout)).toMatchObject({ error: { message: "Tool panicked: in a timer" } });
    expect(code).not.toBe(70);
  });

  it("ends its call and not the server [FR-EXE-04b]", async () => {
    const { server, report } = await openAlone();
    const ask = (tool_id: string) => invoke(report.url, { tool_id, parameters: {} });
    expect(await ask("bomb")).toMatchObject({ error: { message: "Tool panicked: in a timer" } });
    expect(await ask("calm")).toMatchObject({ result: "calm" });
    expect(await server.stop()).toMatchObject({ code: 0 });
  });
});

describe("sallyport serve", () => {
  it("says where it is, serves, and prints a call that works [L3-API-1]", async () => {
    const { server, report } = await openAlone();
    expect(report.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect(report.curl).toContain(`curl -s ${report.url}/v1/tools/invoke`);
    expect(await invoke(report.url, bodyOf(report.curl ?? ""))).toMatchObject({ status: "success" });
    expect(await invoke(report.url, adding)).toMatchObject({ result: { result: 5 } });
    expect((await fetch(report.docs)).status).toBe(200);
    const { code, stdout, stderr } = await server.stop();
    expect(code).toBe(0);
    const key = readFileSync(report.operatorKeyFile, "utf8").trim();
    expect(stdout + stderr).not.toContain(key);
    expect(report.stateFolder).toBe(shell.path(".sallyport"));
  });

  it("works in a folder that init has just made, for a person too", async () => {
    const folder = mkdtempSync(join(tmpdir(), "sallyport-serve-"));
    try {
      await shell.run(["init", folder]);
      const { child, done } = shell.start([
        "serve",
        "--port",
        "0",
        "--config",
        join(folder, "sallyport.yaml"),
      ]);
      const text = await new Promise<string>((resolve) => {
        let said = "";
        child.stdout?.on("data", (chunk: Buffer) => {
          said += chunk.toString();
          if (said.includes("Ctrl-C")) resolve(said);
        });
      });
      expect(text).toContain("operator.key");
      expect(text).toContain("! Callers are open");
      const curl = /curl .*/.exec(text)?.[0] ?? "";
      const url = /http:\S+?(?=\/v1)/.exec(curl)?.[0] ?? "";
      expect(await invoke(url, bodyOf(curl))).toMatchObject({ result: { greeting: "Hello, Ada!" } });
      child.kill("SIGINT");
      expect(await done).toMatchObject({ code: 0 });
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it("takes its settings from flags rather than from the file", async () => {
    writeFileSync(shell.path("sallyport.yaml"), `${standardConfig()}http: { port: 1 }\n`);
    const refused = await shell.run(["serve", "--port", "many"]);
    expect(refused).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("--port http.port: expected a whole number"),
    });
    const { server, report } = await open("--log-level", "warn");
    expect(new URL(report.url).port).not.toBe("1");
    await server.stop();
    expect(server.log).toEqual([]);
  });

  it("refuses an address that is taken, and says which option helps", async () => {
    const taken = createServer();
    await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve));
    const address = taken.address();
    const port = typeof address === "object" ? String(address?.port) : "";
    try {
      const { code, stderr } = await shell.run(["serve", "--port", port]);
      expect(code).not.toBe(0);
      expect(stderr).toContain(`127.0.0.1:${port} cannot be used`);
      expect(stderr).toContain("choose another: --port");
    } finally {
      await new Promise((resolve) => taken.close(resolve));
    }
  });

  it("says that its database does not answer, and does not end before that", async () => {
    const nobody = "postgres://nobody@127.0.0.1:1/none";
    writeFileSync(shell.path("sallyport.yaml"), `store: { postgres: { url: "${nobody}", schema: none } }\n`);
    const { code, stdout } = await shell.runAlone(["serve", "--json"]);
    expect(JSON.parse(stdout)).toMatchObject({ error: { code: "E3914" } });
    expect(code).toBe(70);
  });

  it("refuses to be reached by others without tokens", async () => {
    const { code, stderr } = await shell.run(["serve", "--host", "0.0.0.0", "--port", "0"]);
    expect([code, stderr]).toEqual([2, expect.stringContaining("http.callers")]);
  });

  it("warns of tools it does not have and of nobody who may call", async () => {
    writeFileSync(shell.path("sallyport.yaml"), "tools: [./none.ts]\n");
    const { server, report } = await open();
    const said = report.warnings.map(({ message }) => message).join("\n");
    expect(said).toMatch(/E3920 .*none\.ts/);
    expect(said).toContain("There are no tools.");
    expect(report.curl).toBeNull();
    await server.stop();
  });
});

describe("a server that is told to stop", () => {
  const slowly = (ms: number) => ({
    tool_id: "actor",
    operation: "sleep",
    parameters: { trace: shell.path("trace"), ms },
  });

  async function begun(): Promise<void> {
    while (!existsSync(shell.path("trace"))) await sleep(20);
  }

  it("lets calls finish that run, and takes no more [L3P2-6]", async () => {
    const { server, report } = await open();
    const answer = invoke(report.url, slowly(1_500));
    await begun();
    server.kill("SIGTERM");
    await server.logged(/Stopping/);
    const late = await fetch(`${report.url}/healthz`).then(
      ({ status }) => status,
      () => "no connection",
    );
    expect(["no connection", 503]).toContain(late);
    expect(await answer).toMatchObject({ status: "success" });
    expect(await server.done).toMatchObject({ code: 0, signal: null });
    expect(server.log.at(-1)?.message).toBe("Everything is closed");
  });

  it("ends them, on record, when it is told again", async () => {
    // Without the second order both would go on for longer than this test may take.
    writeFileSync(shell.path("sallyport.yaml"), `${standardConfig()}http: { shutdownSeconds: 600 }\n`);
    const { server, report } = await openAlone();
    const answer = invoke(report.url, slowly(600_000)).catch(() => undefined);
    await begun();
    server.kill("SIGTERM");
    await server.logged(/Stopping/);
    server.kill("SIGTERM");
    expect(await server.done).toMatchObject({ code: 0, signal: null });
    await answer;
    const calls = await shell.json<{ status: string }[]>(["calls", "list"]);
    expect(JSON.stringify(calls)).toContain("cancelled");
  });
});

describe("a server whose sink never answers", () => {
  it("ends when it is told again, and says that events wait [L3P2-6]", async () => {
    const asked = Promise.withResolvers<void>();
    const sink = createServer(
      (socket) => void socket.on("error", () => undefined).once("data", () => asked.resolve()),
    );
    await new Promise<void>((resolve) => void sink.listen(0, "127.0.0.1", resolve));
    const { port } = sink.address() as AddressInfo;
    const url = `http://127.0.0.1:${port}/`;
    writeFileSync(
      shell.path("sallyport.yaml"),
      `${standardConfig()}events: { sinks: [{ name: stuck, http: { url: "${url}" } }] }\n`,
    );
    const { server, report } = await openAlone();
    await invoke(report.url, adding);
    await asked.promise;
    server.kill("SIGTERM");
    await server.logged(/No call runs any more/);
    server.kill("SIGTERM");
    expect(await server.done).toMatchObject({ code: 0, signal: null });
    const waits = {
      message: "Events wait in the outbox",
      context: { waiting: expect.stringMatching(/still wait/) },
    };
    expect(server.log).toContainEqual(expect.objectContaining(waits));
    sink.close();
  });
});

describe("a server that gets SIGHUP", () => {
  it("applies a changed configuration, and keeps the old one when the new one is wrong [L3P2-6]", async () => {
    const { server, report } = await open();
    writeFileSync(
      shell.path("sallyport.yaml"),
      standardConfig().replace("tools: [calculator]", "tools: [none]"),
    );
    server.kill("SIGHUP");
    expect(await server.logged(/was reloaded/)).toMatchObject({ context: { applied: ["grants"] } });
    expect(await invoke(report.url, adding)).toMatchObject({ status: "permission_denied" });
    writeFileSync(shell.path("sallyport.yaml"), `${standardConfig()}htpp: {}\n`);
    server.kill("SIGHUP");
    const { level, context } = await server.logged(/What was in force stays/);
    expect(level).toBe("warn");
    expect(JSON.stringify(context)).toMatch(/sallyport\.yaml:\d+:1 unknown key.*did you mean/);
    expect(await invoke(report.url, adding)).toMatchObject({ status: "permission_denied" });
    expect(await server.stop()).toMatchObject({ code: 0 });
  });
});
