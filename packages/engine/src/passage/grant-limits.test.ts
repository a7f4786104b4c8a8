import { randomBytes } from "node:crypto";
import { isFailure, type JsonValue, SallyportError } from "@sallyport/protocol";
import { describe, expect, it } from "vitest";
import type { EngineOptions } from "../admin/compose.ts";
import { type AuthorityOptions, ConfiguredAuthority } from "../authorise/authority.ts";
import { GrantIndex, hmacSigner } from "../authorise/grant/index.ts";
import { createMemoryStore } from "../memory/store.ts";
import type { Policy } from "../ports/authority.ts";
import { crashed, errorOf, fixtureEngine } from "../testing/fixture-engine.ts";

const CALL = { id: "all", tenants: ["*"], agents: ["*"], tools: ["*"], operations: ["*"], capabilities: [] };
const asks: Policy = {
  name: "asks",
  decide: () => ({ outcome: "ask", reason: "ask", rules: ["ask"], policyVersion: "1", tier: "operator" }),
};
const KEY = randomBytes(32);
const NOON = Date.UTC(2026, 0, 1, 12);

interface Setup extends Partial<EngineOptions> {
  sideEffects?: string;
  authority?: never;
  rules?: Partial<AuthorityOptions>;
  run?: (input: JsonValue) => Promise<JsonValue>;
  conduct?: object;
}

/** An engine with one tool that needs `network.https`, and a count of how often its code ran. */
async function limited({ sideEffects = "external", rules, run, conduct, ...options }: Setup = {}) {
  const signer = hmacSigner(KEY);
  const grantIndex = new GrantIndex(signer);
  const authority = new ConfiguredAuthority({ grants: [CALL], grantIndex, ...rules });
  const ran: JsonValue[] = [];
  const fixture = await fixtureEngine({ authority, signer, grantIndex, ...options }, [
    {
      id: "pay",
      conduct: { sideEffects, requiredCapabilities: ["network.https"], ...conduct },
      run: async (input: JsonValue) => {
        ran.push(input);
        return (await run?.(input)) ?? "paid";
      },
    },
  ]);
  const give = async (...constraints: { type: string; value: JsonValue }[]) => {
    const grant = await fixture.engine.grants.issue({
      tenant: "acme",
      capabilityId: "network.https",
      grantee: { type: "TOOL", id: "pay" },
      grantor: { id: "ada", operator: true },
      constraints,
      delegatable: true,
    });
    if (isFailure(grant)) throw new SallyportError(grant);
    return grant;
  };
  const uses = async (grantId: string) => (await fixture.store.grants.get(grantId))?.uses;
  return { ...fixture, ran, give, uses };
}

const times = (count: number) => Array.from({ length: count }, (_, n) => n);
const MAX_ONE = { type: "max_uses", value: 1 };
const TWO_AN_HOUR = { type: "rate_limit", value: { max: 2, window: 3_600_000 } };

