import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { Admin } from "@platformatic/kafka";
import type { CloudEvent } from "@sallyport/engine/ports";
import { eventSinkContract, outgoing, sampleEvent } from "@sallyport/engine/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { reasonToSkip, type StartedService, startService } from "../../../../scripts/services.ts";
import { createKafkaSink } from "./kafka-sink.ts";

const run = promisify(execFile);
const reason = reasonToSkip("kafka");

let kafka: StartedService;
let topics = 0;

async function newTopic(): Promise<string> {
  const topic = `events-${++topics}`;
  const admin = new Admin({ clientId: "test", bootstrapBrokers: [broker()] });
  await admin.createTopics({ topics: [topic], partitions: 3, replicas: 1 });
  await admin.close();
  return topic;
}

function broker(): string {
  return `127.0.0.1:${kafka.port}`;
}

/** kcat is another implementation of the protocol: what it reads, everybody can read. */
async function read(topic: string, format = "%s\\n"): Promise<string[]> {
  const args = ["-b", broker(), "-C", "-t", topic, "-o", "beginning", "-e", "-q", "-f", format];
  const { stdout } = await run("kcat", args, { maxBuffer: 64 * 2 ** 20, timeout: 60_000 });
  return stdout.split("\n").filter((line) => line !== "");
}

async function openSink() {
  const topic = await newTopic();
  const sink = createKafkaSink({ brokers: [broker()], topic, timeoutMs: 2_000 });
  return {
    sink,
    received: async () => (await read(topic)).map((line) => JSON.parse(line) as CloudEvent),
    outage: { begin: () => kafka.kill(), end: () => kafka.restart() },
    [Symbol.asyncDispose]: () => sink[Symbol.asyncDispose](),
  };
}

describe.skipIf(reason !== undefined)(`Kafka${reason ? ` (${reason})` : ""}`, () => {
  beforeAll(async () => {
    kafka = await startService("kafka");
  });
  afterAll(() => kafka?.[Symbol.asyncDispose]());

  eventSinkContract("the Kafka sink", openSink);

  it("keys events by tenant and says what they are, as the CloudEvents binding for Kafka wants [L3-EVT-1]", async () => {
    const topic = await newTopic();
    await using sink = createKafkaSink({ brokers: [broker()], topic, compression: "zstd" });
    await sink.send([outgoing(sampleEvent("call-1", { tenant: "acme" }))]);
    expect(await read(topic, "%k|%h|%p\\n")).toEqual([
      expect.stringMatching(/^acme\|content-type=application\/cloudevents\+json; charset=UTF-8\|\d$/),
    ]);
  });

  it("says so where the topic does not exist, and works once it does", async () => {
    await using sink = createKafkaSink({ brokers: [broker()], topic: "events-later", timeoutMs: 2_000 });
    const missing = /did not take the events: the topic events-later does not exist/;
    await expect(sink.check()).rejects.toThrow(missing);
    await expect(sink.send([outgoing(sampleEvent("call-1"))])).rejects.toThrow(missing);
    const admin = new Admin({ clientId: "test", bootstrapBrokers: [broker()] });
    await admin.createTopics({ topics: ["events-later"], partitions: 1, replicas: 1 });
    await admin.close();
    await sink.check();
    await sink.send([outgoing(sampleEvent("call-1"))]);
    expect(await read("events-later")).toHaveLength(1);
  });

  it("tells no credential when a broker refuses it", async () => {
    const sasl = { mechanism: "PLAIN" as const, username: "ada", password: "hunter2-secret" };
    await using sink = createKafkaSink({
      brokers: [broker()],
      topic: await newTopic(),
      connection: { sasl },
      timeoutMs: 2_000,
    });
    const error = await sink.send([outgoing(sampleEvent("call-1"))]).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ failure: { code: "E3304" } });
    expect(JSON.stringify(error) + String((error as Error).stack)).not.toContain("hunter2");
  });
});
