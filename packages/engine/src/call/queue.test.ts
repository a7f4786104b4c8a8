import { setTimeout as sleep } from "node:timers/promises";
import { type Accepted, type CallAnswer, failure, isFailure } from "@sallyport/protocol";
import { describe, expect, it } from "vitest";
import { createMemoryStore } from "../memory/index.ts";
import type { Authority, Decision } from "../ports/authority.ts";
import type { Store } from "../ports/store.ts";
import { type Fixture, type FixtureTool, fixtureEngine } from "../testing/fixture-engine.ts";
import type { CallNews } from "./live-feed.ts";

const caller = { tenant: "acme", agent: "agent" };

function order(tool: string, more: object = {}) {
  return { tool, input: {}, caller, ...more };
}

function accepted(end: CallAnswer | Accepted): Accepted {
  if (!("acceptedAt" in end)) throw new Error(`not accepted: ${JSON.stringify(end)}`);
  return end;
}

/** A tool that runs until it is let go, and says who came in which order. */
function gated(id = "slow", conduct: object = { sideEffects: "external" }) {
  const came: string[] = [];
  const gates = new Map<string, PromiseWithResolvers<void>>();
  const gate = (name: string) => {
    const known = gates.get(name) ?? Promise.withResolvers<void>();
    gates.set(name, known);
    return known;
  };
  const tool: FixtureTool = {
    id,
    conduct,
    run: async (input: { name?: string }, context) => {
      came.push(input.name ?? "");
      context.signal.addEventListener("abort", () => gate(input.name ?? "").resolve());
      await gate(input.name ?? "").promise;
      context.signal.throwIfAborted();
      return { name: input.name ?? "" };
    },
  };
  return { tool, came, open: (name = "") => gate(name).resolve() };
}

async function ended({ engine }: Fixture, callId: string): Promise<CallAnswer> {
  for (let look = 0; look < 4_000; look += 1) {
    const standing = await engine.standing(callId);
    if (standing && "answer" in standing) return standing.answer;
    await sleep(10);
  }
  throw new Error(`${callId} has not ended`);
}

async function until(holds: () => boolean): Promise<void> {
  for (let look = 0; look < 8_000 && !holds(); look += 1) await sleep(5);
  expect(holds()).toBe(true);
}

