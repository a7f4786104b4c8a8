import { randomBytes } from "node:crypto";
import { isFailure } from "@sallyport/protocol";
import { describe, expect, it } from "vitest";
import type { EngineOptions } from "../admin/compose.ts";
import { ConfiguredAuthority } from "../authorise/authority.ts";
import { GrantIndex, hmacSigner } from "../authorise/grant/index.ts";
import { keySetOf, mintToken, TokenChecker } from "../authorise/token/index.ts";
import { createMemoryStore } from "../memory/store.ts";
import type { Policy, PolicyVerdict } from "../ports/authority.ts";
import { auditOf, errorOf, fixtureEngine } from "../testing/fixture-engine.ts";
import { signingKey } from "../testing/samples.ts";

/* Attacks on approvals that a reviewer tried; each worked once. */

const GRANT = { id: "all", tenants: ["*"], agents: ["*"], tools: ["*"], operations: ["*"], capabilities: [] };
const ASK: PolicyVerdict = {
  outcome: "ask",
  reason: "ask",
  rules: ["ask"],
  policyVersion: "1",
  tier: "operator",
};

const key = signingKey("k1");

function tokens() {
  const keys = keySetOf([{ kid: "k1", publicKey: key.publicKey }]);
  if (isFailure(keys)) throw new Error(keys.message);
  return { checker: new TokenChecker({ keys }), required: true };
}

const token = mintToken(
  {
    jti: "t1",
    issuer: "sallyport",
    tool: "pay",
    versions: "^1.0.0",
    agent: "agent",
    tenant: "acme",
    operations: ["execute"],
    issuedAt: Date.now(),
    expiresAt: Date.now() + 600_000,
  },
  key,
);

interface Setting extends Partial<Pick<EngineOptions, "hooks" | "store">> {
  decide?: Policy["decide"];
  quorum?: number;
  withTokens?: boolean;
  now?: () => number;
  /** The tool then runs until it is ended. */
  forever?: boolean;
}

async function context(setting: Setting = {}) {
  const { decide = () => ASK, quorum = 1, withTokens = false, now, forever, ...options } = setting;
  const signer = hmacSigner(randomBytes(32));
  const grantIndex = new GrantIndex(signer);
  const authority = new ConfiguredAuthority({
    grants: [GRANT],
    policies: [{ name: "test", decide }],
    grantIndex,
    ...(withTokens && { tokens: tokens() }),
  });
  const ran: unknown[] = [];
  const run = (input: unknown, { signal }: { signal: AbortSignal }) => {
    ran.push(input);
    if (!forever) return input;
    return new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  };
  const clock = now && { clock: { now } };
  const fixture = await fixtureEngine(
    { authority, signer, grantIndex, approvals: { quorum }, ...clock, ...options },
    [{ id: "pay", run, conduct: { sideEffects: "external" } }],
  );
  return { ...fixture, ran };
}

