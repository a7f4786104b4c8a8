import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, it } from "vitest";
import { DEFAULT_LIMITS } from "../context.ts";
import type { CloudEvent } from "../ports/outbox.ts";
import { fixtureEngine } from "../testing/fixture-engine.ts";
import { EVENT_TYPES, eventSchemas } from "./event-schemas.ts";

const ajv = new Ajv2020({ strict: true, allErrors: true, formats: { "date-time": isTime } });
const isEvent = ajv.compile(eventSchemas());

function isTime(text: string): boolean {
  return new Date(text).toISOString() === text;
}

const LARGE = { ...DEFAULT_LIMITS.input, maxBytes: 1_000_000 };
const tools = [
  { id: "ok", run: () => ({ fine: true }) },
  { id: "broken", run: () => Promise.reject(new Error("no")) },
  {
    id: "slow",
    run: () => new Promise(() => undefined),
    conduct: { sideEffects: "external", limits: { timeoutMs: 5, memoryBytes: 1e9 } },
  },
];

describe("the schema of the events", () => {
  it("fits every event that calls leave, of every type there is [L3-EVT-1]", async () => {
    const { call, engine, store } = await fixtureEngine({ sinks: ["s"], limits: { input: LARGE } }, tools);
    const caller = { tenant: "acme", agent: "agent" };
    for (const input of [{ a: [1, null, "é\ud800"] }, "text", null]) await call("ok", input);
    const long = await call("ok", "x".repeat(600_000));
    for (const tool of ["broken", "slow"]) await call(tool, {});
    await call("ok", { n: 1 }, { requireApproval: true, onApproval: "deny" });
    await engine.accept({ tool: "ok", input: {}, caller, callId: "queued", priority: "high" });
    await expect.poll(async () => (await store.calls.get("queued"))?.phase).toBe("closed");
    const batches = await store.outbox.pending({ sink: "s", instance: "i", limit: 99 });
    const events: CloudEvent[] = batches.flatMap((batch) => batch.events).map((json) => JSON.parse(json));
    for (const event of events) {
      isEvent(event);
      expect({ event, errors: isEvent.errors ?? [] }).toEqual({ event, errors: [] });
    }
    expect(new Set(events.map(({ type }) => type))).toEqual(new Set(EVENT_TYPES));
    expect(events.find(({ id }) => id === long.callId)?.data).toMatchObject({
      parameters: null,
      parameters_omitted: { characters: 600_002, sha256: long.receipt?.inputHash },
    });
    await engine.close();
  });

  it("does not fit another type, or an event that lacks something", async () => {
    const { call, store } = await fixtureEngine({ sinks: ["s"] }, tools);
    await call("ok", {});
    const [batch] = await store.outbox.pending({ sink: "s", instance: "i", limit: 1 });
    const event = JSON.parse(batch?.events[0] ?? "");
    const { parameters: _, ...data } = event.data;
    for (const wrong of [
      { ...event, type: "ai.agent.tool.other" },
      { ...event, data },
      { ...event, time: "1" },
    ])
      expect(isEvent(wrong)).toBe(false);
    expect(isEvent({ ...event, added: "later" })).toBe(true);
  });
});
