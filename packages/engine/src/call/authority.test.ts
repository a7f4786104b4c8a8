import { randomBytes } from "node:crypto";
import { type CallAnswer, isFailure } from "@sallyport/protocol";
import { describe, expect, it } from "vitest";
import { GrantShelf, hmacSigner } from "../authorise/capability/index.ts";
import type { ConfiguredGrant } from "../authorise/grants.ts";
import { type AuthorityOptions, HouseAuthority } from "../authorise/house-authority.ts";
import { compilePolicy } from "../authorise/policy/index.ts";
import { createTokenChecker, keySetOf, mintToken } from "../authorise/token/index.ts";
import { auditOf, errorOf, type FixtureTool, fixtureEngine, statesOf } from "../testing/fixture-engine.ts";
import { signingKey } from "../testing/signing-key.ts";

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

async function house(options: Partial<AuthorityOptions> = {}, tools: FixtureTool[] = [echo, secret]) {
  const signer = hmacSigner(randomBytes(32));
  const shelf = new GrantShelf(signer);
  const authority = new HouseAuthority({ grants: [EVERYBODY], shelf, ...options });
  return await fixtureEngine({ authority, signer, shelf }, tools);
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

describe("a refusal", () => {
  it("is the same whether or not there is such a tool, for a caller nothing lets use it", async () => {
    const { call } = await house();
    const [hidden, missing] = [errorOf(await call("secret", {})), errorOf(await call("nosuch", {}))];
    expect(hidden.code).toBe("E3209");
    const blind = (text: string) => text.replaceAll("secret", "TOOL").replaceAll("nosuch", "TOOL");
    expect(blind(JSON.stringify(hidden))).toBe(blind(JSON.stringify(missing)));
    expect(statesOf(await call("secret", {}))).toEqual([]);
  });

  it("names no tool the caller may not know as the nearest one", async () => {
    const known = { ...EVERYBODY, tools: ["echo", "secre"] };
    const { call } = await house({ grants: [known] });
    expect(JSON.stringify(errorOf(await call("secre", {})))).not.toContain('"secret"');
    const operator = errorOf(await call("secre", {}, { disclosure: "full" }));
    expect(operator).toMatchObject({ code: "E3001", details: { nearest: ["secret"] } });
  });

  it("tells an operator the whole truth", async () => {
    const { call } = await house();
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
    const { call, store } = await house({ policies: [asking([rule])] });
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
    return { checker: createTokenChecker({ keys }), required };
  };

  it("let their agent call their tool, and nothing else [L3-PRM-1]", async () => {
    const { call } = await house({ tokens: tokens() });
    expect((await call("secret", { x: 1 }, { token: minted() })).status).toBe("success");
    expect(errorOf(await call("echo", {}, { token: minted() })).code).toBe("E3201");
    const stranger = { tenant: "acme", agent: "other" };
    expect(errorOf(await call("secret", { x: 1 }, { token: minted(), caller: stranger })).code).toBe("E3201");
  });

  it("are demanded where they are required: there is no default identity [L3-PRM-1] [MCX-8]", async () => {
    const { call } = await house({ tokens: tokens() });
    const missing = errorOf(await call("echo", {}));
    expect(missing.code).toBe("E3201");
    expect(missing.advice).toMatch(/token/i);
    expect(errorOf(await call("nosuch", {}, { disclosure: "full" })).code).toBe("E3001");
    expect(errorOf(await call("nosuch", {})).code).toBe("E3201");
  });

  it("are refused where there is no key to check them with, rather than passed over [L3-PRM-1]", async () => {
    const { call } = await house();
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
    const { call, engine } = await house({ tokens: tokens() }, [slow]);
    const token = minted({ tool: "slow" });
    const under = call("slow", {}, { token });
    await running;
    await engine.revokeToken({ jti: "t1", by: "ada", reason: "leaked", forgetAt: Date.now() + 60_000 });
    expect(errorOf(await under).code).toBe("E3217");
    expect(errorOf(await call("slow", {}, { token })).code).toBe("E3208");
  });

  it("are checked again when a call goes on after an approval, though they are not kept", async () => {
    const { call, engine, store } = await house({
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

describe("an agent's profile", () => {
  it("bounds the security level of the tools it may call [MCX-8]", async () => {
    const danger: FixtureTool = { id: "danger", run: () => "done", conduct: { securityLevel: 5 } };
    const agents = [{ agents: ["*"], tenants: ["*"], clearance: 4, roles: [] }];
    const { call } = await house({ agents }, [danger]);
    expect(errorOf(await call("danger", {})).code).toBe("E3218");
    const cleared = await house(
      { agents: [{ ...agents[0], agents: ["*"], tenants: ["*"], roles: [], clearance: 5 }] },
      [danger],
    );
    expect((await cleared.call("danger", {})).status).toBe("success");
  });

  it("lets tools of level 8 and above run only with a person's verification [MCX-8]", async () => {
    const danger: FixtureTool = { id: "danger", run: () => "done", conduct: { securityLevel: 9 } };
    const agents = [{ agents: ["*"], tenants: ["*"], clearance: 10, roles: [] }];
    const { call } = await house({ agents }, [danger]);
    expect((await call("danger", {})).status).toBe("pending_approval");
    const unknown = await house({}, [danger]);
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
      const { call } = await house({ agents }, [reach]);
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
    const { call, engine } = await house({ policies: [asking([ASK_ECHO])] });
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
    const { call, engine } = await house({}, [careful]);
    const always = { arguments: "exact", agent: "this", tier: "operator" } as const;
    const asked = await call("echo", {});
    const refused = await engine.approvals.approve(asked.approval?.approvalId ?? "", { by: "ada", always });
    expect(refused).toMatchObject({ code: "E3220" });
    const high = await house({ policies: [asking([ASK_ECHO], "organisation")] });
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
    const { call, engine, store } = await house({}, [writer]);
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
    const { call, engine } = await house({}, [waiting]);
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
    const { call, engine } = await house({}, [spawner]);
    const answer = await call("spawner", {});
    expect(errorOf(answer)).toMatchObject({ code: "E3212", details: { severity: "critical" } });
    expect(answer.warnings.map(({ code }) => code)).toContain("E3219");
    expect(errorOf(await call("spawner", {})).code).toBe("E3219");
    await engine.tools.release("spawner", "1.0.0", { by: "ada", note: "looked at it" });
    expect(errorOf(await call("spawner", {})).code).toBe("E3212");
  });
});
