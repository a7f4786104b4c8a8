import { execFile, spawnSync } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify, stripVTControlCharacters } from "node:util";
import { type Client, createClient, type Result } from "@sallyport/client";
import { createToolSearch } from "@sallyport/client/search";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { DevReport } from "../../packages/server/src/dev/run-dev.ts";
import { LANGUAGES, type Language } from "../../packages/server/src/worker-kit/scaffold.ts";
import { type Started, startProcess } from "../fixtures/command-line.ts";
import { Shell } from "./shell.ts";

/** How a worker of each language is started, and the program that has to be there. */
const COMMANDS: Record<Language, [string, ...string[]]> = {
  ts: ["node", "main.ts"],
  python: ["python3", "tool.py"],
  go: ["go", "run", "."],
};
const THERE = (Object.keys(LANGUAGES) as Language[]).filter((language) => {
  const [program] = COMMANDS[language];
  const isThere = spawnSync(program, [language === "go" ? "version" : "--version"]).status === 0;
  if (!isThere) console.error(`Left out: ${program} is not installed.`);
  return isThere || process.env.SALLYPORT_REQUIRE_SERVICES === "1";
});

let shell: Shell;
let domain: string;
let started: Started | undefined;
beforeEach(() => {
  shell = new Shell();
  domain = shell.path("domain");
  mkdirSync(domain);
  writeFileSync(join(domain, "policies.yaml"), "concurrency: { max_inflight: 2, max_queued: 1 }\n");
});
afterEach(async () => {
  if (started?.child.exitCode === null) started.child.kill("SIGTERM");
  await started?.done;
  started = undefined;
  shell[Symbol.dispose]();
});

const write = (name: string, text: string) => writeFileSync(join(domain, name), text);

/** A package with a new worker for each language. */
async function domainOfNewWorkers(languages = THERE): Promise<void> {
  let [tools, processes] = ["", ""];
  for (const language of languages) {
    const name = `count-${language}`;
    await shell.run(["worker", "new", name, "--lang", language]);
    cpSync(join(shell.folder, name, "schemas"), join(domain, "schemas"), { recursive: true });
    const entry = readFileSync(join(shell.folder, name, "manifest-entry.yaml"), "utf8");
    tools += entry
      .replace("http://127.0.0.1:8080", `http://${name}:8080`)
      .replace("Counts the words of a text.", `Counts words in ${LANGUAGES[language].title}.`);
    const command = JSON.stringify(COMMANDS[language]);
    processes += `  ${name}: { base_url: "http://${name}:8080", command: ${command}, folder: ../${name} }\n`;
  }
  write("manifest.yaml", `domain_id: counting\nversion: "0.1"\ntools:\n${tools}`);
  write("dev.yaml", `processes:\n${processes}`);
}

function startDev({ words = ["--json"], env = {} }: { words?: string[]; env?: Record<string, string> } = {}) {
  started = startProcess(["dev", "--domain", domain, "--port", "0", ...words], { cwd: shell.folder, env });
  return started;
}

async function opened({ ran, done }: Started): Promise<DevReport> {
  const end = done.then(({ stderr, stdout }) => Promise.reject(new Error(`${stdout}${stderr}`)));
  const open = expect.poll(() => ran.stdout, { timeout: 200_000 }).toMatch(/\n\}\n$/);
  await Promise.race([open, end]);
  return JSON.parse(ran.stdout);
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

function succeeded<T>(result: Result<T>): T {
  if (!result.ok) throw new Error(JSON.stringify(result.error));
  return result.value;
}

const change = (from: string | RegExp, to: string) =>
  write("manifest.yaml", readFileSync(join(domain, "manifest.yaml"), "utf8").replace(from, to));

async function swapped(client: Client, version: string): Promise<void> {
  started?.child.kill("SIGHUP");
  await expect.poll(() => client.domain()).toMatchObject({ value: { domain_id: "counting", version } });
}

