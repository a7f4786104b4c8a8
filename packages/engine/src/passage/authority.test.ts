import { randomBytes } from "node:crypto";
import { type CallAnswer, isFailure } from "@sallyport/protocol";
import { describe, expect, it, vi } from "vitest";
import type { EngineOptions } from "../admin/compose.ts";
import { verifyChain } from "../audit/index.ts";
import { type AuthorityOptions, ConfiguredAuthority } from "../authorise/authority.ts";
import type { ConfiguredGrant } from "../authorise/configured-rules.ts";
import { GrantIndex, hmacSigner } from "../authorise/grant/index.ts";
import { compilePolicy } from "../authorise/policy/index.ts";
import { keySetOf, mintToken, TokenChecker } from "../authorise/token/index.ts";
import { type CallRequest, DEFAULT_LIMITS } from "../context.ts";
import { MemoryBus } from "../memory/platform.ts";
import type { Policy } from "../ports/authority.ts";
import { auditOf, errorOf, type FixtureTool, fixtureEngine, statesOf } from "../testing/fixture-engine.ts";
import { signingKey } from "../testing/samples.ts";

const EVERYBODY: ConfiguredGrant = {
  id: "everybody",
  tenants: ["*"],
  agents: ["*"],
  tools: ["echo", "danger", "slow", "spawner"],
  operations: ["*"],
  capabilities: [],
};

const echo: FixtureTool = { id: "echo", run: (input) => input };
const secret: FixtureTool = {
  id: "secret",
  run: () => "found me",
  input: { type: "object", required: ["x"] },
};

async function context(
  options: Partial<AuthorityOptions> = {},
  tools: FixtureTool[] = [echo, secret],
  more: Partial<EngineOptions> = {},
) {
  const signer = hmacSigner(randomBytes(32));
  const grantIndex = new GrantIndex(signer);
  const authority = new ConfiguredAuthority({ grants: [EVERYBODY], grantIndex, ...options });
  return await fixtureEngine({ authority, signer, grantIndex, ...more }, tools);
}

function asking(rules: object[], tier = "operator") {
  const policy = compilePolicy({ version: 1, tier, default: "allow", rules }, { name: "test" });
  if (isFailure(policy)) throw new Error(JSON.stringify(policy.issues));
  return policy;
}

const ASK_ECHO = {
  id: "ask-echo",
  effect: "ask",
  reason: "echoes are watched",
  match: { tools: ["echo"] },
  examples: { match: [{ tool: "echo" }], not: [{ tool: "other" }] },
};

describe("a policy that does not answer", () => {
  it("is named: its own time is over before the authority's is", async () => {
    const silent: Policy = { name: "silent", decide: () => new Promise(() => undefined) };
    const { call } = await context({ policies: [silent] });
    expect(errorOf(await call("echo", {}))).toMatchObject({
      code: "E3206",
      message: expect.stringContaining("policy silent could not be asked"),
    });
    expect(DEFAULT_LIMITS.decisionMs).toBeGreaterThan(500);
  });
});

describe("a refusal", () => {
  it("is the same whether or not there is such a tool, for a caller nothing lets use it", async () => {
    const { call } = await context();
    const [hidden, missing] = [errorOf(await call("secret", {})), errorOf(await call("nosuch", {}))];
    expect(hidden.code).toBe("E3209");
    const blind = (text: string) => text.replaceAll("secret", "TOOL").replaceAll("nosuch", "TOOL");
    expect(blind(JSON.stringify(hidden))).toBe(blind(JSON.stringify(missing)));
    expect(statesOf(await call("secret", {}))).toEqual([]);
  });

  it("names no tool the caller may not know as the nearest one", async () => {
    const known = { ...EVERYBODY, tools: ["echo", "secre"] };
    const { call } = await context({ grants: [known] });
    expect(JSON.stringify(errorOf(await call("secre", {})))).not.toContain('"secret"');
    const operator = errorOf(await call("secre", {}, { disclosure: "full" }));
    expect(operator).toMatchObject({ code: "E3001", details: { nearest: ["secret"] } });
  });

  it("tells an operator the whole truth", async () => {
    const { call } = await context();
    expect(errorOf(await call("nosuch", {}, { disclosure: "full" })).code).toBe("E3001");
    expect(errorOf(await call("secret", { x: 1 }, { disclosure: "full" })).code).toBe("E3209");
  });

  it("of a policy teaches: code, rule, argument, nearest alternative, what unlocks it, and whether a yes would", async () => {
    const rule = {
      id: "small-only",
      effect: "deny",
      reason: "too much",
      nearest: "an amount up to 10",
      unlock: "Ask for less.",
      match: { tools: ["echo"], arguments: { "/amount": { above: 10 } } },
      examples: {
        match: [{ tool: "echo", input: { amount: 11 } }],
        not: [{ tool: "echo", input: { amount: 1 } }],
      },
    };
    const { call, store } = await context({ policies: [asking([rule])] });
    const answer = await call("echo", { amount: 12 });
    expect(errorOf(answer)).toMatchObject({
      code: "E3225",
      message: "Denied: too much.",
      advice: "Ask for less.",
      issues: [{ path: "/amount" }],
      details: {
        rules: ["small-only"],
        argument: "/amount",
        nearest: "an amount up to 10",
        approvalUnlocks: false,
      },
    });
    expect((await auditOf(store)).at(-1)).toMatchObject({ state: "DENIED", error: { code: "E3225" } });
  });
});

