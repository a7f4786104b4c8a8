import { spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { createMemoryStore } from "../memory/store.ts";
import { FaultPlan, withFaults } from "./faults.ts";
import { applied, opening, sampleCall } from "./store-samples.ts";

const error = new Error("injected");

class Counter {
  #count = 0;
  readonly nested = { peek: async () => this.#count };
  add(): number {
    this.#count += 1;
    return this.#count;
  }
}

describe("a port with faults", () => {
  it("behaves as before where there is no rule, private fields and frozen objects included", async () => {
    const plan = new FaultPlan();
    const counter = withFaults(Object.freeze(new Counter()), plan);
    expect(counter.add()).toBe(1);
    expect(await counter.nested.peek()).toBe(1);
    expect({ ...counter }).toHaveProperty("add");
    expect(plan.seen).toEqual([
      { method: "add", nth: 1 },
      { method: "nested.peek", nth: 1 },
    ]);
  });

  it("fails the chosen call before the method runs, and no other", async () => {
    const plan = new FaultPlan([
      { method: "commit", nth: 2, when: "before", action: { kind: "reject", error } },
    ]);
    const store = withFaults(createMemoryStore(), plan);
    const [first, second, third] = [sampleCall(), sampleCall(), sampleCall()];
    await applied(store, opening(first));
    await expect(store.commit(opening(second))).rejects.toBe(error);
    await applied(store, opening(third));
    expect((await store.calls.list({ limit: 9 })).map(({ callId }) => callId)).toEqual([
      third.callId,
      first.callId,
    ]);
  });

  it("fails after the method has run: the work is done and the caller does not know", async () => {
    const plan = new FaultPlan([{ method: "commit", when: "after", action: { kind: "reject", error } }]);
    const store = withFaults(createMemoryStore(), plan);
    const call = sampleCall();
    await expect(store.commit(opening(call))).rejects.toBe(error);
    expect(await store.calls.get(call.callId)).toBeDefined();
  });

  it("reaches every reader of a store, approvals, grants, revocations, queue, callbacks included", async () => {
    const plan = new FaultPlan([
      { method: "approvals.order", when: "before", action: { kind: "reject", error } },
      { method: "grants.changedSince", nth: 2, when: "after", action: { kind: "reject", error } },
      { method: "queue.order", when: "before", action: { kind: "reject", error } },
      { method: "callbacks.ofCall", when: "before", action: { kind: "reject", error } },
    ]);
    const store = withFaults(createMemoryStore(), plan);
    await expect(store.approvals.order("a")).rejects.toBe(error);
    expect(await store.approvals.list({ limit: 1 })).toEqual([]);
    expect((await store.grants.changedSince()).changed).toEqual([]);
    await expect(store.grants.changedSince()).rejects.toBe(error);
    expect((await store.revocations.changedSince()).changed).toEqual([]);
    await expect(store.queue.order("a")).rejects.toBe(error);
    await expect(store.callbacks.ofCall("a")).rejects.toBe(error);
    expect(plan.seen.map(({ method }) => method)).toEqual([
      "approvals.order",
      "approvals.list",
      "grants.changedSince",
      "grants.changedSince",
      "revocations.changedSince",
      "queue.order",
      "callbacks.ofCall",
    ]);
  });

  it("throws at once from a synchronous method", () => {
    const plan = new FaultPlan([{ method: "add", nth: 1, when: "before", action: { kind: "throw", error } }]);
    const counter = withFaults(new Counter(), plan);
    expect(() => counter.add()).toThrow(error);
    expect(counter.add()).toBe(1);
  });

  it("hangs until released, and is slow for as long as it is told", async () => {
    const plan = new FaultPlan([
      { method: "calls.get", nth: 1, when: "before", action: { kind: "hang" } },
      { method: "calls.list", when: "after", action: { kind: "slow", ms: 30 } },
    ]);
    const store = withFaults(createMemoryStore(), plan);
    const hanging = store.calls.get("a").then(() => "released");
    const startedAt = performance.now();
    await store.calls.list({ limit: 1 });
    expect(performance.now() - startedAt).toBeGreaterThan(25);
    expect(await Promise.race([hanging, "hanging"])).toBe("hanging");
    plan.release();
    expect(await hanging).toBe("released");
  });

  it("counts every call for `*`, so that each point of a run can be tried in turn", async () => {
    const story = async (plan: FaultPlan) => {
      const store = withFaults(createMemoryStore(), plan);
      await store.commit(opening(sampleCall()));
      await store.calls.list({ limit: 1 });
      await store.commit(opening(sampleCall()));
    };
    const rehearsal = new FaultPlan();
    await story(rehearsal);
    expect(rehearsal.seen.map(({ method, nth }) => `${method} ${nth}`)).toEqual([
      "commit 1",
      "calls.list 1",
      "commit 2",
    ]);
    for (const index of rehearsal.seen.keys()) {
      const rule = {
        method: "*",
        nth: index + 1,
        when: "before",
        action: { kind: "reject", error },
      } as const;
      const plan = new FaultPlan([rule]);
      await expect(story(plan)).rejects.toBe(error);
      expect(plan.seen).toHaveLength(index + 1);
    }
  });

  it("crashes the process, before or after the method ran", () => {
    for (const [when, printed] of [
      ["before", ""],
      ["after", "ran\n"],
    ] as const) {
      const script = `
        import { writeSync } from "node:fs";
        import { FaultPlan, withFaults } from ${JSON.stringify(new URL("./faults.ts", import.meta.url).href)};
        const plan = new FaultPlan([{ method: "run", when: "${when}", action: { kind: "crash" } }]);
        await withFaults({ run: async () => writeSync(1, "ran\\n") }, plan).run();
        writeSync(1, "survived\\n");`;
      const child = spawnSync(process.execPath, ["--input-type=module", "-e", script], { encoding: "utf8" });
      expect(child.signal, child.stderr).toBe("SIGKILL");
      expect(child.stdout).toBe(printed);
    }
  });
});