describe("an accepted call", () => {
  it("is on record before anybody is told, runs by itself and has one outcome [L3-EXE-5]", async () => {
    const slow = gated();
    const fixture = await fixtureEngine({}, [slow.tool]);
    const { engine, store } = fixture;
    const { status, callId, version } = accepted(await engine.accept(order("slow")));
    expect([status, version]).toEqual(["pending", "1.0.0"]);
    expect((await store.calls.get(callId))?.phase).toMatch(/queued|executing/);
    await until(() => slow.came.length === 1);
    expect((await engine.standing(callId))?.status).toBe("running");
    slow.open();
    expect(await ended(fixture, callId)).toMatchObject({
      status: "success",
      result: { name: "" },
      attempts: 1,
    });
    expect(await store.queue.list({ limit: 10 })).toEqual([]);
    await engine.close();
  });

  it("is refused at once when it may not run, and nothing is queued", async () => {
    const { engine, store } = await fixtureEngine({}, [{ id: "t", input: { type: "number" }, run: () => 1 }]);
    expect(await engine.accept(order("t"))).toMatchObject({ status: "error", error: { code: "E3901" } });
    expect(await engine.accept(order("nobody"))).toMatchObject({ error: { code: "E3001" } });
    expect(await store.queue.list({ limit: 10 })).toEqual([]);
    await engine.close();
  });

  it("survives the process that accepted it and runs exactly once in the next [L3-EXE-5]", async () => {
    const store = createMemoryStore();
    const slow = gated();
    const first = await fixtureEngine({ store, admission: { total: 1 } }, [slow.tool]);
    const running = accepted(await first.engine.accept(order("slow", { input: { name: "a" } })));
    await until(() => slow.came.length === 1);
    const left = accepted(await first.engine.accept(order("slow", { input: { name: "b" } })));
    const drained = first.engine.drain({ withinMs: 2_000 });
    slow.open("a");
    expect(await drained).toEqual({ finished: 1, cut: 0 });
    expect((await store.calls.get(running.callId))?.closing?.status).toBe("success");
    expect((await store.calls.get(left.callId))?.phase).toBe("queued");

    const again = gated();
    const second = await fixtureEngine({ store }, [again.tool]);
    await second.engine.recover();
    expect(await second.engine.takeUp()).toBe(1);
    expect(await second.engine.takeUp()).toBe(0);
    again.open("b");
    expect(await ended(second, left.callId)).toMatchObject({ status: "success", result: { name: "b" } });
    expect([slow.came, again.came]).toEqual([["a"], ["b"]]);
    await second.engine.close();
  });

  it("is taken once when two processes take up the same queue", async () => {
    const store = createMemoryStore();
    const blocked = gated();
    const first = await fixtureEngine({ store, admission: { total: 1 } }, [blocked.tool]);
    await first.engine.accept(order("slow"));
    await until(() => blocked.came.length === 1);
    const { callId } = accepted(await first.engine.accept(order("slow", { input: { name: "b" } })));
    const [one, two] = [gated(), gated()];
    const others = [await fixtureEngine({ store }, [one.tool]), await fixtureEngine({ store }, [two.tool])];
    await Promise.all(others.map(({ engine }) => engine.takeUp()));
    await until(() => one.came.length + two.came.length === 1);
    for (const each of [one, two]) each.open("b");
    const [other] = others;
    if (!other) throw new Error("no engine");
    expect((await ended(other, callId)).status).toBe("success");
    expect(one.came.length + two.came.length).toBe(1);
    for (const { engine } of [...others, first]) await engine.close();
  });

  it("waits behind more urgent ones, but not for ever [L3-EXE-4]", async () => {
    let now = 1_000_000;
    const slow = gated();
    const fixture = await fixtureEngine(
      { clock: { now: () => now }, admission: { total: 1, agingMs: 1_000 } },
      [slow.tool],
    );
    const accept = (name: string, priority: string) =>
      fixture.engine.accept(order("slow", { input: { name }, priority }));
    await accept("first", "normal");
    await until(() => slow.came.length === 1);
    await accept("old low", "low");
    await until(() => fixture.engine.load().queued === 1);
    now += 5_000;
    await accept("normal", "normal");
    await accept("high", "high");
    await until(() => fixture.engine.load().queued === 3);
    for (const name of ["first", "old low", "high", "normal"]) slow.open(name);
    await until(() => slow.came.length === 4);
    expect(slow.came).toEqual(["first", "old low", "high", "normal"]);
    await fixture.engine.close();
  });

  it("leaves room for callers who wait for their answer", async () => {
    const slow = gated();
    const { engine } = await fixtureEngine({ admission: { total: 3, patient: 1, perAgent: 3 } }, [
      slow.tool,
      { id: "quick", run: () => "now" },
    ]);
    for (const name of ["a", "b", "c"]) await engine.accept(order("slow", { input: { name } }));
    await until(() => slow.came.length === 1);
    expect(await engine.call(order("quick"))).toMatchObject({ status: "success", result: "now" });
    expect(engine.load()).toMatchObject({ running: 1, queued: 2 });
    await engine.close();
  });

  it("runs at most three of one agent's four places, however many wait [L3-EXE-4]", async () => {
    const slow = gated();
    const { engine } = await fixtureEngine({}, [slow.tool, { id: "quick", run: () => 1 }]);
    for (let index = 0; index < 9; index += 1) {
      await engine.accept(order("slow", { input: { name: `${index}` } }));
    }
    await engine.accept({
      ...order("slow", { input: { name: "other" } }),
      caller: { ...caller, agent: "b" },
    });
    await until(() => slow.came.length === 4);
    await sleep(20);
    expect(slow.came).toEqual(["0", "1", "2", "other"]);
    expect(await engine.call(order("quick"))).toMatchObject({ status: "success" });
    slow.open("2");
    await until(() => slow.came.length === 5);
    await engine.close();
  });

  it("is refused when too many wait already, with a code that says try later", async () => {
    const slow = gated();
    const { engine } = await fixtureEngine({ admission: { total: 1 }, limits: { queued: 1 } }, [slow.tool]);
    await engine.accept(order("slow", { input: { name: "runs" } }));
    await until(() => slow.came.length === 1);
    accepted(await engine.accept(order("slow", { input: { name: "waits" } })));
    await until(() => engine.load().queued === 1);
    expect(await engine.accept(order("slow"))).toMatchObject({ error: { code: "E3910", retryable: true } });
    await engine.close();
  });

  it("is decided about anew when its turn comes: what was revoked meanwhile does not run", async () => {
    let outcome: Decision["outcome"] = "allow";
    const authority: Authority = {
      decide: () => ({ outcome, reason: "so", rules: [], capabilities: [], missing: [], policyVersion: "1" }),
    };
    const slow = gated();
    const fixture = await fixtureEngine({ authority, admission: { total: 1 } }, [slow.tool]);
    await fixture.engine.accept(order("slow", { input: { name: "first" } }));
    await until(() => slow.came.length === 1);
    const denied = accepted(await fixture.engine.accept(order("slow", { input: { name: "second" } })));
    const asked = accepted(await fixture.engine.accept(order("slow", { input: { name: "third" } })));
    outcome = "deny";
    slow.open("first");
    expect(await ended(fixture, denied.callId)).toMatchObject({ status: "permission_denied" });
    outcome = "ask";
    expect((await ended(fixture, asked.callId)).status).toBe("permission_denied");
    expect(slow.came).toEqual(["first"]);
    await fixture.engine.close();
  });
});