describe("capability tokens", () => {
  const key = signingKey("k1");
  const minted = (change: object = {}) =>
    mintToken(
      {
        jti: "t1",
        issuer: "sallyport",
        tool: "secret",
        versions: "^1.0.0",
        agent: "agent",
        tenant: "acme",
        operations: ["execute"],
        issuedAt: Date.now(),
        expiresAt: Date.now() + 60_000,
        ...change,
      },
      key,
    );
  const tokens = (required = true) => {
    const keys = keySetOf([{ kid: "k1", publicKey: key.publicKey }]);
    if (isFailure(keys)) throw new Error(keys.message);
    return { checker: new TokenChecker({ keys }), required };
  };

  it("let their agent call their tool, and nothing else [L3-PRM-1]", async () => {
    const { call } = await context({ tokens: tokens() });
    expect((await call("secret", { x: 1 }, { token: minted() })).status).toBe("success");
    expect(errorOf(await call("echo", {}, { token: minted() })).code).toBe("E3201");
    const stranger = { tenant: "acme", agent: "other" };
    expect(errorOf(await call("secret", { x: 1 }, { token: minted(), caller: stranger })).code).toBe("E3201");
  });

  it("are demanded where they are required: there is no default identity [L3-PRM-1] [MCX-8]", async () => {
    const { call } = await context({ tokens: tokens() });
    const missing = errorOf(await call("echo", {}));
    expect(missing.code).toBe("E3201");
    expect(missing.advice).toMatch(/token/i);
    expect(errorOf(await call("nosuch", {}, { disclosure: "full" })).code).toBe("E3001");
    expect(errorOf(await call("nosuch", {})).code).toBe("E3201");
  });

  it("are refused where there is no key to check them with, rather than passed over [L3-PRM-1]", async () => {
    const { call } = await context();
    expect((await call("echo", {})).status).toBe("success");
    expect(errorOf(await call("echo", {}, { token: minted() })).code).toBe("E3201");
  });

  it("that are revoked are refused from then on, and end the calls that run by them [L3-PRM-1]", async () => {
    let started = () => {};
    const running = new Promise<void>((resolve) => {
      started = resolve;
    });
    const slow: FixtureTool = {
      id: "slow",
      run: (_, { signal }) => {
        started();
        return new Promise((_resolve, reject) =>
          signal.addEventListener("abort", () => reject(signal.reason)),
        );
      },
    };
    const { call, engine } = await context({ tokens: tokens() }, [slow]);
    const token = minted({ tool: "slow" });
    const under = call("slow", {}, { token });
    await running;
    await engine.revokeToken({ jti: "t1", by: "ada", reason: "leaked", forgetAt: Date.now() + 60_000 });
    expect(errorOf(await under).code).toBe("E3217");
    expect(errorOf(await call("slow", {}, { token })).code).toBe("E3208");
  });

  it("that were revoked long ago are forgotten, also when only the bus told of it [L3-PRM-1]", async () => {
    const bus = new MemoryBus();
    const { call, engine } = await context({ tokens: tokens() }, [echo], { bus });
    const token = minted({ tool: "echo" });
    const heard: unknown[] = [];
    bus.subscribe("token:revocations", ({ forgetAt }) => heard.push(forgetAt));
    await engine.revokeToken({ jti: "t1", by: "ada", reason: "leaked", forgetAt: 1 });
    expect(heard).toEqual([1]);
    expect(errorOf(await call("echo", {}, { token })).code).toBe("E3208");
    // The list is cleaned now and then, once it is long.
    for (let n = 0; n < 1_100; n += 1) bus.publish("token:revocations", { jti: `old-${n}`, forgetAt: 1 });
    expect((await call("echo", {}, { token })).status).toBe("success");
  });

  it("are refused when another process revoked them and its message says no more than that [L3-PRM-1]", async () => {
    const bus = new MemoryBus();
    const { call, store } = await context({ tokens: tokens() }, [echo], { bus });
    const token = minted({ tool: "echo" });
    expect((await call("echo", {}, { token })).status).toBe("success");
    const revocation = {
      jti: "t1",
      by: "ada",
      reason: "leaked",
      revokedAt: 1,
      forgetAt: Date.now() + 60_000,
    };
    await store.commit({ tenant: "system", revocations: [revocation] });
    bus.publish("token:revocations", {});
    await vi.waitFor(async () => {
      expect(errorOf(await call("echo", {}, { token })).code).toBe("E3208");
    });
  });

  it("are checked again when a call goes on after an approval, though they are not kept", async () => {
    const { call, engine, store } = await context({
      tokens: tokens(),
      policies: [
        asking([
          {
            ...ASK_ECHO,
            match: { tools: ["secret"] },
            examples: { match: [{ tool: "secret" }], not: [{ tool: "x" }] },
          },
        ]),
      ],
    });
    const token = minted();
    const waiting = await call("secret", { x: 1 }, { token, callId: "one" });
    const id = waiting.approval?.approvalId ?? "";
    expect(await store.approvals.order(id)).not.toContain(token.split(".")[2]);
    await engine.approvals.approve(id, { by: "ada" });
    await engine.revokeToken({ jti: "t1", by: "ada", reason: "leaked", forgetAt: Date.now() + 60_000 });
    expect(await engine.resume("one")).toMatchObject({ error: { code: "E3208" } });
  });
});

