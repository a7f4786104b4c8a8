import { mkdirSync, mkdtempSync, readFileSync, rmdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createJsonlSink } from "@sallyport/adapters/events";
import { openSqliteStore } from "@sallyport/adapters/sqlite";
import { createEngine, defineTool, type Engine, grantAuthority } from "@sallyport/engine";
import type { EventSink, Store } from "@sallyport/engine/ports";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { EventPublishers } from "./publishers.ts";

const any = { $schema: "https://json-schema.org/draft/2020-12/schema", type: "object" };
const noting = defineTool({
  id: "note",
  version: "1.0.0",
  description: "Notes.",
  sideEffects: "none",
  input: any,
  run: () => ({}),
});
const everybody = { tenants: ["*"], agents: ["*"], operations: ["*"], capabilities: [] };
const authority = grantAuthority([{ id: "all", tools: ["note"], ...everybody }]);
const caller = { tenant: "acme", agent: "a" };

let folder: string;
let file: string;
let store: Store;
let engine: Engine;
let publishers: EventPublishers;
const logged: string[] = [];
const log = {
  info: (_: object, message: string) => logged.push(message),
  warn: (_: object, message: string) => logged.push(message),
};

beforeEach(async () => {
  logged.length = 0;
  folder = mkdtempSync(join(tmpdir(), "sallyport-events-"));
  file = join(folder, "events.jsonl");
  store = await openSqliteStore({ folder, durability: "process" });
  const down: EventSink = { send: () => Promise.reject(new Error("nobody is there")) };
  const sinks = new Map([
    ["file", createJsonlSink(file)],
    ["down", down],
  ]);
  publishers = new EventPublishers(store.outbox, sinks);
  engine = await createEngine({
    store,
    authority,
    admission: { total: 1_000, perAgent: 1_000 },
    sinks: publishers.names,
    onEvents: () => publishers.wake(),
  });
  await engine.tools.add(noting);
});

afterEach(async () => {
  await engine.close();
  await publishers.close();
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Each leaves two events. */
async function makeCalls(count: number): Promise<string[]> {
  const calls = Array.from({ length: count }, (_, n) => engine.call({ tool: "note", input: { n }, caller }));
  return (await Promise.all(calls)).map(({ callId }) => callId);
}

function published(): { id: string; type: string; data: { invocation_id: string } }[] {
  const lines = readFileSync(file, "utf8").trimEnd().split("\n");
  return lines.map((line) => JSON.parse(line));
}

const statusOf = async (name: string) => (await publishers.status()).find(({ sink }) => sink === name);
const SOON = { timeout: 30_000 };

describe("the publishers of a server", () => {
  it("send every event once and in order, whatever another sink does [L3-EVT-1]", async () => {
    publishers.start(log);
    const calls = await makeCalls(700);
    await expect.poll(async () => (await statusOf("file"))?.batches, SOON).toBe(0);
    const events = published();
    expect(events).toHaveLength(1_400);
    expect(new Set(events.map(({ id }) => id)).size).toBe(1_400);
    expect(new Set(events.map(({ data }) => data.invocation_id))).toEqual(new Set(calls));
    const first = events.filter(({ data }) => data.invocation_id === calls[0]);
    expect(first.map(({ type }) => type)).toEqual(["ai.agent.tool.invoked", "ai.agent.tool.succeeded"]);
    await expect
      .poll(() => statusOf("down"), SOON)
      .toMatchObject({ batches: 700, problem: "nobody is there" });
    expect(logged).toEqual(["Events wait: their sink does not take them"]);
  });

  it("send what is left when they close, also without having been started, and say what they could not", async () => {
    await makeCalls(3);
    expect(await publishers.close({ sendsRest: false })).toBeUndefined();
    expect((await statusOf("file"))?.batches).toBe(3);
    expect(await publishers.close()).toBe("nobody is there");
    expect(published()).toHaveLength(6);
    expect(await publishers.status()).toMatchObject([
      { sink: "down", batches: 3, isConfigured: true },
      { sink: "file", batches: 0, isConfigured: true },
    ]);
  });

  it("keep what the file did not take, and send it when it can [L3-AUD-1]", async () => {
    mkdirSync(file);
    publishers.start(log);
    await makeCalls(2);
    await expect
      .poll(() => statusOf("file"), SOON)
      .toMatchObject({ problem: expect.stringMatching("EISDIR") });
    rmdirSync(file);
    await expect.poll(async () => (await statusOf("file"))?.problem, SOON).toBeUndefined();
    expect(published()).toHaveLength(4);
    expect(logged).toContain("Events are published again");
  });

  it("name a sink that is configured no more as long as something waits for it", async () => {
    await makeCalls(1);
    const fewer = new EventPublishers(store.outbox, new Map([["file", createJsonlSink(file)]]));
    expect(await fewer.status()).toMatchObject([
      { sink: "down", isConfigured: false },
      { sink: "file", isConfigured: true },
    ]);
  });
});
