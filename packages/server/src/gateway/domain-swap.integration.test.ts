import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import type { CallAnswer, WorkerRequest } from "@sallyport/protocol";
import { afterEach, beforeEach, expect, it } from "vitest";
import { ConfigFolder } from "../config/fixtures/config-folder.ts";
import { reloadRuntime } from "../reload/reload-runtime.ts";
import { openRuntime, type Runtime } from "../runtime/runtime.ts";
import { DomainFolder, echoTool } from "./fixtures/domain-folder.ts";

let worker: Server;
let running: number;
let release: () => void;
let domain: DomainFolder;
let config: ConfigFolder;
let runtime: Runtime;
beforeEach(async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  release = resolve;
  running = 0;
  worker = createServer(async (request, response) => {
    if (request.method === "GET") return void response.end("{}");
    running += 1;
    const { meta, input } = (await json(request)) as WorkerRequest;
    if (input.text === "slow") await promise;
    const answer = { ok: true, meta: { ...meta, duration_ms: 1 }, output: { said: input.text } };
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answer));
  });
  await new Promise<void>((done) => worker.listen(0, "127.0.0.1", done));
  domain = new DomainFolder();
  domain.write("policies.yaml", "concurrency: { max_inflight: 2, per_tool_max_inflight: { demo.echo: 2 } }");
  version("0.1");
  config = new ConfigFolder();
  config.write(`domain: ${domain.path}\ngrants: [{ id: all, tools: ["*"] }]\n`);
  runtime = await openRuntime({ config: config.config() });
});
afterEach(async () => {
  release();
  await runtime.close();
  await new Promise((done) => worker.close(done));
  domain.remove();
  config.remove();
});

function version(text: string): void {
  const { port } = worker.address() as AddressInfo;
  domain.manifest(echoTool(`http://127.0.0.1:${port}`), { version: text });
}

function call(text: string): Promise<CallAnswer> {
  const caller = { tenant: "default", agent: "a" };
  return runtime.engine.call({ tool: "demo.echo", input: { text }, caller });
}

async function swapTo(text: string): Promise<void> {
  version(text);
  expect(await reloadRuntime(runtime)).toMatchObject({ ok: true, domain: { version: text } });
}

it("a swap drops no run, neither one that the worker has nor one that waits for its turn [AX-PKG-1]", async () => {
  const calls = Array.from({ length: 6 }, () => call("slow"));
  await expect.poll(() => running).toBe(2);
  await swapTo("0.2");
  release();
  for (const answer of await Promise.all(calls))
    expect(answer).toMatchObject({ status: "success", version: "0.1.0" });
  expect(await call("x")).toMatchObject({ status: "success", version: "0.2.0" });
});

it("a gateway can go back to any version that it had [AX-PKG-1]", async () => {
  for (const later of ["0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.1"]) await swapTo(later);
  expect(await call("x")).toMatchObject({ status: "success", version: "0.1.0" });
  await swapTo("0.0.9");
  expect(await call("x")).toMatchObject({ status: "success", version: "0.0.9" });
});
