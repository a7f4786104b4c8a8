import { setTimeout as sleep } from "node:timers/promises";
import type { Accepted, CallAnswer } from "@sallyport/protocol";
import { describe, expect, it, onTestFinished } from "vitest";
import { unanswered } from "../journal/bounded-store.ts";
import { MemoryBus } from "../memory/platform.ts";
import { createMemoryStore } from "../memory/store.ts";
import type { Decision } from "../ports/authority.ts";
import type { Store } from "../ports/store.ts";
import type { CallNews } from "../running/live-feed.ts";
import { crashed, type Fixture, type FixtureTool, fixtureEngine } from "../testing/fixture-engine.ts";
import { contentsOf } from "../testing/store-samples.ts";

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

/** An engine that is closed after the test. */
async function opened(...args: Parameters<typeof fixtureEngine>): Promise<Fixture> {
  const fixture = await fixtureEngine(...args);
  onTestFinished(() => fixture.engine.close());
  return fixture;
}

/** An engine with one slot, which a call of `slow` named "first" has. */
async function busy(options: Parameters<typeof fixtureEngine>[0] = {}, tools: FixtureTool[] = []) {
  const slow = gated();
  const fixture = await opened({ admission: { total: 1 }, ...options }, [slow.tool, ...tools]);
  const accept = async (name: string, more: object = {}) =>
    accepted(await fixture.engine.accept(order("slow", { input: { name }, ...more })));
  const first = await accept("first");
  await until(() => slow.came.length === 1);
  return { ...fixture, slow, accept, first };
}

/** Decides as it is told, or throws. */
function changeable() {
  const authority = {
    outcome: "allow" as Decision["outcome"] | "away",
    decide(): Decision {
      const { outcome } = authority;
      if (outcome === "away") throw new Error("away");
      return { outcome, reason: "so", rules: [], capabilities: [], missing: [], policyVersion: "1" };
    },
  };
  return authority;
}

const done = { id: "t", run: () => "done" };

/** A call that nobody waits for and that a person has to approve. */
async function askedFor({ engine, store }: Fixture) {
  const { callId } = await engine.accept(order("t", { requireApproval: true }));
  const { approvalId = "" } = (await store.approvals.ofCall(callId)) ?? {};
  return { callId, approvalId };
}

