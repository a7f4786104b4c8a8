import { describe, expect, it } from "vitest";
import type { CloudEvent } from "../ports/store.ts";
import { fixtureEngine } from "../testing/fixture-engine.ts";
import { relayOutbox } from "./relay.ts";

const tools = [
  { id: "ok", run: () => ({ fine: true }) },
  {
    id: "slow",
    run: () => new Promise(() => undefined),
    conduct: { sideEffects: "external", limits: { timeoutMs: 5, memoryBytes: 1e9 } },
  },
];

describe("the outbox relay", () => {
  it("publishes each call as CloudEvents, secrets taken out, in order [L3-EVT-1]", async () => {
    const { call, store } = await fixtureEngine({}, tools);
    await call("ok", { password: "hunter2", n: 1 });
    await call("slow", {});
    const sent: CloudEvent[] = [];
    const count = await relayOutbox(store, { send: async (events) => void sent.push(...events) });
    expect(count).toBe(5);
    expect(sent.map(({ type }) => type)).toEqual([
      "ai.agent.tool.invoked",
      "ai.agent.tool.succeeded",
      "ai.agent.tool.invoked",
      "ai.agent.tool.failed",
      "ai.agent.tool.timeout",
    ]);
    expect(sent[0]).toMatchObject({
      specversion: "1.0",
      partitionkey: "acme",
      data: { parameters: { password: "[REDACTED]", n: 1 } },
    });
    expect(sent[3]).toMatchObject({ data: { error: { code: "timeout", retryable: false } } });
    expect(new Set(sent.map(({ id }) => id)).size).toBe(5);
    expect(await relayOutbox(store, { send: async () => undefined })).toBe(0);
  });

  it("says of a call that begins whether its caller waits, and how urgent it is [L3-EVT-1]", async () => {
    const { call, engine, store } = await fixtureEngine({}, tools);
    const caller = { tenant: "acme", agent: "agent" };
    await call("ok", {}, { callId: "plain" });
    await engine.accept({ tool: "ok", input: {}, caller, callId: "queued", priority: "high" });
    await expect.poll(async () => (await store.calls.get("queued"))?.phase).toBe("closed");
    const sent: CloudEvent[] = [];
    await relayOutbox(store, { send: async (events) => void sent.push(...events) });
    const invoked = sent.filter(({ type }) => type === "ai.agent.tool.invoked").map(({ data }) => data);
    expect(invoked).toMatchObject([
      { invocation_id: "plain", async_mode: false, priority: "normal" },
      { invocation_id: "queued", async_mode: true, priority: "high" },
    ]);
    await engine.close();
  });

  it("keeps everything while the sink is down, and sends it when it is back [L3-AUD-1]", async () => {
    const { call, store } = await fixtureEngine({}, tools);
    await call("ok", {});
    await expect(relayOutbox(store, { send: () => Promise.reject(new Error("down")) })).rejects.toThrow(
      "down",
    );
    const sent: CloudEvent[] = [];
    await relayOutbox(store, { send: async (events) => void sent.push(...events) });
    expect(sent).toHaveLength(2);
  });
});
