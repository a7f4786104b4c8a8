import { setTimeout as sleep } from "node:timers/promises";
import type { JsonValue } from "@sallyport/protocol";
import { describe, expect, it } from "vitest";
import { askAll } from "../authorise/policy/policies.ts";
import { createMemoryStore } from "../memory/store.ts";
import type { Policy, PolicyVerdict } from "../ports/authority.ts";
import { defineTool } from "../registry/define-tool.ts";
import { FaultPlan, withFaults } from "../testing/faults.ts";
import { auditOf, EVERYTHING_GRANTED, errorOf, fixtureEngine } from "../testing/fixture-engine.ts";

const SLOW_MS = 5;

describe("a limit that no timer can keep", () => {
  it.each([Number.POSITIVE_INFINITY, 2 ** 31])("of %d ms is a long time, not none", async (limit) => {
    const slow = new FaultPlan([{ method: "*", when: "before", action: { kind: "slow", ms: SLOW_MS } }]);
    const { engine, call } = await fixtureEngine(
      {
        store: withFaults(createMemoryStore(), slow),
        authority: {
          ...EVERYTHING_GRANTED,
          decide: async (request) => await sleep(SLOW_MS, EVERYTHING_GRANTED.decide(request)),
        },
        hooks: [{ name: "slow", before: () => sleep(SLOW_MS) }],
        limits: { decisionMs: limit, hookMs: limit, storeMs: limit },
        admission: { total: 1, maxWaitMs: limit },
      },
      [
        {
          id: "t",
          run: () => sleep(SLOW_MS, 1),
          conduct: { limits: { timeoutMs: 60_000, memoryBytes: 1e9 } },
        },
      ],
    );
    const answers = Promise.all([call("t", {}), call("t", {})]);
    while (engine.load().running < 2) await sleep(1);
    expect(await engine.drain({ withinMs: limit })).toEqual({ finished: 2, cut: 0 });
    expect((await answers).map(({ status }) => status)).toEqual(["success", "success"]);
  });

  it.each([Number.POSITIVE_INFINITY, 2 ** 31])("of %d ms does not silence a policy", async (timeoutMs) => {
    const verdict: PolicyVerdict = {
      outcome: "allow",
      reason: "ok",
      rules: [],
      policyVersion: "1",
      tier: "operator",
    };
    const policy: Policy = { name: "slow", decide: () => sleep(SLOW_MS, verdict) };
    expect(await askAll([policy], {} as Parameters<typeof askAll>[1], { timeoutMs })).toMatchObject({
      outcome: "allow",
    });
  });
});

describe("a closed engine", () => {
  it("refuses calls, accepted ones and resumed ones, and journals nothing of them", async () => {
    const { engine, call, store } = await fixtureEngine({}, [{ id: "t", run: () => 1 }]);
    const asked = await call("t", {}, { callId: "asked", requireApproval: true });
    const before = (await auditOf(store)).length;
    await engine.close();
    const caller = { tenant: "acme", agent: "agent" };
    expect(engine.load().accepting).toBe(false);
    expect(errorOf(await call("t", {}, { callId: "c" })).code).toBe("E3910");
    expect(await engine.accept({ tool: "t", input: {}, caller, callId: "d" })).toMatchObject({
      error: { code: "E3910" },
    });
    expect(await engine.resume(asked.callId)).toMatchObject({ code: "E3910" });
    expect([await store.calls.get("c"), await store.calls.get("d")]).toEqual([undefined, undefined]);
    expect(await auditOf(store)).toHaveLength(before);
  });

  it("leaves a call waiting whose order is read while it closes, and every close waits for the first", async () => {
    const slow = new FaultPlan([{ method: "*", when: "after", action: { kind: "slow", ms: SLOW_MS } }]);
    const store = withFaults(createMemoryStore(), slow);
    const { engine, call } = await fixtureEngine({ store }, [
      { id: "t", run: () => 1 },
      { id: "slow", run: () => sleep(10 * SLOW_MS) },
    ]);
    await call("t", {}, { callId: "asked", requireApproval: true });
    await engine.approvals.approve((await store.approvals.ofCall("asked"))?.approvalId ?? "", { by: "eve" });
    const running = call("slow", {});
    while (engine.load().running < 1) await sleep(1);
    const resumed = engine.resume("asked");
    void engine.close();
    await engine.close();
    expect(engine.load().running).toBe(0);
    expect(await resumed).toMatchObject({ code: "E3910" });
    expect((await store.calls.get("asked"))?.phase).toBe("waiting");
    await running;
  });

  it("refuses from the moment it begins to close", async () => {
    const { engine, call } = await fixtureEngine({}, [{ id: "t", run: () => 1 }]);
    const closing = engine.close();
    expect(errorOf(await call("t", {})).code).toBe("E3910");
    await closing;
  });
});