describe("whose word a caller's identity is", () => {
  const key = signingKey("k2");
  const keys = keySetOf([{ kid: "k2", publicKey: key.publicKey }]);
  const tokens = () => {
    if (isFailure(keys)) throw new Error(keys.message);
    return { checker: new TokenChecker({ keys }), required: false };
  };
  const minted = (change: object = {}) =>
    mintToken(
      {
        ...{ jti: "t2", issuer: "sallyport", tool: "*", versions: "*", agent: "agent", tenant: "acme" },
        ...{ operations: ["execute"], issuedAt: Date.now(), expiresAt: Date.now() + 60_000 },
        ...change,
      },
      key,
    );
  const known = { ...EVERYBODY, tenants: ["acme", "victim"] };
  const caller = (tenant: string) => ({ tenant, agent: "agent" });
  const chains: [string, Partial<CallRequest>, string][] = [
    [
      "the tenant of a genuine token, whatever tenant is named",
      { token: minted(), caller: caller("victim") },
      "acme",
    ],
    [
      "the tenant of a genuine token, for one made up",
      { token: minted(), caller: caller("made-up") },
      "acme",
    ],
    ["nobody, with a token that does not hold", { token: "a.b.c", caller: caller("victim") }, "sallyport"],
    [
      "nobody, with a token that has expired",
      { token: minted({ issuedAt: 0, expiresAt: 60_000 }), caller: caller("acme") },
      "sallyport",
    ],
    ["nobody, for a tenant that no grant knows", { caller: caller("made-up") }, "sallyport"],
    [
      "nobody, for a tenant that no grant knows and that names itself at an open door",
      { caller: caller("made-up"), selfNamed: true, disclosure: "full" },
      "sallyport",
    ],
  ];

  it.each(chains)("a refusal stands in the chain of %s", async (_, more, chain) => {
    const { call, store } = await context({ grants: [known], tokens: tokens() });
    for (const callId of [undefined, "named"]) {
      const answer = await call("echo", {}, { ...more, ...(callId && { callId, idempotencyKey: "k" }) });
      expect(answer.status).not.toBe("success");
      expect(answer.receipt?.tenant).toBe(chain);
    }
    // The tools that the fixture registers are in the installation's own chain.
    expect((await store.audit.tenants()).toSorted()).toEqual([...new Set([chain, "sallyport"])].toSorted());
    const events = (await auditOf(store, chain)).filter(({ state }) => state === "REFUSED");
    expect(events).toHaveLength(2);
    expect(events[0]).toMatchObject({ tenant: chain });
    if (more.caller?.tenant !== chain) expect(events[0]?.claimedTenant).toBe(more.caller?.tenant);
    expect(await store.calls.list({ limit: 9 })).toEqual([]);
  });

  it("unknown callers cannot fill the record: beyond a budget they are counted", async () => {
    const { call, store, engine } = await context({ grants: [known] });
    for (let n = 0; n < 50; n += 1) await call("echo", {}, { caller: caller(`made-up-${n}`) });
    const flood = (code: "E3938" | "E3940", address: string, times: number) =>
      Promise.all(
        Array.from({ length: times }, (_, n) =>
          engine.recordRefusal({ error: { code, message: "m" }, route: "r", requestId: `q${n}`, address }),
        ),
      );
    await flood("E3938", "10.0.0.1", 50);
    // Neither what somebody else does nor another kind of refusal is hidden by the noise.
    await flood("E3938", "10.0.0.2", 1);
    await flood("E3940", "10.0.0.1", 1);
    for (let n = 0; n < 300; n += 1) await flood("E3938", `10.0.1.${n}`, 1);
    await engine.close();
    const events = (await auditOf(store, "sallyport")).filter(({ state }) => state === "REFUSED");
    expect(events.filter(({ address }) => address === "10.0.0.2")).toHaveLength(1);
    expect(events.filter(({ error }) => Object(error).code === "E3940")).toHaveLength(1);
    // Twenty each of two sources, one each of the others up to a hundred sources, and twenty of all that come later.
    expect(events).toHaveLength(20 + 20 + 98 + 20 + 1);
    expect(events.at(-1)).toMatchObject({ leftOut: 300 - 96 - 20 });
    expect(await verifyChain(store.audit, "sallyport")).toMatchObject({ findings: [] });
  });

  it("a token's user is the caller's, on every event; another user is refused, and never noted as verified", async () => {
    const { call, store } = await context({ grants: [known], tokens: tokens() });
    const token = minted({ user: "did:user:ann" });
    expect((await call("echo", {}, { token })).status).toBe("success");
    const asBob = { ...caller("acme"), user: "did:user:bob" };
    expect(errorOf(await call("echo", {}, { token, caller: asBob })).code).toBe("E3201");
    expect((await call("echo", {}, { token: minted(), caller: asBob })).status).toBe("success");
    const events = await auditOf(store);
    const users = events.map(({ userId, userVerified }) => `${userId} ${userVerified}`);
    expect(new Set(users.slice(0, 5))).toEqual(new Set(["did:user:ann true"]));
    expect(new Set(users)).toEqual(new Set(["did:user:ann true", "did:user:bob false"]));
    expect(users.filter((one) => one === "did:user:bob false")).toHaveLength(users.length - 5);
    expect((await store.calls.list({ limit: 9 })).map(({ user }) => user)).toEqual([
      "did:user:bob",
      "did:user:ann",
    ]);
  });

  it("a rule can demand that a token names the user", async () => {
    const rule = {
      id: "ann-only",
      effect: "deny",
      reason: "only Ann",
      match: { tools: ["echo"] },
      unless: { verifiedUsers: ["did:user:ann"] },
      examples: {
        match: [{ tool: "echo", user: "did:user:ann" }],
        not: [{ tool: "echo", user: "did:user:ann", userVerified: true }],
      },
    };
    const { call } = await context({ grants: [known], tokens: tokens(), policies: [asking([rule])] });
    const asAnn = { ...caller("acme"), user: "did:user:ann" };
    expect(errorOf(await call("echo", {}, { token: minted(), caller: asAnn })).code).toBe("E3225");
    const token = minted({ user: "did:user:ann" });
    expect((await call("echo", {}, { token, caller: asAnn })).status).toBe("success");
  });

  it("a call's events name its token, its session and the stored grants it rests on", async () => {
    const saver: FixtureTool = {
      id: "saver",
      run: () => "saved",
      conduct: { requiredCapabilities: ["state.write"], sideEffects: "state" },
    };
    const { call, engine, store } = await context({ grants: [known], tokens: tokens() }, [saver]);
    const grant = await engine.grants.issue({
      tenant: "acme",
      capabilityId: "state.write",
      grantee: { type: "TOOL", id: "saver" },
      grantor: { id: "olga", operator: true },
    });
    if (isFailure(grant)) throw new Error(grant.message);
    const answer = await call("saver", {}, { token: minted(), caller: { ...caller("acme"), session: "s1" } });
    expect(answer.status).toBe("success");
    const events = (await auditOf(store)).filter(({ callId }) => callId === answer.callId);
    expect(events.map(({ session }) => session)).toEqual(Array(5).fill("s1"));
    expect(events.slice(2).map(({ jti }) => jti)).toEqual(["t2", "t2", "t2"]);
    expect(events.find(({ state }) => state === "AUTHORIZED")).toMatchObject({
      decision: { grants: [grant.grantId] },
    });
  });
});

