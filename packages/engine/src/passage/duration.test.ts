import { failure, SallyportError } from "@sallyport/protocol";
import { describe, expect, it } from "vitest";
import { createMemoryStore } from "../memory/store.ts";
import type { Clock } from "../ports/platform.ts";
import type { Store } from "../ports/store.ts";
import { auditOf, fixtureEngine } from "../testing/fixture-engine.ts";

/** A clock on the wall that can be set, and one beside it that only goes forward. */
class TwoClocks implements Clock {
  wall = 1_767_225_600_000;
  run = 0;
  now = () => this.wall;
  elapsed = () => this.run;

  pass(ms: number): void {
    this.wall += ms;
    this.run += ms;
  }
}

const CALLER = { tenant: "acme", agent: "agent" };

/** A tool that takes 900 ms, and changes nothing. */
function slow(clock: TwoClocks, run: () => unknown = () => "done") {
  return {
    id: "slow",
    run: () => {
      clock.pass(900);
      return run();
    },
  };
}

describe("the duration of an execution", () => {
  it("leaves out the time a person took to approve it, in the answer, on record and in the metric", async () => {
    const clock = new TwoClocks();
    const { engine, call, store, meter } = await fixtureEngine({ clock }, [slow(clock)]);
    const asked = await call("slow", {}, { callId: "c", requireApproval: true });
    clock.pass(8_000);
    await engine.approvals.approve(asked.approval?.approvalId ?? "", { by: "ada" });
    engine.flush();
    const before = meter.summary("tool_execution_duration_seconds", { tool_id: "slow" }).count;
    const answer = await engine.resume("c");
    expect(answer).toMatchObject({ status: "success", usage: { durationMs: 900 } });
    if ("completedAt" in answer) expect(answer.completedAt - answer.startedAt).toBe(8_900);
    expect((await auditOf(store)).at(-1)).toMatchObject({ state: "COMPLETED", duration: 900 });
    expect((await store.calls.get("c"))?.closing?.answer.usage.durationMs).toBe(900);
    engine.flush();
    const { count, p99 } = meter.summary("tool_execution_duration_seconds", { tool_id: "slow" });
    expect(count - before).toBe(1);
    expect(p99).toBeLessThan(8);
  });

  it("leaves out the time it was queued", async () => {
    const clock = new TwoClocks();
    const { engine, store } = await fixtureEngine({ clock }, [slow(clock)]);
    await engine.accept({ tool: "slow", input: {}, caller: CALLER, callId: "c" });
    clock.pass(22_000);
    await expect.poll(async () => (await store.calls.get("c"))?.phase).toBe("closed");
    expect((await store.calls.get("c"))?.closing?.answer.usage.durationMs).toBe(900);
    await engine.close();
  });

  it("is that of the last attempt, when there were several", async () => {
    const clock = new TwoClocks();
    const memory = createMemoryStore();
    let runs = 0;
    const full = new SallyportError(failure("E3914", { message: "The disk is full." }));
    const store: Store = {
      ...memory,
      commit: (unit) => (unit.open && runs === 1 ? Promise.reject(full) : memory.commit(unit)),
    };
    const tool = slow(clock, () => (runs += 1));
    const retry = { maxRetries: 1, baseDelayMs: 1, maxDelayMs: 1 };
    const { call } = await fixtureEngine({ clock, store, retry }, [
      { ...tool, conduct: { idempotent: true } },
    ]);
    expect(await call("slow", {})).toMatchObject({
      status: "success",
      result: 2,
      attempts: 2,
      usage: { durationMs: 900 },
    });
  });

  it("of a call that never ran counts from when it was last taken up", async () => {
    const clock = new TwoClocks();
    const { engine, call } = await fixtureEngine({ clock }, [slow(clock)]);
    const asked = await call("slow", {}, { callId: "c", requireApproval: true });
    expect(asked.usage.durationMs).toBe(0);
    clock.pass(8_000);
    expect(await engine.resume("c")).toMatchObject({ status: "pending_approval", usage: { durationMs: 0 } });
  });

  it("is never negative: the clock on the wall may be set back meanwhile", async () => {
    const clock = new TwoClocks();
    const back = slow(clock, () => {
      clock.wall -= 60_000;
      return "done";
    });
    const { call } = await fixtureEngine({ clock }, [back]);
    expect((await call("slow", {})).usage.durationMs).toBe(900);
    const wallOnly = await fixtureEngine({ clock: { now: clock.now } }, [back]);
    expect((await wallOnly.call("slow", {})).usage.durationMs).toBe(0);
  });
});