describe("the limit of a grant's uses", () => {
  it.each(
    ["none", "state", "external"].flatMap((sideEffects) => [
      { sideEffects, constraint: MAX_ONE, allowed: 1, code: "E3210" },
      { sideEffects, constraint: TWO_AN_HOUR, allowed: 2, code: "E3224" },
    ]),
  )("holds for 40 calls at once: $sideEffects, $constraint.type [R3-2] [X-13]", async (given) => {
    const { call, ran, give, uses } = await limited({ sideEffects: given.sideEffects });
    const { grantId } = await give(given.constraint);
    const answers = await Promise.all(times(40).map((n) => call("pay", n)));
    expect(ran).toHaveLength(given.allowed);
    expect(await uses(grantId)).toBe(given.allowed);
    const refused = answers.filter(({ status }) => status !== "success");
    expect(new Set(refused.map((answer) => errorOf(answer).code))).toEqual(new Set([given.code]));
  });

  it.each([
    { constraint: { type: "max_uses", value: 2 }, state: "closed" },
    { constraint: TWO_AN_HOUR, state: "waiting" },
  ])(
    "holds for calls that were approved together; waiting takes none: $constraint.type [R3-2]",
    async (given) => {
      const { call, engine, store, ran, give, uses } = await limited({ rules: { policies: [asks] } });
      const { grantId } = await give(given.constraint);
      const pending = await Promise.all(times(8).map((n) => call("pay", n)));
      expect(pending.map(({ status }) => status)).toEqual(times(8).map(() => "pending_approval"));
      expect(await uses(grantId)).toBe(0);
      for (const { approval } of pending)
        await engine.approvals.approve(approval?.approvalId ?? "", { by: "ada" });
      await Promise.all(pending.map(({ callId }) => engine.resume(callId)));
      expect(ran).toHaveLength(2);
      expect(await uses(grantId)).toBe(2);
      const phases = await Promise.all(
        pending.map(async ({ callId }) => (await store.calls.get(callId))?.phase),
      );
      expect(phases.filter((phase) => phase === given.state)).toHaveLength(given.state === "closed" ? 8 : 6);
    },
  );

  it("holds for accepted calls, and being queued takes none [R3-2]", async () => {
    const { engine, ran, give, uses, store } = await limited({ admission: { total: 2 } });
    const { grantId } = await give(MAX_ONE);
    const caller = { tenant: "acme", agent: "agent" };
    const accepted = await Promise.all(times(6).map((n) => engine.accept({ tool: "pay", input: n, caller })));
    for (const { callId } of accepted) {
      await expect.poll(async () => (await store.calls.get(callId))?.phase).toBe("closed");
    }
    expect(ran).toHaveLength(1);
    expect(await uses(grantId)).toBe(1);
    await engine.close();
  });

  it("holds for several engines over one store, which has the last word [R3-2] [X-13]", async () => {
    const store = createMemoryStore();
    const first = await limited({ store });
    const grants = [await first.give(MAX_ONE)];
    const engines = [first, await limited({ store }), await limited({ store })];
    const answers = await Promise.all(engines.flatMap(({ call }) => times(5).map((n) => call("pay", n))));
    expect(engines.flatMap(({ ran }) => ran)).toHaveLength(1);
    expect(await first.uses(grants[0]?.grantId ?? "")).toBe(1);
    const refused = answers.filter(({ status }) => status !== "success").map(errorOf);
    for (const error of refused) expect(error.message).toContain(grants[0]?.grantId);
  });

  it("of a parent holds for its children together; a grant that is used up makes room for another [R3-2]", async () => {
    const { call, engine, ran, give } = await limited();
    const parent = await give({ type: "max_uses", value: 3 });
    const child = await engine.grants.delegate(parent.grantId, {
      grantee: { type: "ROLE", id: "nobody" },
      grantor: { id: "ada", operator: true },
      constraints: [{ type: "max_uses", value: 3 }],
    });
    expect(isFailure(child)).toBe(false);
    const other = await give({ type: "max_uses", value: 5 });
    await Promise.all(times(20).map((n) => call("pay", n)));
    expect(ran).toHaveLength(5);
    expect((await engine.grants.get(parent.grantId))?.uses).toBe(3);
    expect((await engine.grants.get(other.grantId))?.uses).toBe(5);
  });

  it("counts a call once, however often it is tried [R3-2]", async () => {
    let left = 2;
    const { call, ran, give, uses } = await limited({
      sideEffects: "none",
      conduct: { idempotent: true, limits: { timeoutMs: 50, memoryBytes: 1e9 } },
      retry: { baseDelayMs: 1 },
      run: () => (left-- > 0 ? new Promise(() => undefined) : Promise.resolve("paid")),
    });
    const { grantId } = await give(MAX_ONE);
    expect(await call("pay", 1)).toMatchObject({ status: "success", attempts: 3 });
    expect(ran).toHaveLength(3);
    expect(await uses(grantId)).toBe(1);
    expect(errorOf(await call("pay", 2)).code).toBe("E3210");
  });

  it("gives the use of a call back that was cancelled before it started [R3-2]", async () => {
    const store = createMemoryStore();
    const controller = new AbortController();
    const commit: typeof store.commit = async (unit) => {
      const result = await store.commit(unit);
      if (unit.open?.phase === "executing" && unit.open.input === '"stop"') controller.abort();
      return result;
    };
    const { call, ran, give, uses } = await limited({ store: { ...store, commit } });
    const { grantId } = await give(MAX_ONE);
    expect((await call("pay", "stop", { signal: controller.signal })).status).toBe("cancelled");
    expect([ran.length, await uses(grantId)]).toEqual([0, 0]);
    expect((await call("pay", 2)).status).toBe("success");
    expect(errorOf(await call("pay", 3)).code).toBe("E3210");
  });

  it.each([
    { sideEffects: "state", phase: "closed", left: 0 },
    { sideEffects: "external", phase: "unknown", left: 1 },
  ])("is given back after a crash only where nothing took effect: $sideEffects [R3-2]", async (given) => {
    const store = createMemoryStore();
    let started = () => {};
    const running = new Promise<void>((resolve) => {
      started = resolve;
    });
    const { sideEffects } = given;
    const dead = await limited({ store, sideEffects, run: () => new Promise(() => started()) });
    const { grantId } = await dead.give(MAX_ONE);
    void dead.call("pay", 1, { callId: "lost" });
    await running;
    await crashed(store);
    const next = await limited({ store, sideEffects });
    await next.engine.recover();
    expect((await store.calls.get("lost"))?.phase).toBe(given.phase);
    expect(await next.uses(grantId)).toBe(given.left);
    expect((await next.call("pay", 2)).status).toBe(given.left === 0 ? "success" : "permission_denied");
  });

  it.each([
    {
      constraint: TWO_AN_HOUR,
      calls: 2,
      code: "E3224",
      says: /limit of grant \S+ is used up until 2026-01-01T13:00:00.000Z/,
    },
    {
      constraint: MAX_ONE,
      calls: 1,
      code: "E3210",
      says: /limit of grant \S+ is used up and does not free up/,
    },
  ])("says which grant is used up and when it frees up: $constraint.type", async (given) => {
    let now = NOON;
    const { call, give } = await limited({ clock: { now: () => now } });
    const { grantId } = await give(given.constraint);
    for (const n of times(given.calls)) expect((await call("pay", n)).status).toBe("success");
    now += 60_000;
    const error = errorOf(await call("pay", "more"));
    expect(error).toMatchObject({ code: given.code, message: expect.stringMatching(given.says) });
    expect(error.message).toContain(grantId);
    expect(error.advice).not.toMatch(/^Add /);
    expect(error.details?.retryAfterMs).toBe(given.code === "E3224" ? 3_540_000 : undefined);
    now = NOON + 3_600_000;
    expect((await call("pay", "later")).status).toBe(
      given.code === "E3224" ? "success" : "permission_denied",
    );
  });
});
