import { describe, expect, it } from "vitest";
import { MemoryBus } from "../../memory/platform.ts";
import type { Policy, PolicyRequest, PolicyVerdict } from "../../ports/authority.ts";
import { type CacheOptions, cachedPolicy } from "./decision-cache.ts";
import { ALLOWED } from "./fixtures/policies.ts";
import { completeCall } from "./partial-call.ts";

/** A policy that counts its questions, and a clock that stands still. */
function world(
  answer: () => PolicyVerdict | Promise<PolicyVerdict> = () => ({ ...ALLOWED, rules: [...ALLOWED.rules] }),
  options: CacheOptions = {},
) {
  const clock = { now: 1_000 };
  const asked: PolicyRequest[] = [];
  const bus = new MemoryBus();
  const inner: Policy = {
    name: "slow",
    decide: (request) => {
      asked.push(request);
      return answer();
    },
  };
  const policy = cachedPolicy(inner, { bus, now: () => clock.now, ...options });
  return { clock, asked, bus, policy };
}

const call = completeCall({ tool: "t", agent: "a", input: { x: 1 } });

describe("the decision cache [L3-PRM-3]", () => {
  it.each<[string, Partial<PolicyVerdict>, number]>([
    ["five minutes", {}, 300_000],
    ["as long as the verdict says", { cacheMs: 10 }, 10],
  ])("asks once and remembers for %s", async (_what, change, life) => {
    const { policy, asked, clock } = world(() => ({ ...ALLOWED, ...change }));
    expect(await policy.decide(call)).toEqual({ ...ALLOWED, ...change });
    clock.now += life - 1;
    expect(await policy.decide({ ...call, at: clock.now })).toEqual({ ...ALLOWED, ...change });
    expect(asked).toHaveLength(1);
    clock.now += 1;
    await policy.decide(call);
    expect(asked).toHaveLength(2);
  });

  it.each<[string, Partial<PolicyRequest>]>([
    ["tool", { tool: "u" }],
    ["version", { version: "2.0.0" }],
    ["operation", { operation: "other" }],
    ["manifest", { manifestHash: "f" }],
    ["category", { category: "external_api" }],
    ["tags", { tags: ["x"] }],
    ["source", { source: "mcp" }],
    ["level", { securityLevel: 3 }],
    ["files", { permissions: { filesystem: [{ path: "/", mode: "ro" }], network: [], credentials: [] } }],
    ["hosts", { permissions: { filesystem: [], network: [{ host: "h", port: 1 }], credentials: [] } }],
    ["credentials", { permissions: { filesystem: [], network: [], credentials: ["k"] } }],
    ["capabilities", { requiredCapabilities: ["c"] }],
    ["side effects", { sideEffects: "external" }],
    ["risk", { risk: "high" }],
    ["isolation", { isolation: "LEVEL_0" }],
    ["limits that are not held", { unheldLimits: ["cpu"] }],
    ["input", { input: { x: 2 } }],
    ["tenant", { caller: { tenant: "z", agent: "a" } }],
    ["agent", { caller: { tenant: "example", agent: "b" } }],
    ["user", { caller: { tenant: "example", agent: "a", user: "u" } }],
    ["session", { caller: { tenant: "example", agent: "a", session: "s" } }],
  ])("asks anew when the %s differs", async (_what, change) => {
    const { policy, asked } = world();
    await policy.decide(call);
    await policy.decide({ ...call, ...change });
    expect(asked).toHaveLength(2);
  });

  it("knows every field of a request, so that a new one cannot be overlooked", () => {
    expect(Object.keys(call).sort().join(" ")).toBe(
      "at caller category input isolation manifestHash operation permissions requiredCapabilities risk " +
        "securityLevel sideEffects source tags tool version",
    );
  });

  it.each<[string, Partial<PolicyVerdict>]>([
    ["that forbids it", { cacheMs: 0 }],
    ["that counts backwards", { cacheMs: -5 }],
    ["that is a denial because nobody could be asked", { outcome: "deny", code: "E3206" }],
  ])("does not remember a verdict %s", async (_what, change) => {
    const { policy, asked } = world(async () => ({ ...ALLOWED, ...change }));
    await policy.decide(call);
    await policy.decide(call);
    expect(asked).toHaveLength(2);
  });

  it("does not remember a rejection", async () => {
    const { policy, asked } = world(() => Promise.reject(new Error("down")));
    await expect(policy.decide(call)).rejects.toThrow("down");
    await expect(policy.decide(call)).rejects.toThrow("down");
    expect(asked).toHaveLength(2);
  });

  it("asks once for the same question asked many times at once", async () => {
    const { policy, asked } = world(async () => ALLOWED);
    const answers = await Promise.all([policy.decide(call), policy.decide(call), policy.decide(call)]);
    expect(asked).toHaveLength(1);
    expect(answers).toEqual([ALLOWED, ALLOWED, ALLOWED]);
  });

  it("does not wait for ever behind a question nobody answers", async () => {
    const { policy, asked, clock } = world(() => new Promise(() => undefined));
    void policy.decide(call);
    clock.now += 500;
    void policy.decide(call);
    expect(asked).toHaveLength(2);
  });

  it("drops the least recently used beyond its size", async () => {
    const { policy, asked } = world(() => ALLOWED, { maxEntries: 2 });
    for (const tool of ["a", "b", "a", "c", "a", "b"]) await policy.decide({ ...call, tool });
    expect(asked.map(({ tool }) => tool)).toEqual(["a", "b", "c", "b"]);
  });

  it("gives everybody a verdict of their own", async () => {
    const { policy } = world();
    (await policy.decide(call)).rules.push("forged");
    (await policy.decide(call)).rules.push("forged");
    expect((await policy.decide(call)).rules.filter((rule) => rule === "forged")).toHaveLength(0);
  });

  it("asks every time about a call that has no JSON text", async () => {
    const { policy, asked } = world();
    const odd = { ...call, input: "\ud800" };
    await policy.decide(odd);
    await policy.decide(odd);
    expect(asked).toHaveLength(2);
  });
});