describe("an accepted call", () => {
  it("is on record before anybody is told, runs by itself and has one outcome [L3-EXE-5]", async () => {
    const slow = gated();
    const fixture = await opened({}, [slow.tool]);
    const { engine, store } = fixture;
    const { status, callId, version } = accepted(await engine.accept(order("slow")));
    expect([status, version]).toEqual(["pending", "1.0.0"]);
    expect((await store.calls.get(callId))?.phase).toMatch(/queued|executing/);
    await until(() => slow.came.length === 1);
    expect((await engine.standing(callId))?.status).toBe("running");
    slow.open();
    const answer = { status: "success", result: { name: "" }, attempts: 1 };
    expect(await ended(fixture, callId)).toMatchObject(answer);
    expect(await store.queue.size()).toBe(0);
  });

  it("is refused at once when it may not run, and nothing is queued", async () => {
    const { engine, store } = await opened({}, [{ id: "t", input: { type: "number" }, run: () => 1 }]);
    expect(await engine.accept(order("t"))).toMatchObject({ status: "error", error: { code: "E3901" } });
    expect(await engine.accept(order("nobody"))).toMatchObject({ error: { code: "E3001" } });
    expect(await store.queue.size()).toBe(0);
  });

  it("survives the process that accepted it and runs exactly once in the next [L3-EXE-5]", async () => {
    const { engine, store, slow, accept, first } = await busy();
    const left = await accept("b");
    const drained = engine.drain({ withinMs: 2_000 });
    slow.open("first");
    expect(await drained).toEqual({ finished: 1, cut: 0 });
    expect((await store.calls.get(first.callId))?.closing?.status).toBe("success");
    expect((await store.calls.get(left.callId))?.phase).toBe("queued");
    const again = gated();
    const second = await opened({ store }, [again.tool]);
    await second.engine.recover();
    expect(await second.engine.claimQueued()).toBe(1);
    expect(await second.engine.claimQueued()).toBe(0);
    again.open("b");
    expect(await ended(second, left.callId)).toMatchObject({ status: "success", result: { name: "b" } });
    expect([slow.came, again.came]).toEqual([["first"], ["b"]]);
  });

  it("is held by one process, until that one lets go of it for an idle one or is gone [X-5]", async () => {
    const [store, bus] = [createMemoryStore({ isShared: true }), new MemoryBus()];
    const { accept, engine, slow } = await busy({ store, bus });
    for (const name of ["b", "c", "d", "e"]) await accept(name);
    await until(() => engine.load().queued === 4);
    const before = await store.audit.heads("acme");
    const [two, three] = [gated(), gated()];
    const deaf = await opened({ store, bus: new MemoryBus() }, [two.tool]);
    expect(await deaf.engine.claimQueued()).toBe(0);
    expect(await store.audit.heads("acme")).toEqual(before);
    const idle = await opened({ store, bus }, [two.tool]);
    expect(await idle.engine.claimQueued()).toBe(0);
    await until(() => two.came.length === 2);
    expect([two.came.toSorted(), engine.load().queued]).toEqual([["d", "e"], 2]);
    await crashed(store);
    const next = await opened({ store, bus }, [three.tool]);
    expect(await next.engine.claimQueued()).toBe(2);
    await until(() => three.came.length === 2);
    expect([three.came.toSorted(), slow.came]).toEqual([["b", "c"], ["first"]]);
  });

  it("waits behind more urgent ones, but not for ever [L3-EXE-4]", async () => {
    let now = 1_000_000;
    const options = { clock: { now: () => now }, admission: { total: 1, agingMs: 1_000 } };
    const { engine, slow, accept } = await busy(options);
    await accept("old low", { priority: "low" });
    await until(() => engine.load().queued === 1);
    now += 5_000;
    await accept("normal", { priority: "normal" });
    await accept("high", { priority: "high" });
    await until(() => engine.load().queued === 3);
    const names = ["first", "old low", "high", "normal"];
    for (const name of names) slow.open(name);
    await until(() => slow.came.length === 4);
    expect(slow.came).toEqual(names);
  });

  it("leaves room for callers who wait for their answer", async () => {
    const admission = { total: 3, background: 1, perAgent: 3 };
    const { engine, accept } = await busy({ admission }, [{ id: "quick", run: () => "now" }]);
    for (const name of ["b", "c"]) await accept(name);
    await until(() => engine.load().queued === 2);
    expect(await engine.call(order("quick"))).toMatchObject({ status: "success", result: "now" });
    expect(engine.load()).toMatchObject({ running: 1, queued: 2 });
  });

  it("runs at most three of one agent's four slots, however many wait [L3-EXE-4] [D-2]", async () => {
    const { engine, slow, accept } = await busy({ admission: {} }, [{ id: "quick", run: () => 1 }]);
    for (let index = 1; index < 9; index += 1) await accept(`${index}`);
    await accept("other", { caller: { ...caller, agent: "b" } });
    await until(() => slow.came.length === 4);
    await sleep(20);
    expect(slow.came).toEqual(["first", "1", "2", "other"]);
    expect(await engine.call(order("quick"))).toMatchObject({ status: "success" });
    slow.open("2");
    await until(() => slow.came.length === 5);
  });

  it("is refused when too many wait, try later it says, and one agent leaves half of the queue to others", async () => {
    const { engine, store } = await busy({ limits: { queued: 6 } });
    const many = (agent: string) =>
      Promise.all(
        Array.from({ length: 20 }, () => engine.accept({ ...order("slow"), caller: { ...caller, agent } })),
      );
    await many("a");
    await until(() => engine.load().queued > 0);
    expect((await many("a")).at(-1)).toMatchObject({ error: { code: "E3910", retryable: true } });
    const ofA = await store.queue.size();
    await many("b");
    expect(await store.queue.size()).toBeLessThanOrEqual(6);
    expect(ofA).toBe(3);
  });

  it("is decided about anew when its turn comes: what was revoked meanwhile does not run", async () => {
    const authority = changeable();
    const fixture = await busy({ authority });
    const denied = await fixture.accept("second");
    const asked = await fixture.accept("third");
    authority.outcome = "deny";
    fixture.slow.open("first");
    expect(await ended(fixture, denied.callId)).toMatchObject({ status: "permission_denied" });
    authority.outcome = "ask";
    expect((await ended(fixture, asked.callId)).status).toBe("permission_denied");
    expect(fixture.slow.came).toEqual(["first"]);
  });

  it("that is refused when its turn comes ends with that refusal, once", async () => {
    const fixture = await busy({}, [done]);
    const { callId } = accepted(await fixture.engine.accept(order("t")));
    fixture.engine.adjust({ toolRules: (tool) => ({ enabled: tool !== "t" }) });
    fixture.slow.open("first");
    expect(await ended(fixture, callId)).toMatchObject({ status: "error", error: { code: "E3014" } });
    expect(await fixture.store.queue.size()).toBe(0);
  });

  it("that is tried again gives its slot back first", async () => {
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
    const options = { admission: { total: 1 }, retry: { baseDelayMs: 1, maxDelayMs: 2 } };
    const fixture = await opened(options, [flaky]);
    const { callId } = accepted(await fixture.engine.accept(order("flaky")));
    expect(await ended(fixture, callId)).toMatchObject({ status: "success", result: 3, attempts: 3 });
  });

  it("whose write landed and was not answered is sent again, so that nothing is done twice", async () => {
    const store = createMemoryStore();
    const commit = store.commit.bind(store);
    const sent: unknown[] = [];
    store.commit = async (unit) => {
      const result = await commit(unit);
      if (!unit.enqueue && !unit.begin) return result;
      sent.push(unit.id);
      if (sent.filter((id) => id === unit.id).length === 1) throw unanswered("The writer has ended.");
      return result;
    };
    const slow = gated();
    slow.open();
    const fixture = await opened({ store }, [slow.tool]);
    const { callId } = accepted(await fixture.engine.accept(order("slow")));
    expect(await ended(fixture, callId)).toMatchObject({ status: "success" });
    expect(slow.came).toHaveLength(1);
    expect([sent.length, new Set(sent).size]).toEqual([4, 2]);
  });
});