describe("an accepted call that is refused when its turn comes", () => {
  it("ends with that refusal, once", async () => {
    const slow = gated();
    const fixture = await fixtureEngine({ admission: { total: 1 } }, [slow.tool, { id: "t", run: () => 1 }]);
    await fixture.engine.accept(order("slow"));
    await until(() => slow.came.length === 1);
    const { callId } = accepted(await fixture.engine.accept(order("t")));
    fixture.engine.adjust({ toolRules: (tool) => ({ enabled: tool !== "t" }) });
    slow.open();
    expect(await ended(fixture, callId)).toMatchObject({ status: "error", error: { code: "E3014" } });
    expect(await fixture.store.queue.list({ limit: 1 })).toEqual([]);
    await fixture.engine.close();
  });
});

describe("what can go wrong on the way", () => {
  it("a background call that is tried again gives its place back first", async () => {
    let tries = 0;
    const flaky: FixtureTool = {
      id: "flaky",
      conduct: { sideEffects: "none", idempotent: true, limits: { timeoutMs: 300 } },
      run: async (_input, { signal }) => {
        tries += 1;
        if (tries < 3) await new Promise((resolve) => signal.addEventListener("abort", resolve));
        return tries;
      },
    };
    const fixture = await fixtureEngine(
      { admission: { total: 1 }, retry: { baseDelayMs: 1, maxDelayMs: 2 } },
      [flaky],
    );
    const { callId } = accepted(await fixture.engine.accept(order("flaky")));
    expect(await ended(fixture, callId)).toMatchObject({ status: "success", result: 3, attempts: 3 });
    await fixture.engine.close();
  });

  it("an approval answered where nobody runs calls leaves the call for who does", async () => {
    const store = createMemoryStore();
    const tool = { id: "t", run: () => "done" };
    const server = await fixtureEngine({ store }, [tool]);
    const { callId } = await server.engine.accept(order("t", { requireApproval: true }));
    await server.engine.close();
    const desk = await fixtureEngine({ store }, [tool]);
    const { approvalId = "" } = (await store.approvals.ofCall(callId)) ?? {};
    await desk.engine.approvals.approve(approvalId, { by: "ada" });
    await desk.engine.close();
    expect((await store.calls.get(callId))?.phase).toBe("waiting");
    const next = await fixtureEngine({ store }, [tool]);
    await next.engine.takeUp();
    expect(await ended(next, callId)).toMatchObject({ status: "success" });
    await next.engine.close();
  });

  it("an approved call whose policy cannot be asked is tried again and runs", async () => {
    let isAway = false;
    const authority: Authority = {
      decide: () => {
        if (isAway) throw new Error("away");
        return {
          outcome: "allow",
          reason: "so",
          rules: [],
          capabilities: [],
          missing: [],
          policyVersion: "1",
        };
      },
    };
    const fixture = await fixtureEngine({ authority }, [{ id: "t", run: () => "done" }]);
    const { callId } = await fixture.engine.accept(order("t", { requireApproval: true }));
    const { approvalId = "" } = (await fixture.store.approvals.ofCall(callId)) ?? {};
    isAway = true;
    await fixture.engine.approvals.approve(approvalId, { by: "ada" });
    await sleep(100);
    expect((await fixture.engine.standing(callId))?.status).toBe("pending_approval");
    isAway = false;
    expect(await ended(fixture, callId)).toMatchObject({ status: "success" });
    await fixture.engine.close();
  });

  it("an approved call that is refused for good ends, and its approval with it", async () => {
    const fixture = await fixtureEngine({}, [{ id: "t", run: () => "done" }]);
    const { callId } = await fixture.engine.accept(order("t", { requireApproval: true }));
    const { approvalId = "" } = (await fixture.store.approvals.ofCall(callId)) ?? {};
    fixture.engine.adjust({ toolRules: () => ({ enabled: false }) });
    await fixture.engine.approvals.approve(approvalId, { by: "ada" });
    expect(await ended(fixture, callId)).toMatchObject({ error: { code: "E3014" } });
    expect((await fixture.engine.approvals.get(approvalId))?.standing.state).toBe("void");
    await fixture.engine.close();
  });

  it("a call that is cancelled while it is put on record does not run", async () => {
    const slow = gated();
    const store = createMemoryStore();
    const commit = store.commit.bind(store);
    const gate = Promise.withResolvers<void>();
    store.commit = async (unit) => {
      const result = await commit(unit);
      if (unit.enqueue) await gate.promise;
      return result;
    };
    const fixture = await fixtureEngine({ store }, [slow.tool]);
    const accepting = fixture.engine.accept(order("slow", { callId: "c-1" }));
    await sleep(10);
    fixture.engine.cancel("c-1", "changed my mind");
    gate.resolve();
    expect(await accepting).toMatchObject({ status: "cancelled" });
    await sleep(30);
    expect(slow.came).toEqual([]);
    await fixture.engine.close();
  });

  it("a write that was given up as lost and landed is found, so that nothing is done twice", async () => {
    const store = createMemoryStore();
    const commit = store.commit.bind(store);
    let losing = true;
    store.commit = async (unit) => {
      const result = await commit(unit);
      if (losing && (unit.enqueue || unit.begin)) throw new Error("lost");
      return result;
    };
    const slow = gated();
    const fixture = await fixtureEngine({ store }, [slow.tool]);
    const { callId } = accepted(await fixture.engine.accept(order("slow")));
    const answer = await ended(fixture, callId);
    losing = false;
    expect(answer).toMatchObject({ status: "error", error: { code: "E3908" } });
    expect(slow.came).toEqual([]);
    await fixture.engine.close();
  });

  it("many requests at once do not pass the bound of the queue, and one agent leaves half of it to others", async () => {
    const slow = gated();
    const { engine, store } = await fixtureEngine({ admission: { total: 1 }, limits: { queued: 6 } }, [
      slow.tool,
    ]);
    await engine.accept(order("slow", { input: { name: "runs" } }));
    await until(() => slow.came.length === 1);
    const many = (agent: string) =>
      Promise.all(
        Array.from({ length: 20 }, () => engine.accept({ ...order("slow"), caller: { ...caller, agent } })),
      );
    await many("a");
    await until(() => engine.load().queued > 0);
    await many("a");
    const ofA = (await store.queue.list({ limit: 100 })).length;
    await many("b");
    expect((await store.queue.list({ limit: 100 })).length).toBeLessThanOrEqual(6);
    expect(ofA).toBe(3);
    await engine.close();
  });
});