describe("an update on the bus [L3-PRM-3]", () => {
  async function askedAfter(message: Record<string, string | number>) {
    const { policy, asked, bus } = world();
    const calls = [call, { ...call, tool: "u" }, { ...call, caller: { ...call.caller, agent: "b" } }];
    for (const one of calls) await policy.decide(one);
    bus.publish("policy:updates", message);
    for (const one of calls) await policy.decide(one);
    return asked.slice(3).map(({ caller, tool }) => `${caller.agent}/${tool}`);
  }

  it.each<[Record<string, string | number>, string[]]>([
    [{}, ["a/t", "a/u", "b/t"]],
    [{ agent: "a", tool: "t" }, ["a/t"]],
    [{ agent_did: "a", tool_id: "t" }, ["a/t"]],
    [{ tool: "t" }, ["a/t", "b/t"]],
    [{ agent: "a" }, ["a/t", "a/u"]],
    [{ agent: "a", tool: "x" }, []],
    [{ agent: 5 }, ["a/t", "a/u", "b/t"]],
    [{ reason: "reload" }, ["a/t", "a/u", "b/t"]],
  ])("%j makes it ask anew about %j", async (message, anew) => {
    expect(await askedAfter(message)).toEqual(anew);
  });

  it("keeps an answer that was under way from being remembered, or joined", async () => {
    const answers: ((verdict: PolicyVerdict) => void)[] = [];
    const { policy, asked, bus } = world(() => new Promise((resolve) => answers.push(resolve)));
    const first = policy.decide(call);
    bus.publish("policy:updates", {});
    const second = policy.decide(call);
    expect(asked).toHaveLength(2);
    answers[0]?.(ALLOWED);
    expect(await first).toEqual(ALLOWED);
    const third = policy.decide(call);
    answers[1]?.({ ...ALLOWED, outcome: "deny" });
    expect(await second).toMatchObject({ outcome: "deny" });
    expect(await third).toMatchObject({ outcome: "deny" });
    expect(await policy.decide(call)).toMatchObject({ outcome: "deny" });
    expect(asked).toHaveLength(2);
  });

  it("is not heard any more once closed; forgetting by hand still works", async () => {
    const { policy, asked, bus } = world();
    policy.close();
    await policy.decide(call);
    bus.publish("policy:updates", {});
    await policy.decide(call);
    expect(asked).toHaveLength(1);
    policy.forget();
    await policy.decide(call);
    expect(asked).toHaveLength(2);
  });
});