describe("cancelling", () => {
  it("ends a queued call before it runs, says so again, and keeps it on record [L3-API-2]", async () => {
    const fixture = await busy();
    const { engine, slow, accept } = fixture;
    const { callId } = await accept("b");
    await until(() => engine.load().queued === 1);
    const cancel = (reason: string) => engine.cancelCall(callId, { reason });
    expect(await cancel("no longer needed")).toMatchObject({ cancelled: true });
    expect(await ended(fixture, callId)).toMatchObject({ status: "cancelled", error: { code: "E3906" } });
    expect(await cancel("again")).toMatchObject({ cancelled: true, message: "Already cancelled." });
    slow.open("first");
    await sleep(20);
    expect(slow.came).toEqual(["first"]);
    expect(await engine.cancelCall("nobody", { reason: "x" })).toBeUndefined();
  });

  it("ends a running one, and says so of one that was cancelled before [L3-API-2]", async () => {
    const fixture = await busy();
    const { callId } = fixture.first;
    expect(await fixture.engine.cancelCall(callId, { reason: "enough" })).toMatchObject({ cancelled: true });
    expect((await ended(fixture, callId)).status).toBe("cancelled");
    const signal = AbortSignal.timeout(20);
    const late = await fixture.call("slow", { name: "x" }, { asyncMode: true, signal });
    expect(await fixture.engine.cancelCall(late.callId, { reason: "late" })).toMatchObject({
      cancelled: true,
    });
  });

  it("takes back the question of one that waits for a person", async () => {
    const fixture = await opened({}, [done]);
    const { engine } = fixture;
    const { callId, approvalId } = await askedFor(fixture);
    expect(await engine.cancelCall(callId, { reason: "no" })).toMatchObject({ cancelled: true });
    expect((await engine.approvals.get(approvalId))?.standing.state).toBe("withdrawn");
    expect(await engine.standing(callId)).toMatchObject({ status: "cancelled" });
  });

  it("while it is put on record keeps it from running", async () => {
    const slow = gated();
    const store = createMemoryStore();
    const commit = store.commit.bind(store);
    const gate = Promise.withResolvers<void>();
    store.commit = async (unit) => {
      const result = await commit(unit);
      if (unit.enqueue) await gate.promise;
      return result;
    };
    const { engine } = await opened({ store }, [slow.tool]);
    const aborter = new AbortController();
    const accepting = engine.accept(order("slow", { callId: "c-1", signal: aborter.signal }));
    await sleep(10);
    aborter.abort("changed my mind");
    gate.resolve();
    expect(await accepting).toMatchObject({ status: "cancelled" });
    await sleep(30);
    expect(slow.came).toEqual([]);
  });
});