describe("an agent's profile", () => {
  it("bounds the security level of the tools it may call [MCX-8]", async () => {
    const danger: FixtureTool = { id: "danger", run: () => "done", conduct: { securityLevel: 5 } };
    const agents = [{ agents: ["*"], tenants: ["*"], clearance: 4, roles: [] }];
    const { call } = await context({ agents }, [danger]);
    expect(errorOf(await call("danger", {})).code).toBe("E3218");
    const cleared = await context(
      { agents: [{ ...agents[0], agents: ["*"], tenants: ["*"], roles: [], clearance: 5 }] },
      [danger],
    );
    expect((await cleared.call("danger", {})).status).toBe("success");
  });

  it("lets tools of level 8 and above run only with a person's verification [MCX-8]", async () => {
    const danger: FixtureTool = { id: "danger", run: () => "done", conduct: { securityLevel: 9 } };
    const agents = [{ agents: ["*"], tenants: ["*"], clearance: 10, roles: [] }];
    const { call } = await context({ agents }, [danger]);
    expect((await call("danger", {})).status).toBe("pending_approval");
    const unknown = await context({}, [danger]);
    expect(errorOf(await unknown.call("danger", {})).code).toBe("E3218");
  });

  it("bounds what a tool may touch (BC-1) [L3-PRM-2]", async () => {
    const permissions = {
      filesystem: [{ path: "/etc", mode: "ro" }],
      network: [{ host: "api.example.com", port: 443 }],
      credentials: ["key"],
    };
    const reach: FixtureTool = { id: "echo", run: () => "done", conduct: { permissions } };
    const with_ = async (own: object) => {
      const limited = { filesystem: [], network: [], credentials: [], ...own };
      const agents = [{ agents: ["*"], tenants: ["*"], clearance: 7, roles: [], permissions: limited }];
      const { call } = await context({ agents }, [reach]);
      const answer = await call("echo", {});
      return answer.status === "success" ? "success" : answer.error.code;
    };
    expect(await with_({})).toBe("E3105");
    expect(await with_({ filesystem: [{ path: "/", mode: "ro" }] })).toBe("E3104");
    const most = { filesystem: [{ path: "/", mode: "ro" }], network: [{ host: "api.example.com" }] };
    expect(await with_(most)).toBe("E3205");
    expect(await with_({ ...most, credentials: ["key"] })).toBe("success");
  });
});