describe("cancelling", () => {
  it("ends a queued call before it runs, says so again, and keeps it on record [L3-API-2]", async () => {
    const slow = gated();
    const fixture = await fixtureEngine({ admission: { total: 1 } }, [slow.tool]);
    const { engine } = fixture;
    await engine.accept(order("slow", { input: { name: "a" } }));
    await until(() => slow.came.length === 1);
    const { callId } = accepted(await engine.accept(order("slow", { input: { name: "b" } })));
    await until(() => engine.load().queued === 1);
    expect(await engine.cancelCall(callId, { reason: "no longer needed" })).toMatchObject({
      cancelled: true,
    });
    expect(await ended(fixture, callId)).toMatchObject({ status: "cancelled", error: { code: "E3906" } });
    expect(await engine.cancelCall(callId, { reason: "again" })).toMatchObject({
      cancelled: true,
      message: "Already cancelled.",
    });
    slow.open("a");
    await sleep(20);
    expect(slow.came).toEqual(["a"]);
    expect(await engine.cancelCall("nobody", { reason: "x" })).toBeUndefined();
    await engine.close();
  });

  it("ends a running one, and leaves one that has completed as it is [L3-API-2]", async () => {
    const slow = gated();
    const fixture = await fixtureEngine({}, [slow.tool]);
    const { callId } = accepted(await fixture.engine.accept(order("slow")));
    await until(() => slow.came.length === 1);
    expect(await fixture.engine.cancelCall(callId, { reason: "enough" })).toMatchObject({ cancelled: true });
    expect((await ended(fixture, callId)).status).toBe("cancelled");
    const done = await fixture.call(
      "slow",
      { name: "x" },
      { asyncMode: true, signal: AbortSignal.timeout(20) },
    );
    expect(await fixture.engine.cancelCall(done.callId, { reason: "late" })).toMatchObject({
      cancelled: true,
    });
    await fixture.engine.close();
  });

  it("takes back the question of one that waits for a person", async () => {
    const { engine, store } = await fixtureEngine({}, [{ id: "t", run: () => 1 }]);
    const answer = await engine.accept(order("t", { requireApproval: true }));
    expect(answer.status).toBe("pending_approval");
    expect(await engine.cancelCall(answer.callId, { reason: "no" })).toMatchObject({ cancelled: true });
    expect((await store.approvals.ofCall(answer.callId))?.standing.state).toBe("withdrawn");
    expect(await engine.standing(answer.callId)).toMatchObject({ status: "cancelled" });
    await engine.close();
  });
});

