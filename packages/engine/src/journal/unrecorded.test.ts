import { randomBytes } from "node:crypto";
import { failure, isFailure, type JsonValue, SallyportError } from "@sallyport/protocol";
import { describe, expect, it, onTestFinished } from "vitest";
import { ConfiguredAuthority } from "../authorise/authority.ts";
import { GrantIndex, hmacSigner } from "../authorise/grant/index.ts";
import { mapMethods } from "../map-methods.ts";
import { createMemoryStore } from "../memory/store.ts";
import type { ToolContext } from "../ports/runner.ts";
import type { Store, UnitOfWork } from "../ports/store.ts";
import { auditOf, errorOf, type Fixture, fixtureEngine, statesOf } from "../testing/fixture-engine.ts";
import { unanswered } from "./bounded-store.ts";

/** What a unit waits for before it is applied. */
type Slowly = (unit: UnitOfWork) => Promise<void> | undefined;

interface Line {
  is: "up" | "losing" | "down";
  /** State can be committed, not read. */
  hidesState?: boolean;
  look?: () => Promise<void>;
}

/**
 * A store that goes away as a database does: `losing` applies what is under way and loses the answer, and from then on it
 * is `down` until it is `up` again.
 */
function outage(isShared: boolean, slowly: Slowly) {
  let now = 1_767_225_600_000;
  const store = createMemoryStore({ isShared, clock: { now: () => now } });
  const line: Line = { is: "up" };
  const over = <Args extends unknown[], Result>(method: (...args: Args) => Promise<Result>) => {
    return async (...args: Args): Promise<Result> => {
      if (line.is === "down") throw new SallyportError(failure("E3914", { message: "refused" }));
      const result = await method(...args);
      if (line.is === "up") return result;
      line.is = "down";
      throw unanswered("the connection was lost");
    };
  };
  const { claim, held } = store.work;
  const faulty: Store = {
    ...store,
    commit: async (unit) => {
      await slowly(unit);
      return await over(store.commit)(unit);
    },
    state: mapMethods(store.state, (method) => async (...args) => {
      if (line.hidesState) throw new SallyportError(failure("E3914", { message: "refused" }));
      return await method(...args);
    }),
    work: {
      ...store.work,
      claim: over(claim) as typeof claim,
      held: async (order) => {
        const found = await (over(held) as typeof held)(order);
        await line.look?.();
        return found;
      },
    },
  };
  const pass = (ms: number) => {
    now += ms;
  };
  return { store, faulty, line, pass };
}

interface Given {
  isShared?: boolean;
  storeMs?: number;
  /** How often the engine compares by itself. */
  followMs?: number;
  /** Of an attempt; then the tool is idempotent. */
  timeoutMs?: number;
  pays?: "external" | "state";
  slowly?: Slowly;
}

const LEASE = { leaseMs: 15_000, renewMs: 5_000 };
const caller = { tenant: "acme", agent: "agent" };
const callbackUrl = "https://caller.example/";