describe("an always allow", () => {
  it("answers the policy's question for the same call from then on, is counted, and is revoked at once [FR-APR-04]", async () => {
    const { call, engine } = await context({ policies: [asking([ASK_ECHO])] });
    const first = await call("echo", { n: 1 });
    await engine.approvals.approve(first.approval?.approvalId ?? "", {
      by: "ada",
      always: { arguments: "exact", agent: "this", tier: "operator" },
    });
    const id = first.approval?.approvalId ?? "";
    expect(await engine.resume(first.callId)).toMatchObject({ status: "success" });
    expect((await engine.approvals.get(id))?.standing.state).toBe("consumed");
    expect((await call("echo", { n: 1 })).status).toBe("success");
    expect((await call("echo", { n: 2 })).status).toBe("pending_approval");
    const other = { tenant: "acme", agent: "other" };
    expect((await call("echo", { n: 1 }, { caller: other })).status).toBe("pending_approval");
    const [grant] = await engine.grants.list();
    expect(grant).toMatchObject({ kind: "standing", uses: 2, grantor: "ada", tool: "echo" });
    await engine.grants.revoke(grant?.grantId ?? "", { by: "ada", reason: "enough" });
    expect((await call("echo", { n: 1 })).status).toBe("pending_approval");
  });

  it("never answers a deny, a question of a higher tier, or a tool that requires approval itself [FR-APR-05]", async () => {
    const careful: FixtureTool = { id: "echo", run: (input) => input, conduct: { requiresApproval: true } };
    const { call, engine } = await context({}, [careful]);
    const always = { arguments: "exact", agent: "this", tier: "operator" } as const;
    const asked = await call("echo", {});
    const refused = await engine.approvals.approve(asked.approval?.approvalId ?? "", { by: "ada", always });
    expect(refused).toMatchObject({ code: "E3220" });
    const high = await context({ policies: [asking([ASK_ECHO], "organisation")] });
    const question = (await high.call("echo", {})).approval?.approvalId ?? "";
    expect(await high.engine.approvals.approve(question, { by: "ada", always })).toMatchObject({
      code: "E3220",
    });
  });
});