describe("asking twice", () => {
  async function queuedWithKey(fixture: Fixture, key: string) {
    return accepted(await fixture.engine.accept(order("slow", { idempotencyKey: key })));
  }

  it("is the same call, whether it is queued, runs or has ended [L3-API-1]", async () => {
    const slow = gated();
    const fixture = await fixtureEngine({ admission: { total: 1 } }, [slow.tool]);
    const { engine } = fixture;
    const first = await queuedWithKey(fixture, "k");
    expect((await queuedWithKey(fixture, "k")).callId).toBe(first.callId);
    await until(() => slow.came.length === 1);
    expect(await queuedWithKey(fixture, "k")).toMatchObject({ callId: first.callId, status: "running" });
    const waitsForIt = engine.call(order("slow", { idempotencyKey: "k" }));
    expect(await engine.accept(order("slow", { idempotencyKey: "k", input: { name: "z" } }))).toMatchObject({
      error: { code: "E3904" },
    });
    slow.open();
    expect(await waitsForIt).toMatchObject({ status: "success", callId: first.callId, replayed: true });
    expect(await engine.accept(order("slow", { idempotencyKey: "k" }))).toMatchObject({ replayed: true });
    expect(slow.came).toHaveLength(1);
    await engine.close();
  });

  it("runs once when many ask at the same time", async () => {
    const slow = gated();
    const fixture = await fixtureEngine({}, [slow.tool]);
    const ends = await Promise.all(Array.from({ length: 20 }, () => queuedWithKey(fixture, "k")));
    expect(new Set(ends.map(({ callId }) => callId)).size).toBe(1);
    slow.open();
    await ended(fixture, ends[0]?.callId ?? "");
    expect(slow.came).toHaveLength(1);
    await fixture.engine.close();
  });

  it("by call id is the same call too, and another body is refused", async () => {
    const slow = gated();
    const fixture = await fixtureEngine({}, [slow.tool]);
    const { engine } = fixture;
    for (let ask = 0; ask < 3; ask += 1) accepted(await engine.accept(order("slow", { callId: "c-1" })));
    expect(await engine.accept(order("slow", { callId: "c-1", input: { name: "z" } }))).toMatchObject({
      error: { code: "E3905" },
    });
    slow.open();
    expect((await ended(fixture, "c-1")).status).toBe("success");
    await engine.close();
  });
});

