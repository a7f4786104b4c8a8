import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
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
    process.kill(-(child.pid ?? 0), "SIGKILL");
    await once(child, "close");
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
  const open = text.includes("gateway") ? "Try it:" : text.includes("npm start") ? "POST http" : "";
  await expect.poll(() => said, { timeout: 60_000 }).toContain(open);
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