describe("asking twice", () => {
  const keyed = (more: object = {}) => order("slow", { idempotencyKey: "k", ...more });

  it("is the same call, whether it is queued, runs or has ended [L3-API-1]", async () => {
    const slow = gated();
    const { engine } = await opened({ admission: { total: 1 } }, [slow.tool]);
    const ends = await Promise.all(Array.from({ length: 20 }, () => engine.accept(keyed())));
    const { callId } = ends[0] ?? {};
    expect(new Set(ends.map((end) => accepted(end).callId)).size).toBe(1);
    await until(() => slow.came.length === 1);
    expect(await engine.accept(keyed())).toMatchObject({ callId, status: "running" });
    const waitsForIt = engine.call(keyed());
    const other = await engine.accept(keyed({ input: { name: "z" } }));
    expect(other).toMatchObject({ error: { code: "E3904" } });
    slow.open();
    expect(await waitsForIt).toMatchObject({ status: "success", callId, replayed: true });
    expect(await engine.accept(keyed())).toMatchObject({ replayed: true });
    expect(slow.came).toHaveLength(1);
  });

  it("by call id is the same call too, and another body is refused", async () => {
    const slow = gated();
    const fixture = await opened({}, [slow.tool]);
    const ask = (more: object = {}) => fixture.engine.accept(order("slow", { callId: "c-1", ...more }));
    for (let times = 0; times < 3; times += 1) accepted(await ask());
    expect(await ask({ input: { name: "z" } })).toMatchObject({ error: { code: "E3905" } });
    slow.open();
    expect((await ended(fixture, "c-1")).status).toBe("success");
  });
});

describe("a call that needs approval", () => {
  it("goes on by itself once a person has said yes, when nobody waits for it", async () => {
    const fixture = await opened({}, [done]);
    const { engine } = fixture;
    await engine.claimQueued();
    const unattended = { requireApproval: true, onApproval: "pending", unattended: true };
    const { callId, approval } = await engine.call(order("t", unattended));
    expect(await engine.approvals.approve(approval?.approvalId ?? "", { by: "ada" })).toHaveProperty("votes");
    expect(await ended(fixture, callId)).toMatchObject({ status: "success", result: "done" });
  });

  it("stays where it is when its caller will ask for it", async () => {
    const { engine } = await opened({}, [done]);
    const answer = await engine.call(order("t", { requireApproval: true, onApproval: "pending" }));
    await engine.approvals.approve(answer.approval?.approvalId ?? "", { by: "ada" });
    await sleep(20);
    expect((await engine.standing(answer.callId))?.status).toBe("pending_approval");
  });

  it("and is approved where nobody runs calls is left for the process that does", async () => {
    const first = await opened({}, [done]);
    const { store } = first;
    const { callId, approvalId } = await askedFor(first);
    await first.engine.close();
    const answering = await opened({ store }, [done]);
    await answering.engine.approvals.approve(approvalId, { by: "ada" });
    await answering.engine.close();
    expect((await store.calls.get(callId))?.phase).toBe("waiting");
    const next = await opened({ store }, [done]);
    expect(await next.engine.claimQueued()).toBe(1);
    expect(await ended(next, callId)).toMatchObject({ status: "success" });
  });

  it("and whose policy cannot be asked after the yes is tried again and runs", async () => {
    const authority = changeable();
    const fixture = await opened({ authority }, [done]);
    const { callId, approvalId } = await askedFor(fixture);
    authority.outcome = "away";
    await fixture.engine.approvals.approve(approvalId, { by: "ada" });
    await sleep(100);
    expect((await fixture.engine.standing(callId))?.status).toBe("pending_approval");
    authority.outcome = "allow";
    expect(await ended(fixture, callId)).toMatchObject({ status: "success" });
  });

  it("and is refused for good after the yes ends, and its approval with it", async () => {
    const fixture = await opened({}, [done]);
    const { callId, approvalId } = await askedFor(fixture);
    fixture.engine.adjust({ toolRules: () => ({ enabled: false }) });
    await fixture.engine.approvals.approve(approvalId, { by: "ada" });
    expect(await ended(fixture, callId)).toMatchObject({ error: { code: "E3014" } });
    expect((await fixture.engine.approvals.get(approvalId))?.standing.state).toBe("void");
  });
});