describe("a call that needs approval", () => {
  it("goes on by itself once a person has said yes, when nobody waits for it", async () => {
    const fixture = await fixtureEngine({}, [{ id: "t", run: () => "done" }]);
    const { engine } = fixture;
    await engine.takeUp();
    const answer = await engine.call(
      order("t", { requireApproval: true, onApproval: "pending", unattended: true }),
    );
    const approvalId = answer.approval?.approvalId ?? "";
    expect(isFailure(await engine.approvals.approve(approvalId, { by: "ada" }))).toBe(false);
    expect(await ended(fixture, answer.callId)).toMatchObject({ status: "success", result: "done" });
    await engine.close();
  });

  it("is taken up by the next process when it was approved and not begun", async () => {
    const store = createMemoryStore();
    const first = await fixtureEngine({ store }, [{ id: "t", run: () => "done" }]);
    const answer = await first.engine.accept(order("t", { requireApproval: true }));
    await first.engine.close();
    const desk = await fixtureEngine({ store }, [{ id: "t", run: () => "done" }]);
    const approval = await store.approvals.ofCall(answer.callId);
    await desk.engine.drain({ withinMs: 0 });
    await desk.engine.approvals.approve(approval?.approvalId ?? "", { by: "ada" });
    const second = await fixtureEngine({ store }, [{ id: "t", run: () => "done" }]);
    expect(await second.engine.takeUp()).toBe(1);
    expect((await ended(second, answer.callId)).status).toBe("success");
    await second.engine.close();
  });

  it("stays where it is when its caller will ask for it", async () => {
    const { engine } = await fixtureEngine({}, [{ id: "t", run: () => "done" }]);
    const answer = await engine.call(order("t", { requireApproval: true, onApproval: "pending" }));
    await engine.approvals.approve(answer.approval?.approvalId ?? "", { by: "ada" });
    await sleep(20);
    expect((await engine.standing(answer.callId))?.status).toBe("pending_approval");
    await engine.close();
  });
});

