import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { reasonToSkip, startService } from "../../scripts/services.ts";
import { BIN } from "../fixtures/command-line.ts";

let place: string;
let background: ChildProcess[];
beforeEach(() => {
  place = mkdtempSync(join(tmpdir(), "sallyport-page-"));
  background = [];
});
afterEach(async () => {
  for (const child of background.filter(
    ({ exitCode, signalCode }) => exitCode === null && signalCode === null,
  )) {
    // It ends what it has started itself; killed, it could not.
    process.kill(-(child.pid ?? 0), "SIGTERM");
    const late = setTimeout(() => process.kill(-(child.pid ?? 0), "SIGKILL"), 60_000);
    await once(child, "close");
    clearTimeout(late);
  }
  rmSync(place, { recursive: true, force: true });
});

async function freePort(): Promise<string> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  return String(typeof address === "object" ? address?.port : "");
}

interface Block {
  text: string;
  stays: boolean;
}

/** A page's commands in order, at ports that are free here. */
async function commandsOf(path: string): Promise<{ blocks: Block[]; worker: string }> {
  const page = readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
  const [gateway, worker] = [await freePort(), await freePort()];
  const blocks = [...page.matchAll(/^```sh( background)?\n([\s\S]*?)^```$/gm)].map(
    ([, stays, text = ""]) => ({
      text: text
        .replaceAll("7420", gateway)
        .replaceAll("8080", worker)
        .replace("sallyport gateway", `sallyport gateway --port ${gateway}`),
      stays: stays !== undefined,
    }),
  );
  return { blocks, worker };
}

/** What the commands of a page print, one after the other in an empty folder. */
async function follow(path: string): Promise<string[]> {
  const said: string[] = [];
  const { blocks, worker } = await commandsOf(path);
  for (const { text, stays } of blocks) {
    if (stays) await start(text);
    else said.push(await run(text));
    useOwnPort(worker);
  }
  return said;
}

/** A new worker's entry names the usual port. */
function useOwnPort(worker: string): void {
  const file = join(place, "word-count/manifest-entry.yaml");
  if (existsSync(file)) writeFileSync(file, readFileSync(file, "utf8").replaceAll("8080", worker));
}

/** A shell in the empty folder, with `sallyport` and this Node on its path. */
function shell(text: string): ChildProcess {
  const bin = join(place, "bin");
  mkdirSync(bin, { recursive: true });
  const command = join(bin, "sallyport");
  writeFileSync(command, `#!/bin/sh\nexec "${process.execPath}" "${BIN}" "$@"\n`);
  chmodSync(command, 0o755);
  const path = [bin, dirname(process.execPath), process.env.PATH].join(delimiter);
  const options = { cwd: place, env: { ...process.env, PATH: path }, detached: true };
  return spawn("bash", ["-euc", text], { ...options, stdio: ["ignore", "pipe", "pipe"] });
}

/** What a command printed, once it has ended or, of one that stays, once it says where it listens. */
async function run(text: string): Promise<string> {
  const child = shell(text);
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", (chunk) => (said += String(chunk)));
  const [code] = await once(child, "close");
  expect([code, said]).toEqual([0, expect.anything()]);
  return said;
}

async function start(text: string): Promise<void> {
  const child = shell(text);
  background.push(child);
  let said = "";
  child.stdout?.on("data", (chunk) => (said += String(chunk)));
  const open = text.includes("gateway")
    ? "Try it:"
    : text.includes("sallyport serve")
      ? "is open at"
      : text.includes("npm start")
        ? "POST http"
        : "";
  await expect.poll(() => said, { timeout: 60_000 }).toContain(open);
}

/** Each command of the README's table, what it prints before it ends or is stopped. */
const TRIED: [command: string, prints: string][] = [
  ["npx sallyport demo", "ROLLED_BACK"],
  ["npx sallyport call calculator", '"result": 5'],
  ["npx sallyport init my-sallyport", "is open at"],
  ["cd examples/refunds", "Waiting for approval"],
  ["echo abc > notes.txt", "+bbc"],
  ["npm run gateway", "Try it:"],
  ["npx sallyport chat", "Asking again"],
];