describe("sallyport dev", () => {
  it("says in the gateway's words why it does not start: the port is taken", async () => {
    await domainOfNewWorkers(["ts"]);
    const taken = createServer().listen(0, "127.0.0.1");
    await once(taken, "listening");
    const { port } = taken.address() as AddressInfo;
    try {
      const { code, stderr } = await shell.runAlone(["dev", "--domain", domain, "--port", String(port)]);
      expect([code, stderr]).toEqual([2, expect.stringMatching(/^E3943 .*\n.*another: --port \d+/m)]);
    } finally {
      taken.close();
    }
  });

  it("runs a domain of workers in several languages: the whole of what a gateway is for [AX-DOM-1] [AX-CAT-1] [AX-RUN-1] [AX-POL-1] [AX-ENV-1] [AX-SRCH-1] [AX-INV-2] [AX-INV-3] [AX-INV-5]", async () => {
    await domainOfNewWorkers();
    const { child, ran, done } = startDev();
    const { url, gateway, processes } = await opened({ child, ran, done });
    const client = createClient({ url });
    expect(await client.domain()).toEqual({ ok: true, value: { domain_id: "counting", version: "0.1" } });
    const ids = THERE.map((language) => `count-${language}`);
    expect(succeeded(await client.tools()).tools.map(({ tool_id }) => tool_id)).toEqual(ids);

    const search = createToolSearch({ client });
    const found = async (query: string) => {
      const [best] = succeeded(await search.search(query)).tools;
      if (!best) throw new Error(`nothing was found by ${query}`);
      return best;
    };
    for (const language of THERE) {
      const best = await found(`count words ${LANGUAGES[language].title}`);
      expect(best.tool.tool_id).toBe(`count-${language}`);
      expect(await search.run(best, { text: "two words" })).toMatchObject({
        value: { output: { words: 2 } },
      });
    }
    expect(await client.run("count-ts", { text: 1 })).toMatchObject({ error: { code: "VALIDATION_ERROR" } });

    // One at a time for a tool that the policies do not list, and one that waits.
    const slow = { text: "one", pause_ms: 1_500 };
    const answers = await Promise.all(Array.from({ length: 4 }, () => client.run("count-ts", slow)));
    const codes = answers.map((answer) => (answer.ok ? "ok" : answer.error.code)).sort();
    expect(codes).toEqual(["RATE_LIMITED", "RATE_LIMITED", "ok", "ok"]);

    for (const { url: worker } of processes) {
      const headers = { "content-type": "application/json" };
      // Nobody but the gateway knows the secret.
      expect((await fetch(`${worker}/run`, { method: "POST", headers, body: "{}" })).status).toBe(401);
    }

    const before = await found("TypeScript");
    change('"0.1"', '"0.2"');
    await swapped(client, "0.2");
    expect(await search.run(before, { text: "still here" })).toMatchObject({
      value: { output: { words: 2 } },
    });
    change("in TypeScript", "in any TypeScript");
    change('"0.2"', '"0.3"');
    await swapped(client, "0.3");
    expect(await search.run(before, { text: "changed" })).toMatchObject({
      ok: false,
      error: { code: "E3002" },
    });

    // A worker that is killed within a run, and comes back.
    const running = client.run("count-ts", { text: "x", pause_ms: 20_000 });
    await expect
      .poll(async () => (await fetch(`${url}/v1/invocations?status=running`)).json())
      .toMatchObject({ invocations: [{ tool_id: "count-ts" }] });
    const victim = processes.find(({ name }) => name === "count-ts")?.pid ?? 0;
    process.kill(victim, "SIGKILL");
    expect(await running).toMatchObject({ ok: false, error: { code: "UPSTREAM_ERROR", retryable: true } });
    await expect
      .poll(() => ran.stderr)
      .toMatch(/count-ts +\| .*ended by SIGKILL; it is started again in 0\.5 s/);
    await expect.poll(async () => (await client.run("count-ts", { text: "back" })).ok).toBe(true);

    child.kill("SIGTERM");
    expect(await done).toMatchObject({ code: 0 });
    expect([gateway, ...processes].filter(({ pid }) => pid === undefined || isAlive(pid))).toEqual([]);
    expect(ran.stderr).not.toContain("\u001b");
  });

  it("runs the example domain, with a call to try that succeeds [AX-FC-1]", async () => {
    domain = fileURLToPath(new URL("../../domains/example_domain", import.meta.url));
    const { curl, processes } = await opened(startDev());
    expect(processes.map(({ name }) => name)).toEqual(["firecrawl-api", "tool-firecrawl"]);
    const { stdout } = await promisify(execFile)("bash", ["-c", curl ?? ""]);
    expect(JSON.parse(stdout)).toMatchObject({
      ok: true,
      tool_id: "firecrawl.crawl",
      output: { stats: { pages: 1 } },
    });
  });

  const TOOL = `  - { tool_id: a, kind: service_worker, transport: { type: http, base_url: "http://a:8080" } }\n`;
  const BESIDE = "console.log('pid ' + process.pid); require('http').createServer().listen(process.env.PORT)";
  const ENDS = "setTimeout(() => { console.log('no key'); process.exit(3) }, 500)";

  it.each([
    ["no dev.yaml", undefined, /dev\.yaml there is no "dev.yaml" in the package/],
    ["an unknown key", "processes: { a: { comand: [x] } }", /dev\.yaml:1:\d+ .*not a known field/],
    ["no program", "processes: { a: { command: [] } }", /dev\.yaml:1:\d+ command names no program/],
    [
      "a stranger",
      `processes:\n  b: { base_url: "http://b", command: [x] }`,
      /dev\.yaml:2:\d+ .*http:\/\/a:8080/,
    ],
    [
      "the name of nobody",
      `processes: { first: { command: [x], env: { B: "\${fist}" } } }`,
      /there is no process "fist".*"first"/,
    ],
    [
      "a program that is not there",
      "processes: { a: { command: [./none] } }",
      /a cannot be started: .*ENOENT/,
    ],
    [
      "a worker that ends at once",
      `processes: { a: { command: [node, -e, "${ENDS}"] }, b: { command: [node, -e, "${BESIDE}"] } }`,
      /a +\| .*no key[\s\S]*a ended with code 3 before it listened at port \d+/,
    ],
  ])("says with %s what is wrong, and leaves nothing running", async (_, dev, words) => {
    write("manifest.yaml", `domain_id: d\nversion: "0.1"\ntools:\n${TOOL}`);
    if (dev !== undefined) write("dev.yaml", dev);
    const { code, stderr } = await startDev({ words: [], env: { FORCE_COLOR: "1" } }).done;
    expect([code, stripVTControlCharacters(stderr)]).toEqual([2, expect.stringMatching(words)]);
    const pids = Array.from(stderr.matchAll(/pid (\d+)/g), ([, pid]) => Number(pid));
    expect(pids.filter(isAlive)).toEqual([]);
    if (stderr.includes("no key")) expect(stderr).toMatch(COLOURED);
  });
});

const COLOURED = new RegExp(`${String.fromCharCode(27)}\\[\\d+m[ab] `);