describe("a call that waited and ran once", () => {
  it.each(["approval, with its caller", "approval, by itself", "approval, resumed", "room"])(
    "for %s was one execution, with event ids of its own [R1-8.1]",
    async (what) => {
      const { engine, call, store } = await fixtureEngine({}, [{ id: "t", run: () => 1 }]);
      await engine.claimQueued();
      const caller = { tenant: "acme", agent: "agent" };
      const order = { tool: "t", input: {}, caller, callId: "c", requireApproval: what !== "room" };
      const answer =
        what === "approval, with its caller"
          ? call("t", {}, { ...order, onApproval: "wait" })
          : what === "approval, resumed"
            ? call("t", {}, order)
            : engine.accept(order);
      if (what !== "room") {
        await expect.poll(() => store.approvals.ofCall("c")).toBeDefined();
        await engine.approvals.approve((await store.approvals.ofCall("c"))?.approvalId ?? "", { by: "eve" });
      }
      await answer;
      if (what === "approval, resumed") await engine.resume("c");
      await expect.poll(async () => (await store.calls.get("c"))?.phase).toBe("closed");
      const closed = (await store.calls.get("c"))?.closing?.answer;
      expect(closed).toMatchObject({ status: "success", attempts: 1, executionId: "c" });
      const ids = (await auditOf(store)).map(({ eventId }) => eventId);
      expect(new Set(ids).size).toBe(ids.length);
      await engine.close();
    },
  );
});

describe("limits that a runner does not hold", () => {
  const ANY = { $schema: "https://json-schema.org/draft/2020-12/schema" };
  const limits = { timeoutMs: 1_000, memoryBytes: 1e6, cpuTimeMs: 10, maxOpenFiles: 4 };

  it("are on the answer and on record as such, however the call ends [L3-EXE-2] [X-11]", async () => {
    const ways: Record<string, () => unknown> = {
      succeeds: () => 1,
      fails: () => Promise.reject(new Error("no")),
      hangs: () => new Promise(() => undefined),
      "gives no JSON": () => 1n,
    };
    const run = (input: JsonValue) => ways[String(input)]?.();
    const { call, store } = await fixtureEngine({}, [{ id: "t", run, conduct: { limits } }]);
    const held = { wall: "watch", cpu: "none", memory: "none", openFiles: "none", connections: "none" };
    const answers = Object.keys(ways).map(async (way) => [way, await call("t", way)] as const);
    const ends = Object.fromEntries(await Promise.all(answers));
    expect(Object.values(ends).map(({ status }) => status)).toEqual(["success", "error", "timeout", "error"]);
    for (const answer of Object.values(ends)) expect(answer).toMatchObject({ enforcement: held });
    const ended = (await auditOf(store)).filter(({ enforcement }) => enforcement);
    expect(ended.length).toBeGreaterThan(1);
    for (const { enforcement } of ended) expect(enforcement).toMatchObject(held);
  });

  it.each([
    ["inline", "cpuTimeMs, maxOpenFiles, memoryBytes"],
    ["thread", "maxOpenFiles"],
  ] as const)("are warned of when a tool that states them is registered to run %s", async (kind, fields) => {
    const { engine } = await fixtureEngine({}, []);
    const tool = defineTool({
      ...{ id: "stated", version: "1.0.0", description: "States limits.", limits },
      ...{ input: ANY, output: ANY, run: () => 1 },
    });
    const implementation =
      kind === "inline" ? { kind, operations: tool.operations } : { kind, moduleUrl: "file:///tool.mjs" };
    const registered = await engine.tools.register(tool.manifest, { implementation });
    expect(registered).toMatchObject({
      warnings: expect.arrayContaining([
        { code: "E3102", message: expect.stringContaining(`does not hold ${fields}:`) },
      ]),
    });
  });

  it("are named to policies", async () => {
    const asked: unknown[] = [];
    const authority = {
      ...EVERYTHING_GRANTED,
      decide: (request: Parameters<typeof EVERYTHING_GRANTED.decide>[0]) => {
        asked.push(request.unheldLimits);
        return EVERYTHING_GRANTED.decide(request);
      },
    };
    const { call } = await fixtureEngine({ authority }, [{ id: "t", run: () => 1 }]);
    await call("t", {});
    expect(asked).toEqual([expect.arrayContaining(["cpu", "memory", "openFiles", "connections"])]);
  });
});