/** An engine behind such a store. Its tool writes down what it did; asked to wait, it waits to be let go. */
async function world({
  isShared = true,
  storeMs = 1_000,
  followMs = Infinity,
  timeoutMs,
  pays = "external",
  slowly = () => undefined,
}: Given = {}) {
  const away = outage(isShared, slowly);
  const ran: string[] = [];
  const [came, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const run = async (input: JsonValue, { callId, state }: ToolContext) => {
    ran.push(callId);
    if (pays === "state" && input !== "read first") await state.put("n", 1);
    came.resolve();
    if (input === "hang once" && ran.length === 1) await new Promise(() => undefined);
    if (input === "wait" || input === "read first" || input === "read again") await gate.promise;
    if (input === "read first" || input === "read again") await state.get("m");
  };
  const conduct = {
    sideEffects: pays,
    requiredCapabilities: ["network.https", "state.write", "state.read"],
    ...(timeoutMs !== undefined && { idempotent: true, limits: { timeoutMs, memoryBytes: 1e9 } }),
  };
  const tools = [{ id: "pay", conduct, run }];
  const signer = hmacSigner(randomBytes(32));
  const open = async (store: Store): Promise<Fixture> => {
    const grantIndex = new GrantIndex(signer);
    const all = { id: "all", tenants: ["*"], agents: ["*"], tools: ["*"], operations: ["*"] };
    const authority = new ConfiguredAuthority({
      grants: [{ ...all, capabilities: ["state.write", "state.read"] }],
      grantIndex,
    });
    const fixture = await fixtureEngine(
      {
        store,
        lease: LEASE,
        limits: { storeMs, followMs },
        retry: { baseDelayMs: 1 },
        authority,
        signer,
        grantIndex,
      },
      tools,
    );
    onTestFinished(() => fixture.engine.close());
    return fixture;
  };
  const fixture = await open(away.faulty);
  const grant = await fixture.engine.grants.issue({
    tenant: "acme",
    capabilityId: "network.https",
    grantee: { type: "TOOL", id: "pay" },
    grantor: { id: "ada", operator: true },
    constraints: [{ type: "max_uses", value: 9 }],
    delegatable: true,
  });
  if (isFailure(grant)) throw new SallyportError(grant);
  const uses = async () => (await away.store.grants.get(grant.grantId))?.uses;
  const record = (callId: string) => away.store.calls.get(callId);
  return { ...away, ...fixture, ran, came: came.promise, letGo: gate.resolve, uses, record, open };
}

/** A call that ends while the store is away. */
async function cutOff(given: Given = {}) {
  const there = await world(given);
  const answer = there.call("pay", "wait", { callId: "c", idempotencyKey: "k", callbackUrl });
  await there.came;
  there.line.is = "down";
  there.letGo();
  return { ...there, answer: await answer };
}

describe.each([true, false])("after the store was away (shared: %s)", (isShared) => {
  it("a call whose intent landed without an answer ends as never begun, and its uses are given back [X-21]", async () => {
    const { line, call, engine, ran, record, uses } = await world({ isShared });
    line.is = "losing";
    expect(errorOf(await call("pay", {}, { callId: "c" })).code).toBe("E3908");
    expect((await record("c"))?.phase).toBe("executing");
    await expect(engine.judgeOrphans()).rejects.toThrow("E3914");
    line.is = "up";
    expect(await engine.judgeOrphans()).toMatchObject([{ callId: "c", verdict: "never_started" }]);
    expect((await record("c"))?.closing?.answer).toMatchObject({ error: { code: "E3908" } });
    expect([ran, await uses()]).toEqual([[], 0]);
  });

  it("an outcome that the store did not take is recorded, and whoever asks again gets it [X-21]", async () => {
    const { line, engine, call, answer, record, store, uses, ran } = await cutOff({ isShared });
    expect(errorOf(answer).code).toBe("E3909");
    line.is = "up";
    expect(await engine.judgeOrphans()).toMatchObject([{ callId: "c", verdict: "completed" }]);
    expect([(await record("c"))?.closing?.status, await uses(), ran]).toEqual(["success", 1, ["c"]]);
    expect(await store.callbacks.ofCall("c")).toBeUndefined();
    expect(await call("pay", "wait", { idempotencyKey: "k" })).toMatchObject({
      status: "success",
      replayed: true,
    });
  });

  it("a call that could change only state is closed with the end that its caller was told [X-21]", async () => {
    const { line, engine, record, answer } = await cutOff({ isShared, pays: "state" });
    expect(answer.rollback).toMatchObject({ verified: true });
    line.is = "up";
    await engine.judgeOrphans();
    expect((await record("c"))?.closing?.answer).toMatchObject({ error: errorOf(answer) });
  });

  it.each([
    ["read first", "down", "ROLLED_BACK"],
    ["read again", "up", "ABORTED"],
    ["read again", "down", "ABORTED"],
  ] as const)(
    "a call that could change only state, and cannot read it (%s, %s), is closed as undone [X-21]",
    async (input, is, last) => {
      const there = await world({ isShared, pays: "state" });
      const { line, call, came, letGo, engine, record, uses, store } = there;
      const answering = call("pay", input, { callId: "c" });
      await came;
      Object.assign(line, { is, hidesState: true });
      letGo();
      const answer = await answering;
      expect([errorOf(answer).code, statesOf(answer).at(-1)]).toEqual(["E3914", last]);
      expect((await record("c"))?.phase).toBe("executing");
      Object.assign(line, { is: "up", hidesState: false });
      expect(await engine.judgeOrphans()).toMatchObject([{ callId: "c" }]);
      const told = { error: { code: "E3914" }, rollback: { verified: true } };
      expect((await record("c"))?.closing?.answer).toMatchObject(told);
      const states = (await auditOf(store)).map(({ state }) => state);
      expect([await uses(), states.slice(-3)]).toEqual([1, ["EXECUTING", "ABORTED", "ROLLED_BACK"]]);
    },
  );

  it.each(["down", "up"] as const)(
    "a second run whose intent had no answer ends as its caller was told, the store being %s by then [X-21]",
    async (then) => {
      const there = await world({
        isShared,
        timeoutMs: 200,
        slowly: ({ rerun, close }) => {
          if (rerun && there.line.is === "up") there.line.is = "losing";
          if (close) there.line.is = then;
          return undefined;
        },
      });
      const { line, call, engine, record, ran, uses } = there;
      expect(errorOf(await call("pay", "hang once", { callId: "c" })).code).toBe("E3908");
      expect((await record("c"))?.phase).toBe(then === "up" ? "closed" : "executing");
      line.is = then = "up";
      const verdicts = await engine.judgeOrphans();
      expect(verdicts.map(({ verdict }) => verdict).filter((verdict) => verdict !== "completed")).toEqual([]);
      expect((await record("c"))?.closing?.answer).toMatchObject({ error: { code: "E3908" }, attempts: 2 });
      expect([ran, await uses()]).toEqual([["c"], 1]);
    },
  );

  it("an acceptance whose answer was lost runs once, and its caller was told so [X-21]", async () => {
    const { line, engine, ran, record } = await world({ isShared });
    const order = { tool: "pay", input: {}, caller, callbackUrl };
    line.is = "losing";
    const told = await engine.accept({ ...order, idempotencyKey: "k" });
    expect(told).toMatchObject({ error: { code: "E3914", retryable: true, details: { unanswered: true } } });
    const { callId } = told;
    line.is = "up";
    expect(await engine.accept({ ...order, idempotencyKey: "k" })).toMatchObject({
      status: "pending",
      callId,
    });
    expect(await engine.claimQueued()).toBe(1);
    await expect.poll(async () => (await record(callId))?.closing?.status).toBe("success");
    expect([ran, await engine.claimQueued()]).toEqual([[callId], 0]);
    line.is = "losing";
    expect(await engine.accept(order)).toMatchObject({ error: { retryable: false } });
    line.is = "up";
  });
});

describe("an accepted call", () => {
  it("whose intent landed without an answer runs once the store is back [X-21]", async () => {
    const { line, engine, ran, record } = await world({
      slowly: (unit) => {
        if (unit.begin && ran.length === 0) line.is = "losing";
        return undefined;
      },
    });
    const { callId } = await engine.accept({ tool: "pay", input: {}, caller });
    await expect.poll(() => line.is).toBe("down");
    expect([await engine.standing(callId), ran]).toMatchObject([{ status: "running" }, []]);
    line.is = "up";
    await expect.poll(async () => (await record(callId))?.closing?.status).toBe("success");
    expect(ran).toEqual([callId]);
  });
});

describe("what a claim took whose answer was lost", () => {
  /** A process that has gone, with one call that it ran and one that a person has to approve. */
  async function left() {
    const there = await world();
    const gone = await there.open(there.store);
    const asking = { tool: "pay", input: {}, caller, requireApproval: true };
    const { callId } = await gone.engine.accept(asking);
    const { approvalId = "" } = (await there.store.approvals.ofCall(callId)) ?? {};
    void gone.call("pay", "wait", { callId: "orphan", callbackUrl });
    await there.came;
    await there.store.instances.leave(gone.engine.instance);
    return { ...there, gone, callId, approvalId };
  }

  it("is judged where it ran in a process that is gone: unknown, its uses are spent, and a person closes it [X-21]", async () => {
    const { line, engine, record, store, uses } = await left();
    line.is = "losing";
    await expect(engine.judgeOrphans()).rejects.toThrow("E3914");
    line.is = "up";
    const word = { callId: "orphan", as: "completed", by: "ada", note: "seen" } as const;
    expect(await engine.closeByPerson(word)).toMatchObject({ code: "E3918", advice: /by itself/ });
    expect(await engine.cancelCall("orphan", { reason: "no" })).toMatchObject({ message: /ask again/ });
    expect(await engine.judgeOrphans()).toMatchObject([{ callId: "orphan", verdict: "outcome_unknown" }]);
    expect(await engine.judgeOrphans()).toEqual([]);
    expect([(await record("orphan"))?.phase, await uses()]).toEqual(["unknown", 1]);
    expect(await engine.closeByPerson(word)).toMatchObject({ status: "success" });
    expect(await store.callbacks.ofCall("orphan")).toMatchObject({ state: "due" });
  });

  it("is taken up where it waits for room or was approved [X-21]", async () => {
    const { line, engine, gone, ran, record, store, callId, approvalId } = await left();
    await gone.engine.approvals.approve(approvalId, { by: "ada" });
    line.is = "losing";
    await expect(engine.claimQueued()).rejects.toThrow("E3914");
    line.is = "up";
    await store.work.claim({ kind: "approved", instance: engine.instance, limit: 9 });
    expect(await engine.claimQueued()).toBe(1);
    await expect.poll(async () => (await record(callId))?.closing?.status).toBe("success");
    expect([ran, await engine.claimQueued()]).toEqual([["orphan", callId], 0]);
  });
});

describe("a comparison", () => {
  it("leaves a call alone whose end is still under way in this process [X-21]", async () => {
    const end = Promise.withResolvers<void>();
    const { engine, call, record } = await world({
      storeMs: 20,
      slowly: (unit) => unit.close && end.promise,
    });
    expect(errorOf(await call("pay", {}, { callId: "c" })).code).toBe("E3909");
    expect(await engine.judgeOrphans()).toEqual([]);
    expect((await record("c"))?.phase).toBe("executing");
    end.resolve();
    await expect.poll(async () => (await record("c"))?.closing?.status).toBe("success");
    expect(await engine.judgeOrphans()).toEqual([]);
  });

  it("by the owner and by another process at once gives one verdict [X-21]", async () => {
    const { line, pass, store, engine, open } = await cutOff();
    const other = await open(store);
    line.is = "up";
    pass(LEASE.leaseMs + 1);
    await store.instances.renew({ instance: other.engine.instance, ttlMs: LEASE.leaseMs });
    const verdicts = await Promise.all([engine.judgeOrphans(), other.engine.judgeOrphans()]);
    expect(verdicts.flat()).toMatchObject([{ callId: "c" }]);
    const ends = (await auditOf(store)).filter(({ state }) => /UNKNOWN|COMPLETED/.test(String(state)));
    expect(ends).toHaveLength(1);
  });

  it("is made once more when the process ends, before others judge what it leaves [X-21]", async () => {
    const { line, engine, record } = await cutOff();
    line.is = "up";
    await engine.close();
    expect((await record("c"))?.closing?.status).toBe("success");
  });

  it("that is under way when the process ends is waited for, and made once more [X-21]", async () => {
    const there = await world({ followMs: 5 });
    const { line, engine, call, record, came, letGo } = there;
    const answer = call("pay", "wait", { callId: "c" });
    await came;
    const [looks, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    line.look = () => {
      looks.resolve();
      return gate.promise;
    };
    await looks.promise;
    line.is = "down";
    letGo();
    expect(errorOf(await answer).code).toBe("E3909");
    line.is = "up";
    setTimeout(gate.resolve, 100);
    await engine.close();
    expect((await record("c"))?.closing?.status).toBe("success");
  });

  it("waits with an end while the store takes nothing, and calls unknown what it never takes [X-21]", async () => {
    const full = { is: false };
    const { line, engine, call, record } = await cutOff({
      slowly: (unit) =>
        full.is || unit.close?.closing?.status === "success" ? Promise.reject(new Error("full")) : undefined,
    });
    full.is = true;
    line.is = "up";
    for (const _ of Array(9)) await expect(engine.judgeOrphans()).rejects.toThrow("full");
    full.is = false;
    line.is = "losing";
    await call("pay", {}, { callId: "d" });
    line.is = "up";
    expect(await engine.judgeOrphans()).toMatchObject([
      { callId: "c", verdict: "outcome_unknown" },
      { callId: "d", verdict: "never_started" },
    ]);
    expect((await record("c"))?.phase).toBe("unknown");
  });

  it("is made by the process itself, so that nobody has to ask for it [X-21]", async () => {
    const { line, record } = await cutOff({ followMs: 5 });
    line.is = "up";
    await expect.poll(async () => (await record("c"))?.phase, { timeout: 30_000 }).toBe("closed");
  });
});
