import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { BIN } from "../fixtures/command-line.ts";

const page = readFileSync(new URL("../../docs/operate/gateway.md", import.meta.url), "utf8");

let place: string;
let background: ChildProcess[];
beforeEach(() => {
  place = mkdtempSync(join(tmpdir(), "sallyport-gateway-doc-"));
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

/** The page's commands in order, at ports that are free here. */
async function commands(): Promise<{ text: string; stays: boolean }[]> {
  const [gateway, worker] = [await freePort(), await freePort()];
  return [...page.matchAll(/^```sh( background)?\n([\s\S]*?)^```$/gm)].map(([, stays, text = ""]) => ({
    text: text
      .replaceAll("7420", gateway)
      .replaceAll("8080", worker)
      .replace("sallyport gateway", `sallyport gateway --port ${gateway}`),
    stays: stays !== undefined,
  }));
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
  if (text.includes("gateway")) await expect.poll(() => said, { timeout: 60_000 }).toContain("Try it:");
}

describe("docs/operate/gateway.md", () => {
  it("can be followed line by line [AX-ONB-1] [AX-PKG-1]", async () => {
    const said: string[] = [];
    for (const { text, stays } of await commands()) {
      if (stays) await start(text);
      else said.push(await run(text));
    }
    const [, checked, , used, changed] = said;
    expect(said).toHaveLength(5);
    expect(checked).toContain("hello_domain 0.1");
    expect(used).toContain('"domain_id":"hello_domain","version":"0.1"');
    expect(used).toContain('"output":{"greeting":"Hello, Ada!"}');
    expect(changed).toContain('"version":"0.2"');
  });
});
