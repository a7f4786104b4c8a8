import { mkdirSync, mkdtempSync, readFileSync, rmdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSqliteStore } from "@sallyport/adapters/sqlite";
import { createEngine, defineTool, type Engine, grantAuthority } from "@sallyport/engine";
import type { Store } from "@sallyport/engine/ports";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { EventPublisher } from "./event-publisher.ts";

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
let publisher: EventPublisher;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "sallyport-events-"));
  file = join(folder, "events.jsonl");
  store = await openSqliteStore({ folder, durability: "process" });
  engine = await createEngine({ store, authority, admission: { total: 1_000, perAgent: 1_000 } });
  await engine.tools.add(noting);
  publisher = new EventPublisher(store, { stateFolder: folder, file });
});

afterEach(async () => {
  await engine.close();
  await publisher.close().catch(() => undefined);
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Each leaves two messages. */
async function makeCalls(count: number): Promise<string[]> {
  const calls = Array.from({ length: count }, (_, n) => engine.call({ tool: "note", input: { n }, caller }));
  return (await Promise.all(calls)).map(({ callId }) => callId);
}

function published(): { id: string; type: string; data: { invocation_id: string } }[] {
  const lines = readFileSync(file, "utf8").trimEnd().split("\n");
  return lines.map((line) => JSON.parse(line));
}

async function waiting(): Promise<number> {
  return (await store.outbox.pending(10_000)).length;
}

describe("publishing", () => {
  it.each([
    ["few", 3],
    ["many, in a thread of its own,", 700],
  ])("sends %s messages once each, in order [L3-EVT-1]", async (_how, count) => {
    const calls = await makeCalls(count);
    await publisher.publish();
    expect(await waiting()).toBe(0);
    const events = published();
    expect(new Set(events.map(({ id }) => id)).size).toBe(2 * count);
    expect(events).toHaveLength(2 * count);
    expect(new Set(events.map(({ data }) => data.invocation_id))).toEqual(new Set(calls));
    const first = events.filter(({ data }) => data.invocation_id === calls[0]);
    expect(first.map(({ type }) => type)).toEqual(["ai.agent.tool.invoked", "ai.agent.tool.succeeded"]);
  });

  it("goes on in its thread, and takes what is left with it when it closes", async () => {
    await makeCalls(250);
    await publisher.publish();
    await makeCalls(2);
    await publisher.publish();
    expect(await waiting()).toBe(0);
    await makeCalls(1);
    await publisher.close();
    expect(await waiting()).toBe(0);
    expect(published()).toHaveLength(2 * 253);
  });

  it("keeps what the file did not take, in a thread too, and sends it when it can [L3-AUD-1]", async () => {
    await makeCalls(250);
    await publisher.publish();
    rmSync(file);
    mkdirSync(file);
    await makeCalls(250);
    await expect(publisher.publish()).rejects.toThrow("EISDIR");
    expect(await waiting()).toBe(500);
    rmdirSync(file);
    await publisher.publish();
    expect(await waiting()).toBe(0);
    expect(published()).toHaveLength(500);
  });

  it("does not take for delivered what the store did not note", async () => {
    await makeCalls(250);
    const failing: Store = {
      ...store,
      outbox: { pending: store.outbox.pending, delivered: () => Promise.reject(new Error("disk full")) },
    };
    const other = new EventPublisher(failing, { stateFolder: folder, file });
    await expect(other.publish()).rejects.toThrow("disk full");
    expect(await waiting()).toBe(500);
    await publisher.publish();
    expect(published().length).toBeGreaterThan(500);
    expect(new Set(published().map(({ id }) => id)).size).toBe(500);
  });
});