describe("whoever wants to be told", () => {
  const callbackUrl = "https://example.com/hook";
  const dueNow = async (store: Store) => (await contentsOf(store)).callbacks;

  it("is told of every end of an accepted call, in the unit that records it", async () => {
    const bad = { id: "bad", run: () => Promise.reject(new Error("no")) };
    const fixture = await opened({}, [done, bad]);
    const { engine, store } = fixture;
    const ends = [
      await engine.accept(order("t", { callbackUrl })),
      await engine.accept(order("bad", { callbackUrl })),
    ];
    for (const { callId } of ends) await ended(fixture, callId);
    const cancelled = await engine.accept(order("t", { callbackUrl, requireApproval: true }));
    await engine.cancelCall(cancelled.callId, { reason: "no" });
    const due = await dueNow(store);
    const told = [...ends, cancelled].map(({ callId }) => callId);
    expect(due.map(({ callId }) => callId).sort()).toEqual(told.sort());
    expect(due[0]).toMatchObject({ url: callbackUrl, attempts: 0, state: "due" });
  });

  it("is told of a call that an earlier process left open", async () => {
    const store = createMemoryStore();
    const slow = gated("slow", { sideEffects: "state" });
    const first = await opened({ store }, [slow.tool]);
    const { callId } = accepted(await first.engine.accept(order("slow", { callbackUrl })));
    await until(() => slow.came.length === 1);
    await crashed(store);
    const second = await opened({ store }, [slow.tool]);
    await second.engine.recover();
    expect(await dueNow(store)).toMatchObject([{ callId }]);
    slow.open();
    await first.engine.close();
    await second.engine.close();
    expect(await dueNow(store)).toHaveLength(1);
  });

  it("is not told what was answered at once", async () => {
    const { engine, store } = await opened({}, [done]);
    await engine.call(order("t", { callbackUrl }));
    expect(await dueNow(store)).toEqual([]);
  });
});

describe("watching", () => {
  it("gives every state, the progress and the end, in order", async () => {
    const run: FixtureTool["run"] = (_input, context) => {
      context.progress(40, "reading");
      return 1;
    };
    const fixture = await opened({}, [{ id: "steps", run }]);
    const { engine } = fixture;
    const { callId } = accepted(await engine.accept(order("steps")));
    const feed = await engine.watch(callId);
    await ended(fixture, callId);
    await until(() => feed?.ended === true);
    const words = feed?.after(0).map((news: CallNews) => ("state" in news ? news.state : news.kind));
    expect(words).toEqual([
      ...["QUEUED", "DECLARED", "VALIDATED", "AUTHORIZED", "EXECUTING"],
      ...["progress", "COMPLETED", "ended"],
    ]);
    expect(feed?.after(feed.last - 1)).toMatchObject([{ kind: "ended", status: "success" }]);
  });

  it("is not misled by another request that claims the same call id", async () => {
    const fixture = await busy({ admission: {} });
    const { engine, first, slow } = fixture;
    await engine.call(order("slow", { callId: first.callId, input: { name: "other" } }));
    expect((await engine.watch(first.callId))?.ended).toBe(false);
    slow.open("first");
    await ended(fixture, first.callId);
  });
});

describe("an operator's word about a tool", () => {
  it("switches it off and on, and shortens its time, while the engine is open", async () => {
    const run: FixtureTool["run"] = (_input, context) => context.deadlineAt - Date.now();
    const { engine } = await opened({}, [{ id: "t", run }]);
    engine.adjust({ toolRules: (tool) => (tool === "t" ? { enabled: false } : undefined) });
    expect(await engine.call(order("t"))).toMatchObject({ error: { code: "E3014" } });
    engine.adjust({ toolRules: () => ({ timeoutMs: 1_000 }) });
    const answer = await engine.call(order("t"));
    expect(answer.status === "success" && answer.result).toBeLessThanOrEqual(1_000);
  });
});
