import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { MessageChannel, Worker } from "node:worker_threads";
import { afterAll, describe, expect, it } from "vitest";
import { openTypeStripper, type StripRequest, sourceThreadEnv } from "./type-stripper.ts";

const folder = mkdtempSync(join(tmpdir(), "sallyport-types-"));
afterAll(() => rmSync(folder, { recursive: true }));

const STRIPPER = new URL("./type-stripper.ts", import.meta.url).href;

/** Loads a file in a new thread whose own way to strip types is switched off: only the stripper can. */
async function load(name: string, text: string): Promise<unknown> {
  const file = join(folder, name);
  writeFileSync(file, text);
  const types = openTypeStripper();
  const code = `
    const { parentPort, workerData } = require("node:worker_threads");
    parentPort.once("message", async (types) => {
      const { stripTypesWith } = await import(${JSON.stringify(STRIPPER)});
      delete globalThis.WebAssembly;
      stripTypesWith(types);
      const loaded = await import(workerData).then((all) => ({ ...all }), ({ name, code }) => ({ name, code }));
      parentPort.postMessage(JSON.parse(JSON.stringify(loaded)));
    });`;
  const worker = new Worker(code, { eval: true, workerData: pathToFileURL(file).href });
  worker.postMessage(types, [types]);
  try {
    return await new Promise((resolve, reject) => void worker.once("message", resolve).once("error", reject));
  } finally {
    await worker.terminate();
  }
}

describe("the thread that strips types for all others", () => {
  it.each([
    ["a.mts", "export const value: number = 1;", { value: 1 }],
    ["c.ts", "export const value: number = 3;", { value: 3 }],
    ["d.ts", `${"\n".repeat(200_000)}const four: number = 4;\nexport const value = four;`, { value: 4 }],
    ["e.mjs", "export const value = 5;", { value: 5 }],
  ])("serves a thread that loads %s", async (name, text, exported) => {
    expect(await load(name, text)).toMatchObject(exported);
  });

  it("says what Node says of text that is no TypeScript, and serves the next one", async () => {
    expect(await load("f.mts", "export const : = 1;")).toMatchObject({
      name: "SyntaxError",
      code: "ERR_INVALID_TYPESCRIPT_SYNTAX",
    });
    expect(await load("g.mts", "enum Kind { A }")).toMatchObject({
      code: "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX",
    });
    expect(await load("h.mts", "export const value: string = 'x';")).toEqual({ value: "x" });
  });

  it("gives way to a new one when a text has broken it", async () => {
    const nested = `export const value = ${"(".repeat(200_000)}1${")".repeat(200_000)};`;
    expect(await load("i.mts", nested)).toHaveProperty("code");
    expect(await load("j.mts", "export const value: number = 7;")).toEqual({ value: 7 });
  });

  it("is not asked again once it did not answer, so that no late answer is taken for that to another text", async () => {
    const { port1, port2 } = new MessageChannel();
    let asked = 0;
    port1.on("message", ({ answered }: StripRequest) => {
      asked += 1;
      const answer = () => {
        port1.postMessage({ code: `export const value = "answer ${asked}";` });
        Atomics.store(new Int32Array(answered), 0, 1);
        Atomics.notify(new Int32Array(answered), 0);
      };
      if (asked === 1) setTimeout(answer, 300);
      else answer();
    });
    const files = [1, 2].map((value) => {
      const file = join(folder, `late-${value}.mts`);
      writeFileSync(file, `export const value: number = ${value};`);
      return pathToFileURL(file).href;
    });
    const code = `
      const { parentPort, workerData: { files, types } } = require("node:worker_threads");
      const { setTimeout: sleep } = require("node:timers/promises");
      import(${JSON.stringify(STRIPPER)}).then(async ({ stripTypesWith }) => {
        stripTypesWith(types, 100);
        const first = (await import(files[0])).value;
        await sleep(1_000);
        parentPort.postMessage([first, (await import(files[1])).value]);
      });`;
    const workerData = { files, types: port2 };
    const worker = new Worker(code, { eval: true, workerData, transferList: [port2] });
    const values = await new Promise((resolve, reject) => {
      worker.once("message", resolve).once("error", reject);
    });
    await worker.terminate();
    port1.close();
    expect(values).toEqual([1, 2]);
  });

  it("is not asked for our own files: they come from a compile cache, and built ones need none", () => {
    expect(sourceThreadEnv(new URL("file:///a/thread.ts"))).toEqual({
      NODE_COMPILE_CACHE: expect.any(String),
    });
    expect(sourceThreadEnv(new URL("file:///a/thread.js"))).toEqual({});
  });
});