describe("an approval under attack", () => {
  it("that several people have to give is not replaced by one person's always", async () => {
    const { call, engine, ran } = await context({ quorum: 2 });
    const id = (await call("pay", { n: 1 }, { callId: "c1" })).approval?.approvalId ?? "";
    const always = { arguments: "any", agent: "any", tier: "operator" } as const;
    expect(await engine.approvals.approve(id, { by: "ada", always })).toMatchObject({ code: "E3220" });
    expect(await engine.grants.list()).toEqual([]);
    expect(await engine.resume("c1")).toMatchObject({ status: "pending_approval" });
    expect(ran).toEqual([]);
  });

  it("needs different people also when they answer at once, in two engines on one store [X-13]", async () => {
    const store = createMemoryStore();
    const engines = [await context({ quorum: 2, store }), await context({ quorum: 2, store })] as const;
    const id = (await engines[0].call("pay", { n: 1 }, { callId: "c1" })).approval?.approvalId ?? "";
    const asked = (names: string[]) =>
      Promise.all(
        engines.flatMap(({ engine }) =>
          names.map((by) => engine.approvals.approve(id, { by }).catch(String)),
        ),
      );
    await asked(["ada", "ada", "ada"]);
    expect(await store.approvals.get(id)).toMatchObject({
      standing: { state: "pending" },
      votes: [{ by: "ada" }],
    });
    await asked(["bob", "cleo"]);
    const { standing, votes = [] } = (await store.approvals.get(id)) ?? {};
    expect([standing?.state, votes.length, new Set(votes.map(({ by }) => by)).size]).toEqual([
      "approved",
      2,
      2,
    ]);
    await Promise.all(engines.map(({ engine }) => engine.resume("c1")));
    expect(engines.flatMap(({ ran }) => ran)).toHaveLength(1);
  });

  it("does not count for arguments that were changed after the person looked", async () => {
    const { call, engine, ran } = await context({ quorum: 2 });
    const seen = (await call("pay", { amount: 1 }, { callId: "c1" })).approval?.approvalId ?? "";
    const before = await engine.approvals.get(seen);
    await engine.approvals.edit(seen, { by: "bob", input: { amount: 1_000_000 } });
    expect(await engine.approvals.approve(seen, { by: "ada" })).toMatchObject({ code: "E3216" });
    const stale = await engine.approvals.approve(seen, { by: "ada", digest: before?.digest ?? "" });
    expect(stale).toMatchObject({ code: "E3216" });
    expect(ran).toEqual([]);
    const now = (await engine.approvals.get(seen))?.digest ?? "";
    expect(await engine.approvals.approve(seen, { by: "ada", digest: now })).toMatchObject({
      standing: { state: "edited" },
    });
  });

  it("does not take a second change for one of arguments that its author has not seen", async () => {
    const { call, engine, store } = await context({ quorum: 2 });
    const id = (await call("pay", { api_key: "k-first", n: 1 })).approval?.approvalId ?? "";
    const seen = await engine.approvals.get(id);
    const change = { ...Object(seen?.input), n: 2 };
    await engine.approvals.edit(id, { by: "mallory", input: { api_key: "k-second", n: 1 } });
    for (const stale of [{}, { digest: seen?.digest ?? "" }]) {
      const said = await engine.approvals.edit(id, { by: "ada", input: change, ...stale });
      expect(said).toMatchObject({ code: "E3216" });
    }
    const { digest = "" } = (await engine.approvals.get(id)) ?? {};
    const edited = await engine.approvals.edit(id, { by: "ada", input: change, digest });
    expect(edited).toMatchObject({ editedBy: "ada", votes: [{ by: "ada" }] });
    expect(await store.approvals.order(id)).toContain("k-second");
  });

  it("that expires while its call waits to begin is not used", async () => {
    let at = Date.UTC(2026, 0, 1);
    const slow = {
      name: "slow",
      before: () => {
        at += 40 * 3_600_000;
      },
    };
    const { call, engine, ran } = await context({ now: () => at, hooks: [slow] });
    const id = (await call("pay", { n: 1 }, { callId: "c1" })).approval?.approvalId ?? "";
    await engine.approvals.approve(id, { by: "ada" });
    expect(await engine.resume("c1")).toMatchObject({ error: { code: "E3222" } });
    expect(await engine.resume("c1")).toMatchObject({ error: { code: "E3215" } });
    expect(ran).toEqual([]);
  });

  it("is used by one of two engines, also when the other's policy has stopped asking", async () => {
    const store = createMemoryStore();
    const one = await context({ store });
    const other = await context({ store, decide: () => ({ ...ASK, outcome: "allow" }) });
    const id = (await one.call("pay", { n: 1 }, { callId: "c1" })).approval?.approvalId ?? "";
    await one.engine.approvals.approve(id, { by: "ada" });
    const answers = await Promise.all([one.engine.resume("c1"), other.engine.resume("c1")]);
    const statuses = answers.map((answer) => (isFailure(answer) ? answer.code : answer.status));
    // The one that comes second finds the question settled, or the answer of the first on record.
    expect(["pending_approval,success", "success,success"]).toContain(statuses.toSorted().join());
    expect([...one.ran, ...other.ran]).toEqual([{ n: 1 }]);
  });

  it("is not called cancelled by an engine that only asked for the call which another one runs", async () => {
    const store = createMemoryStore();
    const one = await context({ store, forever: true });
    const { promise: gate, resolve: open } = Promise.withResolvers<void>();
    let asked = false;
    const ofCall = async (callId: string) => {
      asked = true;
      await gate;
      return await store.approvals.ofCall(callId);
    };
    const other = await context({ store: { ...store, approvals: { ...store.approvals, ofCall } } });
    const id = (await one.call("pay", { n: 1 }, { callId: "c1" })).approval?.approvalId ?? "";
    const asking = other.call("pay", { n: 1 }, { callId: "c1" });
    await until(async () => asked);
    await one.engine.approvals.approve(id, { by: "ada" });
    const running = one.engine.resume("c1");
    await until(async () => one.ran.length === 1);
    const cancelled = await other.engine.cancelCall("c1", { reason: "enough" });
    expect(cancelled).toMatchObject({ cancelled: false, status: "unknown" });
    open();
    expect(errorOf(await asking).code).toBe("E3918");
    expect(await one.engine.cancelCall("c1", { reason: "enough" })).toMatchObject({ cancelled: true });
    expect(await running).toMatchObject({ status: "cancelled" });
  });

  it("waits while its tool's version is kept apart, and does not reach another version", async () => {
    const { call, add, engine, ran } = await context();
    const id = (await call("pay", { n: 1 }, { callId: "c1" })).approval?.approvalId ?? "";
    await engine.approvals.approve(id, { by: "ada" });
    await add({
      id: "pay",
      version: "1.1.0",
      run: () => ran.push("new"),
      conduct: { sideEffects: "external" },
    });
    await engine.tools.quarantine("pay", "1.0.0", { by: "ada", reason: "look" });
    expect(await engine.resume("c1")).toMatchObject({ error: { code: "E3219" } });
    await engine.tools.release("pay", "1.0.0", { by: "ada", note: "fine" });
    expect(await engine.resume("c1")).toMatchObject({ status: "success", version: "1.0.0" });
    const removed =
      (await call("pay", { n: 2 }, { callId: "c2", version: "1.0.0" })).approval?.approvalId ?? "";
    await engine.approvals.approve(removed, { by: "ada" });
    await engine.tools.remove("pay", "1.0.0", { force: true });
    expect(await engine.resume("c2")).toMatchObject({ error: { code: "E3004" } });
    expect(await engine.approvals.edit(removed, { by: "ada", input: {} })).toMatchObject({ code: "E3004" });
    expect(ran).toEqual([{ n: 1 }]);
  });

  it("keeps a bounded part of what people say, whatever they say", async () => {
    const { call, engine, store } = await context();
    const words = `\ud800${"x".repeat(5_000_000)}`;
    const ask = async () => (await call("pay", { n: 1 })).approval?.approvalId ?? "";
    const yes = await engine.approvals.approve(await ask(), { by: "ada", comment: words });
    const no = await engine.approvals.deny(await ask(), { by: "ada", reason: words });
    for (const said of [yes, no, await auditOf(store)]) {
      const text = JSON.stringify(said);
      expect(text).toContain("\ufffdxxx");
      expect(text.length).toBeLessThan(20_000);
    }
  });

  it("is not spent, and no recorded answer given, for somebody without the token", async () => {
    const { call, engine, ran } = await context({ withTokens: true });
    const asked = await call("pay", { n: 1 }, { callId: "c1", idempotencyKey: "k", token });
    await engine.approvals.approve(asked.approval?.approvalId ?? "", { by: "ada" });
    for (const bad of [{}, { token: "garbage" }]) {
      expect(errorOf(await call("pay", { n: 1 }, { callId: "c1", ...bad })).code).toBe("E3201");
      expect(errorOf(await call("pay", { n: 1 }, { idempotencyKey: "k", ...bad })).code).toBe("E3201");
    }
    const caller = { tenant: "acme", agent: "agent" };
    expect(await engine.resume("c1", { caller })).toMatchObject({ code: "E3201" });
    expect(ran).toEqual([]);
    expect((await call("pay", { n: 1 }, { idempotencyKey: "k", token })).status).toBe("success");
    expect(errorOf(await call("pay", { n: 1 }, { idempotencyKey: "k" })).code).toBe("E3201");
  });

  it("leaves its call's idempotency key good for the same request, also when it was edited", async () => {
    const { call, engine, ran } = await context();
    const asked = await call("pay", { n: 1 }, { idempotencyKey: "k" });
    await engine.approvals.edit(asked.approval?.approvalId ?? "", { by: "ada", input: { n: 2 } });
    expect((await call("pay", { n: 1 }, { idempotencyKey: "k" })).status).toBe("success");
    const again = await call("pay", { n: 1 }, { idempotencyKey: "k" });
    expect(again).toMatchObject({ status: "success", replayed: true, result: { n: 2 } });
    expect(ran).toHaveLength(1);
  });

  it("that one caller waits for does not hold up another with the same key, nor one who resumes", async () => {
    const { call, engine } = await context();
    const waiting = call("pay", { n: 1 }, { callId: "c1", idempotencyKey: "k", onApproval: "wait" });
    await expect.poll(() => engine.running().length).toBe(1);
    const second = await call("pay", { n: 1 }, { idempotencyKey: "k" });
    expect(second).toMatchObject({ status: "pending_approval", callId: "c1" });
    expect(await engine.resume("c1")).toMatchObject({ status: "pending_approval" });
    const gaveUp = new AbortController();
    const third = call("pay", { n: 1 }, { idempotencyKey: "k", onApproval: "wait", signal: gaveUp.signal });
    gaveUp.abort();
    expect(errorOf(await third).code).toBe("E3906");
    await engine.approvals.approve(second.approval?.approvalId ?? "", { by: "ada" });
    expect((await waiting).status).toBe("success");
  });

  it("survives a policy that cannot be asked for a moment", async () => {
    let down = false;
    const decide = () => {
      if (down) throw new Error("down");
      return ASK;
    };
    const { call, engine, ran } = await context({ decide });
    const asked = await call("pay", { n: 1 }, { callId: "c1" });
    await engine.approvals.approve(asked.approval?.approvalId ?? "", { by: "ada" });
    down = true;
    expect(await engine.resume("c1")).toMatchObject({ error: { code: "E3206" } });
    down = false;
    expect(await engine.resume("c1")).toMatchObject({ status: "success" });
    expect(ran).toHaveLength(1);
  });

  it("does not outlive its token, revoked while the policy is still being asked", async () => {
    let revoke = async () => {};
    const decide = async () => {
      await revoke();
      return { ...ASK, outcome: "allow" as const };
    };
    const { call, engine, ran } = await context({ decide, withTokens: true });
    const order = { jti: "t1", by: "ada", reason: "leaked", forgetAt: Date.now() + 600_000 };
    revoke = async () => void (await engine.revokeToken(order));
    expect(errorOf(await call("pay", { n: 1 }, { token })).code).toBe("E3208");
    expect(ran).toEqual([]);
  });

  it("does not outlive its token, revoked while the caller waits for the answer", async () => {
    const { call, engine, ran } = await context({ withTokens: true });
    const waiting = call("pay", { n: 1 }, { callId: "c1", token, onApproval: "wait" });
    await until(async () => (await engine.approvals.list({ limit: 1 })).length === 1);
    await engine.revokeToken({ jti: "t1", by: "ada", reason: "leaked", forgetAt: Date.now() + 600_000 });
    expect(errorOf(await waiting).code).toBe("E3217");
    expect(ran).toEqual([]);
  });

  /** A policy that answers only once it is let go. */
  function holding() {
    let gate: { promise: Promise<void>; resolve(): void } | undefined;
    let held = 0;
    return {
      decide: async () => {
        if (gate) held += 1;
        await gate?.promise;
        return ASK;
      },
      /** Holds one decision and goes on deciding others; returns how to let it go. */
      holdOne: async (work: () => Promise<unknown>) => {
        const { promise, resolve } = Promise.withResolvers<void>();
        gate = { promise, resolve };
        const before = held;
        const done = work();
        await until(async () => held > before);
        gate = undefined;
        return { letGo: resolve, done };
      },
    };
  }

  it("that somebody edits while its call runs leaves the call tied to its token", async () => {
    const { decide, holdOne } = holding();
    const { call, engine, ran } = await context({ decide, withTokens: true, forever: true });
    const id = (await call("pay", { n: 1 }, { callId: "c1", token })).approval?.approvalId ?? "";
    const editing = await holdOne(() => engine.approvals.edit(id, { by: "bob", input: { n: 2 } }));
    await engine.approvals.approve(id, { by: "ada" });
    const running = engine.resume("c1");
    await until(async () => ran.length === 1);
    editing.letGo();
    expect(await editing.done).toMatchObject({ code: "E3222" });
    await engine.revokeToken({ jti: "t1", by: "ada", reason: "leaked", forgetAt: Date.now() + 600_000 });
    expect(await running).toMatchObject({ error: { code: "E3217" } });
  });

  it("that somebody edits while its call is being resumed holds for the changed arguments", async () => {
    const { decide, holdOne } = holding();
    const { call, engine, ran } = await context({ decide });
    const id = (await call("pay", { n: 1 }, { callId: "c1" })).approval?.approvalId ?? "";
    const resuming = await holdOne(() => engine.resume("c1"));
    await engine.approvals.edit(id, { by: "ada", input: { n: 2 } });
    resuming.letGo();
    expect(await resuming.done).toMatchObject({ status: "pending_approval", approval: { approvalId: id } });
    expect(await engine.resume("c1")).toMatchObject({ status: "success", result: { n: 2 } });
    expect(ran).toEqual([{ n: 2 }]);
  });

  it("that has expired ends its call and its order, also when the policy has stopped asking", async () => {
    let at = Date.UTC(2026, 0, 1);
    let verdict = ASK;
    const { call, engine, store, ran } = await context({ decide: () => verdict, now: () => at });
    const id = (await call("pay", { n: 1 }, { callId: "c1" })).approval?.approvalId ?? "";
    at += 30 * 3_600_000;
    verdict = { ...ASK, outcome: "allow" };
    expect(await engine.resume("c1")).toMatchObject({ error: { code: "E3215" } });
    expect(await store.approvals.order(id)).toBeUndefined();
    expect(ran).toEqual([]);
  });

  it("is given only by somebody with a name", async () => {
    const { call, engine } = await context();
    const id = (await call("pay", { n: 1 }, { callId: "c1" })).approval?.approvalId ?? "";
    const hostile = ["ada\u202e", "ada\u2066", "ada\u2028", "x".repeat(257)];
    for (const by of ["", "  ", "\ud800", 5, {}, undefined, ...hostile]) {
      const said = await engine.approvals.approve(id, { by: by as string });
      expect(said).toMatchObject({ code: "E3226" });
    }
  });

  it("has events whose ids are all different, however often it is tried", async () => {
    let version = 1;
    let down = false;
    const decide = () => {
      if (down) throw new Error("down");
      return { ...ASK, policyVersion: String(version) };
    };
    const { call, engine, store } = await context({ decide });
    let id = (await call("pay", { n: 1 }, { callId: "c1" })).approval?.approvalId ?? "";
    for (let round = 0; round < 3; round += 1) {
      await engine.approvals.approve(id, { by: "ada" });
      down = true;
      await engine.resume("c1");
      await engine.resume("c1");
      down = false;
      version += 1;
      const again = await engine.resume("c1");
      id = (isFailure(again) ? undefined : again.approval?.approvalId) ?? "";
      await call("pay", { n: 2 }, { callId: "c1" });
    }
    const ids = (await auditOf(store)).map(({ eventId }) => eventId);
    expect(new Set(ids).size).toBe(ids.length);
  });
});

async function until(isSo: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 4_000; tries += 1) {
    if (await isSo()) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error("it did not come to that");
}
