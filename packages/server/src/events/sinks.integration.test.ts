import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { promisify } from "node:util";
import { Admin } from "@platformatic/kafka";
import type { CloudEvent } from "@sallyport/engine/ports";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { reasonToSkip, startService } from "../../../../scripts/services.ts";
import { loadConfig } from "../config/load.ts";
import { toolModule } from "../reload/fixtures/reload-room.ts";
import { openRuntime } from "../runtime/runtime.ts";

const SOON = { timeout: 60_000, interval: 50 };
const run = promisify(execFile);
const noKafka = reasonToSkip("kafka");
const log = { info: () => undefined, warn: () => undefined };

let folder: string;
let posted: { headers: IncomingHttpHeaders; events: CloudEvent[] }[];
const receiver = createServer(async (request, response) => {
  posted.push({ headers: request.headers, events: (await json(request)) as CloudEvent[] });
  response.writeHead(204).end();
});

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "sallyport-sinks-"));
  posted = [];
  await new Promise<void>((done) => receiver.listen(0, "127.0.0.1", done));
  writeFileSync(join(folder, "teller.ts"), toolModule());
  writeFileSync(join(folder, "token"), "Bearer t0ken\n", { mode: 0o600 });
});

afterEach(async () => {
  receiver.closeAllConnections();
  await new Promise((done) => receiver.close(done));
  rmSync(folder, { recursive: true, force: true });
});

/** A runtime with these sinks, its services started. */
async function opened(sinks: string[]) {
  writeFileSync(
    join(folder, "sallyport.yaml"),
    `tools: [teller.ts]\ngrants: [{ id: all, tools: [teller] }]\nevents: { sinks: [${sinks.join(", ")}] }\n`,
  );
  const runtime = await openRuntime({ config: loadConfig({ cwd: folder }) });
  await runtime.startServices({ log });
  const caller = { tenant: "acme", agent: "a" };
  return {
    runtime,
    call: () => runtime.engine.call({ tool: "teller", input: {}, caller }),
    statusOf: async (name: string) => (await runtime.sinks()).find(({ sink }) => sink === name),
    [Symbol.asyncDispose]: async () => void (await runtime.close()),
  };
}

const webSink = (path = "token") => {
  const { port } = receiver.address() as AddressInfo;
  return `{ name: web, http: { url: "http://127.0.0.1:${port}/", headers: { Authorization: { file: ${path} } } } }`;
};
const fileSink = "{ name: kept, jsonl: { file: kept.jsonl } }";

describe("configured sinks", () => {
  it("get every event each, with a credential from where it is kept [L3-EVT-1]", async () => {
    await using at = await opened([fileSink, webSink()]);
    const { callId } = await at.call();
    await expect.poll(() => posted.flatMap(({ events }) => events), SOON).toHaveLength(2);
    const lines = () => readFileSync(join(folder, "kept.jsonl"), "utf8").trimEnd().split("\n");
    await expect.poll(lines, SOON).toHaveLength(2);
    expect(lines().map((line) => JSON.parse(line))).toEqual(posted.flatMap(({ events }) => events));
    expect(posted[0]?.events[0]).toMatchObject({ id: callId, partitionkey: "acme" });
    expect(posted[0]?.headers.authorization).toBe("Bearer t0ken");
  });

  it("hold up neither calls nor each other when one has no credential; it is named, and mended without a restart", async () => {
    await using at = await opened([fileSink, webSink("missing")]);
    expect(await at.call()).toMatchObject({ status: "success" });
    await expect.poll(() => at.statusOf("kept"), SOON).toMatchObject({ batches: 0 });
    await expect.poll(() => at.statusOf("web"), SOON).toMatchObject({ batches: 1, problem: /./ });
    expect((await at.statusOf("web"))?.problem).toMatch(/missing/);
    writeFileSync(join(folder, "missing"), "Bearer new", { mode: 0o600 });
    await expect.poll(() => posted[0]?.headers.authorization, SOON).toBe("Bearer new");
  });
});

describe.skipIf(noKafka !== undefined)(`a configured Kafka sink${noKafka ? ` (${noKafka})` : ""}`, () => {
  it("publishes to the topic, keyed by tenant; says at the start that the topic is missing [L3-EVT-1] [L3P2-4]", async () => {
    await using kafka = await startService("kafka");
    const broker = `127.0.0.1:${kafka.port}`;
    await using at = await opened([`{ name: stream, kafka: { brokers: ["${broker}"], timeoutMs: 5000 } }`]);
    await expect
      .poll(async () => (await at.statusOf("stream"))?.problem, SOON)
      .toMatch(/tool-execution-events does not exist/);
    const { callId } = await at.call();
    const admin = new Admin({ clientId: "test", bootstrapBrokers: [broker] });
    await admin.createTopics({ topics: ["tool-execution-events"], partitions: 3, replicas: 1 });
    await admin.close();
    await expect.poll(async () => (await at.statusOf("stream"))?.batches, SOON).toBe(0);
    const args = ["-b", broker, "-C", "-t", "tool-execution-events", "-o", "beginning", "-e", "-q"];
    const { stdout } = await run("kcat", [...args, "-f", "%k|%s\\n"], { timeout: 60_000 });
    const read = stdout.trimEnd().split("\n");
    expect(read.map((line) => line.split("|")[0])).toEqual(["acme", "acme"]);
    const events = read.map((line) => JSON.parse(line.slice(line.indexOf("|") + 1)));
    expect(events.map(({ id }) => id)).toEqual([callId, `${callId}:tool.succeeded`]);
  });
});
