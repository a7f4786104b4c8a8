import { describe, expect, it } from "vitest";
import { createMemoryStore } from "../memory/store.ts";
import type { Store } from "../ports/store.ts";
import {
  auditOf,
  errorOf,
  type Fixture,
  type FixtureTool,
  fixtureEngine,
} from "../testing/fixture-engine.ts";
import { moved, sampleApproval, unitOf } from "../testing/store-samples.ts";

/** A store that several processes share, with a clock of its own. */
function shared() {
  let now = 1_767_225_600_000;
  const store = createMemoryStore({ isShared: true, clock: { now: () => now } });
  const pass = (ms: number) => {
    now += ms;
  };
  return { store, pass };
}

const LEASE = { leaseMs: 15_000, renewMs: 5_000 };

/** A tool that stays until it is let go. */
function held(conduct: object): FixtureTool & { came: Promise<void>; letGo(): void } {
  const [came, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const run: FixtureTool["run"] = async () => {
    came.resolve();
    await gate.promise;
    return "done";
  };
  return { id: "pay", conduct, run, came: came.promise, letGo: () => gate.resolve() };
}

/** An engine that has begun the call `cut`, and others on the same store. */
async function late(sideEffects: string, others = 1) {
  const { store, pass } = shared();
  const tool = held({ sideEffects });
  const owner = await fixtureEngine({ store, lease: LEASE }, [tool]);
  const answer = owner.call("pay", { n: 1 }, { callId: "cut", idempotencyKey: "k" });
  await tool.came;
  const next: Fixture[] = [];
  for (let count = 0; count < others; count += 1)
    next.push(await fixtureEngine({ store, lease: LEASE }, [{ ...tool, run: () => "again" }]));
  return { store, pass, tool, owner, answer, next, close: () => closeAll([owner, ...next]) };
}

async function closeAll(fixtures: readonly Fixture[]): Promise<void> {
  for (const { engine } of fixtures) await engine.close();
}

/** The lease of every instance but these has expired; theirs are renewed. */
async function expire({ store, pass }: { store: Store; pass(ms: number): void }, live: readonly string[]) {
  pass(LEASE.leaseMs + 1);
  for (const instance of live) await store.instances.renew({ instance, ttlMs: LEASE.leaseMs });
}

async function instancesOf(store: Store): Promise<string[]> {
  return (await store.instances.list()).map(({ instance }) => instance);
}

describe("a call that runs in one process [X-5]", () => {
  it("is nobody else's to judge while the lease of its owner lasts", async () => {
    const { store, tool, answer, next, close } = await late("external");
    for (const { engine } of next) {
      expect(await engine.recover()).toEqual([]);
      expect(await engine.judgeOrphans()).toEqual([]);
    }
    tool.letGo();
    expect((await answer).status).toBe("success");
    expect((await store.calls.get("cut"))?.closing?.status).toBe("success");
    await close();
  });

  it.each([
    { sideEffects: "state", verdict: "never_started", standing: "error" },
    { sideEffects: "external", verdict: "outcome_unknown", standing: "unknown" },
  ])("is judged once its owner is gone, and the late owner is told so: $sideEffects [D-4]", async (given) => {
    const fleet = await late(given.sideEffects, 2);
    const { store, tool, answer, next, close } = fleet;
    await expire(fleet, (await instancesOf(store)).slice(1));
    const judged = await Promise.all(next.map(({ engine }) => engine.judgeOrphans()));
    expect(judged.flat()).toMatchObject([{ callId: "cut", verdict: given.verdict }]);
    const before = [await store.calls.get("cut"), await auditOf(store)];
    tool.letGo();
    const told = await answer;
    expect(errorOf(told)).toMatchObject({
      code: "E3923",
      details: { callId: "cut", standing: given.standing },
    });
    expect([await store.calls.get("cut"), await auditOf(store)]).toEqual(before);
    await close();
  });

  it("is fenced from when another process has claimed it, before there is a verdict", async () => {
    const fleet = await late("state");
    const { store, tool, answer, close } = fleet;
    const [, second = ""] = await instancesOf(store);
    await expire(fleet, [second]);
    const [orphan] = await store.work.claim({ kind: "orphan", instance: second, limit: 1 });
    tool.letGo();
    expect(errorOf(await answer)).toMatchObject({ code: "E3923", details: { standing: "executing" } });
    expect(await store.calls.get("cut")).toEqual(orphan);
    await close();
  });

  it("stays its owner's that comes back late, when nobody has claimed it meanwhile", async () => {
    const fleet = await late("state");
    const { store, tool, answer, next, close } = fleet;
    const [first = "", second = ""] = await instancesOf(store);
    await expire(fleet, [second]);
    await store.instances.renew({ instance: first, ttlMs: LEASE.leaseMs });
    expect(await next[0]?.engine.judgeOrphans()).toEqual([]);
    tool.letGo();
    expect((await answer).status).toBe("success");
    await close();
  });
});

describe("each try of a call", () => {
  it("has a run id of its own, which the journal holds [X-5]", async () => {
    const runs: string[] = [];
    const { store } = shared();
    const conduct = { sideEffects: "state", idempotent: true, limits: { timeoutMs: 100, memoryBytes: 1e9 } };
    const { call, engine } = await fixtureEngine({ store, retry: { baseDelayMs: 1 } }, [
      {
        id: "flaky",
        conduct,
        run: async (_input, { callId }) => {
          const record = await store.calls.get(callId);
          runs.push(`${record?.attempt} ${record?.runId}`);
          return runs.length < 3 ? new Promise(() => undefined) : "done";
        },
      },
    ]);
    const answer = await call("flaky", {}, { callId: "tried" });
    expect(answer).toMatchObject({ status: "success", attempts: 3 });
    expect(runs.map((run) => run.split(" ")[0])).toEqual(["1", "2", "3"]);
    expect(new Set(runs.map((run) => run.split(" ")[1])).size).toBe(3);
    await engine.close();
  });
});

describe("work that one process does for all [X-5]", () => {
  it("expires a question and gives a reservation back once, without noise from the others", async () => {
    const { store } = shared();
    const gone = { state: "reserved", owner: "gone", until: 9_000_000_000_000 } as const;
    const [reserved, overdue] = [sampleApproval({ expiresAt: 9_000_000_000_000 }), sampleApproval()];
    await store.commit(unitOf({ approvals: [{ record: reserved }, { record: overdue }] }));
    const record = { ...moved(reserved, "reserved"), standing: gone };
    await store.commit(unitOf({ approvals: [{ record, expect: 1 }] }));
    const engines: Fixture[] = [];
    for (let count = 0; count < 3; count += 1) engines.push(await fixtureEngine({ store, lease: LEASE }));
    await Promise.all(engines.map(({ engine }) => engine.judgeOrphans()));
    expect((await store.approvals.get(reserved.approvalId))?.revision).toBe(3);
    await closeAll(engines);
  });
});