describe("whoever wants to be told", () => {
  const callbackUrl = "https://example.com/hook";
  const dueNow = (store: Store) => store.callbacks.due(Number.MAX_SAFE_INTEGER, 10);

  it("is told of every end of an accepted call, in the unit that records it", async () => {
    const slow = gated();
    const fixture = await fixtureEngine({}, [
      slow.tool,
      { id: "bad", run: () => Promise.reject(new Error("no")) },
    ]);
    const { engine, store } = fixture;
    const good = accepted(await engine.accept(order("slow", { callbackUrl })));
    const bad = accepted(await engine.accept(order("bad", { callbackUrl })));
    await until(() => slow.came.length === 1);
    slow.open();
    await ended(fixture, good.callId);
    await ended(fixture, bad.callId);
    const cancelled = await engine.accept(order("slow", { callbackUrl, requireApproval: true }));
    await engine.cancelCall(cancelled.callId, { reason: "no" });
    const due = await dueNow(store);
    expect(due.map(({ callId }) => callId).sort()).toEqual(
      [good, bad, cancelled].map((c) => c.callId).sort(),
    );
    expect(due[0]).toMatchObject({ url: callbackUrl, attempts: 0, state: "due" });
    await engine.close();
  });

  it("is told of a call that an earlier process left open", async () => {
    const store = createMemoryStore();
    const slow = gated("slow", { sideEffects: "state" });
    const first = await fixtureEngine({ store }, [slow.tool]);
    const { callId } = accepted(await first.engine.accept(order("slow", { callbackUrl })));
    await until(() => slow.came.length === 1);
    const second = await fixtureEngine({ store }, [slow.tool]);
    await second.engine.recover();
    expect(await dueNow(store)).toMatchObject([{ callId }]);
    slow.open();
    await first.engine.close();
    await second.engine.close();
    expect(await dueNow(store)).toHaveLength(1);
  });

  it("is not told what was answered at once", async () => {
    const { engine, store } = await fixtureEngine({}, [{ id: "t", run: () => 1 }]);
    await engine.call(order("t", { callbackUrl }));
    expect(await dueNow(store)).toEqual([]);
    await engine.close();
  });
});

describe("watching", () => {
  it("gives every state, the progress and the end, in order", async () => {
    const fixture = await fixtureEngine({}, [
      {
        id: "steps",
        run: (_input, context) => {
          context.progress(40, "reading");
          return 1;
        },
      },
    ]);
    const { engine } = fixture;
    const { callId } = accepted(await engine.accept(order("steps")));
    const feed = engine.watch(callId);
    await ended(fixture, callId);
    await until(() => feed?.ended === true);
    const words = feed?.after(0).map((news: CallNews) => ("state" in news ? news.state : news.kind));
    expect(words).toEqual([
      ...["QUEUED", "DECLARED", "VALIDATED", "AUTHORIZED", "EXECUTING"],
      ...["progress", "COMPLETED", "ended"],
    ]);
    expect(feed?.after(feed.last - 1)).toMatchObject([{ kind: "ended", status: "success" }]);
    await engine.close();
  });

  it("is not misled by another request that claims the same call id", async () => {
    const slow = gated();
    const fixture = await fixtureEngine({}, [slow.tool]);
    const { engine } = fixture;
    await engine.accept(order("slow", { callId: "c-1" }));
    await until(() => slow.came.length === 1);
    await engine.call(order("slow", { callId: "c-1", input: { name: "other" } }));
    expect(engine.watch("c-1")?.ended).toBe(false);
    slow.open();
    await ended(fixture, "c-1");
    await engine.close();
  });
});

describe("an operator's word about a tool", () => {
  it("switches it off and on, and shortens its time, while the engine is open", async () => {
    const { engine } = await fixtureEngine({}, [
      { id: "t", run: (_input, context) => context.deadlineAt - Date.now() },
    ]);
    engine.adjust({ toolRules: (tool) => (tool === "t" ? { enabled: false } : undefined) });
    expect(await engine.call(order("t"))).toMatchObject({ error: { code: "E3014" } });
    engine.adjust({ toolRules: () => ({ timeoutMs: 1_000 }) });
    const answer = await engine.call(order("t"));
    if (answer.status !== "success") throw new Error(failure("E3900").message);
    expect(answer.result).toBeLessThanOrEqual(1_000);
    await engine.close();
  });
});