describe("a stored capability grant", () => {
  const writer: FixtureTool = {
    id: "slow",
    run: async (input: { key: string }, { state }) => {
      await state.put(input.key, 1);
      return "kept";
    },
    conduct: { sideEffects: "state", requiredCapabilities: ["state.write"] },
  };

  it("gives the capability within its scope; beyond it the call ends, rolled back and on record [R1-5.2] [R3-4]", async () => {
    const { call, engine, store } = await context({}, [writer]);
    expect(errorOf(await call("slow", { key: "a/1" })).code).toBe("E3210");
    const issued = await engine.grants.issue({
      tenant: "acme",
      capabilityId: "state.write",
      grantee: { type: "TOOL", id: "slow" },
      grantor: { id: "ada", operator: true },
      scope: { resources: ["a/*"], actions: [], conditions: [] },
    });
    expect(isFailure(issued)).toBe(false);
    const answer = await call("slow", { key: "a/1" });
    expect(answer.status).toBe("success");
    expect((await auditOf(store)).at(-1)).toMatchObject({
      state: "COMPLETED",
      uses: [{ capability: "state.write", action: "write", first: "a/1", uses: 1 }],
    });
    const beyond = await call("slow", { key: "b/1" });
    expect(errorOf(beyond)).toMatchObject({ code: "E3212", details: { resource: "b/1" } });
    expect(statesOf(beyond).at(-1)).toBe("ROLLED_BACK");
    const states = (await auditOf(store)).map(({ state }) => state);
    expect(states.slice(-2)).toEqual(["CAPABILITY_VIOLATION", "ROLLED_BACK"]);
  });

  it("that is revoked ends the calls that rest on it", async () => {
    let started = () => {};
    const running = new Promise<void>((resolve) => {
      started = resolve;
    });
    const waiting: FixtureTool = {
      ...writer,
      run: (_, { signal }) => {
        started();
        return new Promise((_resolve, reject) =>
          signal.addEventListener("abort", () => reject(signal.reason)),
        );
      },
    };
    const { call, engine } = await context({}, [waiting]);
    const issued = await engine.grants.issue({
      tenant: "acme",
      capabilityId: "state.write",
      grantee: { type: "TOOL", id: "slow" },
      grantor: { id: "ada", operator: true },
      scope: { resources: [], actions: [], conditions: [] },
    });
    if (isFailure(issued)) throw new Error(JSON.stringify(issued));
    const under: Promise<CallAnswer> = call("slow", { key: "a" }, { callId: "running" });
    await running;
    const revoked = await engine.grants.revoke(issued.grantId, { by: "ada", reason: "over" });
    expect(revoked).toMatchObject({ ended: ["running"] });
    expect(errorOf(await under)).toMatchObject({ code: "E3217" });
    expect(errorOf(await call("slow", { key: "a" })).code).toBe("E3210");
  });
});

describe("a critical violation", () => {
  it("keeps the tool from everybody until a person releases it [R3-4]", async () => {
    const spawner: FixtureTool = {
      id: "spawner",
      run: async (_, context) => {
        await context.use("process.spawn").catch(() => undefined);
        return "hidden";
      },
    };
    const { call, engine } = await context({}, [spawner]);
    const answer = await call("spawner", {});
    expect(errorOf(answer)).toMatchObject({ code: "E3212", details: { severity: "critical" } });
    expect(answer.warnings.map(({ code }) => code)).toContain("E3219");
    expect(errorOf(await call("spawner", {})).code).toBe("E3219");
    await engine.tools.release("spawner", "1.0.0", { by: "ada", note: "looked at it" });
    expect(errorOf(await call("spawner", {})).code).toBe("E3212");
  });
});