/** A copy of what the commands of the README use, and `npx` and `npm` that need no network. */
function likeTheClone(): void {
  const repository = fileURLToPath(new URL("../../", import.meta.url));
  for (const part of ["examples", "domains", "sallyport.yaml", "package.json"])
    cpSync(join(repository, part), join(place, part), { recursive: true });
  for (const part of ["node_modules", "packages", "workers"])
    symlinkSync(join(repository, part), join(place, part));
  const bin = join(place, "bin");
  mkdirSync(bin);
  writeFileSync(join(bin, "npx"), '#!/bin/sh\nexec "$@"\n', { mode: 0o755 });
  const script = `$(node -p "require('${place}/package.json').scripts['$name']")`;
  const npm = `#!/bin/bash\n[ "$1" = run ] && shift\nname=$1; shift; [ "$1" = -- ] && shift\nexec ${script} "$@"\n`;
  writeFileSync(join(bin, "npm"), npm, { mode: 0o755 });
}

describe("README.md", () => {
  it("has commands that work one after the other, with its server on [X-17]", async () => {
    likeTheClone();
    const page = readFileSync(new URL("../../README.md", import.meta.url), "utf8");
    const rows = [...page.matchAll(/^\| `((?:npx|npm|cd|echo) .+?)` \|/gm)].map(
      ([, command = ""]) => command,
    );
    expect(rows.map((row, index) => row.startsWith(TRIED[index]?.[0] ?? "none"))).toEqual(
      TRIED.map(() => true),
    );
    const ports = { "7420": await freePort(), "7421": await freePort(), "7422": await freePort() };
    await untilItSays(`npm start -- --port ${ports[7420]}`, "is open at");
    for (const [index, [, prints]] of TRIED.entries()) {
      const command = Object.entries(ports).reduce(
        (text, pair) => text.replaceAll(...pair),
        rows[index] ?? "",
      );
      await untilItSays(command.includes("chat") ? `${command} --print hello` : command, prints);
    }
    const client = readFileSync(new URL("../../docs/client.md", import.meta.url), "utf8");
    const [example = "", search = ""] = [...client.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(
      ([, text = ""]) => text,
    );
    writeFileSync(join(place, "client.mts"), example.replace("7420", ports[7420]));
    expect(await run("node client.mts")).toContain("{ result: 5 }");
    const gateway = example.replace(/const called[\s\S]*/, "").replace("7420", ports[7422]);
    writeFileSync(join(place, "search.mts"), `${gateway}${search}console.log(first?.tool.tool_id);`);
    expect(await run("node search.mts")).toContain("firecrawl.crawl");
  });
});

/** Runs a command until it has printed the text; what stays is stopped at the end. */
async function untilItSays(command: string, text: string): Promise<void> {
  const child = shell(command);
  background.push(child);
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", (chunk) => (said += String(chunk)));
  const closed = once(child, "close").then(() => expect(said, command).toContain(text));
  await Promise.race([
    closed,
    expect.poll(() => said, { timeout: 120_000, message: command }).toContain(text),
  ]);
}

describe("docs/operate/gateway.md", () => {
  it("can be followed line by line [AX-ONB-1] [AX-PKG-1]", async () => {
    const said = await follow("docs/operate/gateway.md");
    const [, checked, , used, changed] = said;
    expect(said).toHaveLength(5);
    expect(checked).toContain("hello_domain 0.1");
    expect(used).toContain('"domain_id":"hello_domain","version":"0.1"');
    expect(used).toContain('"output":{"greeting":"Hello, Ada!"}');
    expect(changed).toContain('"version":"0.2"');
  });
});

const reason = reasonToSkip("postgres");

describe.skipIf(reason !== undefined)(`docs/operate/fleet.md${reason ? ` (${reason})` : ""}`, () => {
  it("can be followed line by line: two servers on one machine give one answer [X-5]", async () => {
    await using database = await startService("postgres");
    vi.stubEnv("SALLYPORT_DATABASE_URL", `postgres://sallyport@127.0.0.1:${database.port}/postgres`);
    const [made, used, ...others] = await follow("docs/operate/fleet.md").finally(() => vi.unstubAllEnvs());
    expect(others).toEqual([]);
    expect(made).toContain("sallyport.yaml");
    expect(used?.match(/^HTTP\/1.1 200/gm)).toHaveLength(2);
    expect(used?.match(/^idempotent-replayed: true/gim)).toHaveLength(1);
    expect(used?.match(/Hello, Ada/g)).toHaveLength(2);
    expect(used).toMatch(/intact/);
  });
});

describe("docs/write-a-worker.md", () => {
  it("can be followed line by line [AX-ONB-1]", async () => {
    const [made, verified, checked, used, ...others] = await follow("docs/write-a-worker.md");
    expect(others).toEqual([]);
    expect(made).toContain("pass 2");
    expect(verified).toContain("12 of 12 checks passed");
    expect(checked).toContain("my_domain 0.1");
    expect(used).toContain('"tool_id":"word-count"');
    expect(used).toContain('"output":{"words":2}');
  });
});
