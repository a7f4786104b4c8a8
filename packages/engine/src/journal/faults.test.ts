import { failure, SallyportError } from "@sallyport/protocol";
import { describe, expect, it } from "vitest";
import { createMemoryStore } from "../memory/store.ts";
import type { ToolContext } from "../ports/runner.ts";
import type { Store } from "../ports/store.ts";
import {
  type FaultAction,
  FaultPlan,
  type FaultPoint,
  type FaultRule,
  withFaults,
} from "../testing/faults.ts";
import { errorOf, fixtureEngine } from "../testing/fixture-engine.ts";

const DOWN: FaultAction = { kind: "reject", error: new Error("the disk is gone") };

/** What a store says that could not write a unit, and knows it. */
const FULL: FaultAction = {
  kind: "reject",
  error: new SallyportError(
    failure("E3914", { message: "The unit could not be written: database or disk is full" }),
  ),
};
/** What a store says that cannot be reached, after it was waited for. */
const AWAY: FaultAction = {
  kind: "reject",
  error: new SallyportError(failure("E3914", { message: "PostgreSQL cannot be reached" })),
};
/** What a store says that does not know what became of a unit. */
const GONE: FaultAction = {
  kind: "reject",
  error: new SallyportError(
    failure("E3914", { message: "The writer has ended.", details: { unanswered: true } }),
  ),
};

/** One of each kind of tool; `world` is what the external one did. */
function tools() {
  const world: string[] = [];
  const capabilities = { requiredCapabilities: ["state.read", "state.write"] };
  const count = async (_: unknown, { state }: ToolContext) => {
    const next = Number((await state.get("n")) ?? 0) + 1;
    await state.put("n", next);
    return next;
  };
  return {
    world,
    all: [
      { id: "look", run: () => "seen" },
      { id: "count", run: count, conduct: { sideEffects: "state", ...capabilities } },
      {
        id: "pay",
        run: (_: unknown, { callId }: ToolContext) => void world.push(callId),
        conduct: { sideEffects: "external" },
      },
    ],
  };
}

/** Runs one call of a tool on a store with a fault; the faults begin once the tools are registered. */
async function callWithFault(tool: string, rules: FaultRule[], more: { storeMs?: number } = {}) {
  const { call, ...rest } = await engineWithFault(rules, more);
  const answer = await call(tool, {}, { callId: "c", idempotencyKey: "k" });
  rest.plan.release();
  return { answer, ...rest };
}

async function engineWithFault(rules: FaultRule[], more: { storeMs?: number } = {}) {
  const store = createMemoryStore();
  const { all, world } = tools();
  await fixtureEngine({ store }, all);
  const plan = new FaultPlan(rules);
  const limits = { storeMs: more.storeMs ?? 1_000 };
  const { call, engine } = await fixtureEngine({ store: withFaults(store, plan), limits }, []);
  for (const { id, run } of all) {
    const known = (await store.tools.changedSince()).changed.find(({ manifest }) => manifest.id === id);
    await engine.tools.register(known?.manifest, { implementation: { kind: "inline", operations: { run } } });
  }
  plan.seen.length = 0;
  return { call, store, world, plan, engine };
}

async function counted(store: Store): Promise<unknown> {
  const snapshot = await store.state.open({ tenant: "acme", tool: "count" });
  return (await store.state.get(snapshot, "n"))?.value;
}

describe("when the journal cannot take the intent", () => {
  it.each(["count", "pay"])("%s does not start", async (tool) => {
    const { answer, world, store } = await callWithFault(tool, [
      { method: "commit", nth: 1, when: "before", action: DOWN },
    ]);
    expect(errorOf(answer).code).toBe("E3908");
    expect(world).toEqual([]);
    expect(await counted(store)).toBeUndefined();
  });
});

describe("when the outcome cannot be recorded", () => {
  it("a call that touched nothing outside fails, and its state is not kept", async () => {
    const { answer, store } = await callWithFault("count", [
      { method: "commit", nth: 2, when: "before", action: DOWN },
    ]);
    expect(errorOf(answer).code).toBe("E3801");
    expect(await counted(store)).toBeUndefined();
    const looked = await callWithFault("look", [{ method: "commit", nth: 1, when: "before", action: DOWN }]);
    expect(errorOf(looked.answer).code).toBe("E3801");
  });

  it("a call that may have changed the world has an unknown outcome", async () => {
    const { answer, world, store } = await callWithFault("pay", [
      { method: "commit", nth: 2, when: "before", action: DOWN },
    ]);
    expect(errorOf(answer).code).toBe("E3909");
    expect(world).toEqual(["c"]);
    expect((await store.calls.get("c"))?.phase).not.toBe("closed");
  });

  it("but was after all, the journal's word counts", async () => {
    for (const tool of ["count", "pay"]) {
      const { answer } = await callWithFault(tool, [
        { method: "commit", nth: 2, when: "after", action: DOWN },
      ]);
      expect(answer.status, tool).toBe("success");
    }
  });
});

describe("when the store is away", () => {
  it.each([
    ["look", "E3914"],
    ["pay", "E3908"],
  ])(
    "%s ends once it was waited for, and does not wait again for its end to be on record",
    async (tool, code) => {
      const rules: FaultRule[] = [
        { method: "commit", nth: 1, when: "before", action: AWAY },
        { method: "commit", nth: 2, when: "before", action: { kind: "hang" } },
      ];
      const { answer } = await callWithFault(tool, rules, { storeMs: 3_600_000 });
      expect(errorOf(answer).code).toBe(code);
      expect(answer.warnings).toMatchObject([
        { code: "E3801", message: expect.stringMatching(/not on record/) },
      ]);
    },
  );
});

describe("when the store refuses a unit and says why", () => {
  const full: FaultRule = { method: "commit", when: "before", action: FULL };

  it("a call that changes nothing fails for that reason, undone, and can be made again [R1-4.4]", async () => {
    const { answer, store } = await callWithFault("look", [full]);
    expect(errorOf(answer)).toMatchObject({
      code: "E3914",
      retryable: true,
      message: expect.stringContaining("disk is full"),
    });
    expect(answer.lifecycle.at(-1)?.state).toBe("ROLLED_BACK");
    expect(answer.warnings).toMatchObject([
      { code: "E3801", message: expect.stringContaining("disk is full") },
    ]);
    expect(await store.calls.get("c")).toBeUndefined();
  });

  it("a call that changes state fails for that reason, and its state is not kept [R1-4.4]", async () => {
    const { answer, store } = await callWithFault("count", [{ ...full, nth: 2 }]);
    expect(errorOf(answer)).toMatchObject({
      code: "E3914",
      message: expect.stringContaining("disk is full"),
    });
    expect(answer.rollback).toMatchObject({ verified: true });
    expect(await counted(store)).toBeUndefined();
    expect((await store.calls.get("c"))?.closing?.status).toBe("error");
  });

  it("a call that may have changed the world has an unknown outcome, and says what was in the way", async () => {
    const { answer } = await callWithFault("pay", [{ ...full, nth: 2 }]);
    expect(errorOf(answer)).toMatchObject({
      code: "E3909",
      message: expect.stringContaining("disk is full"),
    });
  });

  it("a call does not start without its intent, and says what was in the way", async () => {
    const { answer, world } = await callWithFault("pay", [full]);
    expect(errorOf(answer)).toMatchObject({
      code: "E3908",
      message: expect.stringContaining("disk is full"),
    });
    expect(world).toEqual([]);
  });

  it("a call that nobody waits for is not accepted, for that reason", async () => {
    const { engine } = await engineWithFault([full]);
    const caller = { tenant: "acme", agent: "agent" };
    const answer = await engine.accept({ tool: "look", input: {}, caller });
    expect(answer).toMatchObject({
      status: "error",
      error: { code: "E3914", retryable: true, message: expect.stringContaining("disk is full") },
    });
    await engine.close();
  });
});

describe("when nobody knows what became of a unit", () => {
  /** A unit that is not answered is sent once more. */
  const unansweredTwice = (nth: number): FaultRule[] =>
    [nth, nth + 1].map((each) => ({ method: "commit", nth: each, when: "before", action: GONE }));

  it("it is sent again, and the call ends as if it had been answered at once", async () => {
    for (const [tool, nth] of [
      ["look", 1],
      ["count", 1],
      ["count", 2],
      ["pay", 1],
      ["pay", 2],
    ] as const) {
      for (const when of ["before", "after"] as const) {
        const { answer, store, world } = await callWithFault(tool, [
          { method: "commit", nth, when, action: GONE },
        ]);
        expect(answer.status, `${tool}: ${when} #${nth}`).toBe("success");
        expect((await store.calls.get("c"))?.closing?.status).toBe("success");
        expect(world).toHaveLength(tool === "pay" ? 1 : 0);
      }
    }
  });

  it("a call that changes nothing has nothing to be found out: the store was away [R1-4.4]", async () => {
    const { answer, store, engine } = await callWithFault("look", unansweredTwice(1));
    expect(errorOf(answer)).toMatchObject({ code: "E3914", retryable: true });
    expect(answer.rollback).toBeUndefined();
    expect((await store.calls.get("c"))?.closing?.status).toBe("error");
    expect(await engine.standing("c")).toMatchObject({ status: "error" });
  });

  it("a call that changes nothing and was on record as queued is closed, not unknown", async () => {
    const { engine, store, plan } = await engineWithFault(unansweredTwice(3));
    const caller = { tenant: "acme", agent: "agent" };
    await engine.accept({ tool: "look", input: {}, caller, callId: "c" });
    await expect.poll(async () => (await store.calls.get("c"))?.phase).toBe("closed");
    expect(plan.seen.filter(({ method }) => method === "commit")).toHaveLength(5);
    expect((await store.calls.get("c"))?.closing?.answer).toMatchObject({ error: { code: "E3914" } });
    await engine.close();
  });

  it("a call that may have changed anything has an unknown outcome", async () => {
    for (const tool of ["count", "pay"]) {
      const { answer } = await callWithFault(tool, unansweredTwice(2));
      expect(errorOf(answer).code, tool).toBe("E3909");
      expect(answer.rollback, tool).toBeUndefined();
    }
  });
});

describe("when a commit is given up and lands after all", () => {
  it("look has the answer that the journal has", async () => {
    const late: FaultRule = { method: "commit", nth: 1, when: "before", action: { kind: "slow", ms: 60 } };
    const { answer, store } = await callWithFault("look", [late], { storeMs: 20 });
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect((await store.calls.get("c"))?.closing?.status).toBe(answer.status);
    expect(answer.rollback).toBeUndefined();
    expect(answer.status === "success" || errorOf(answer).code === "E3914").toBe(true);
  });

  it.each(["count", "pay"])("%s is never said to be undone, and what was said of it stands", async (tool) => {
    const late: FaultRule = { method: "commit", nth: 2, when: "before", action: { kind: "slow", ms: 60 } };
    const { answer, store } = await callWithFault(tool, [late], { storeMs: 20 });
    await new Promise((resolve) => setTimeout(resolve, 100));
    const isDone = answer.status === "success";
    if (!isDone) expect(errorOf(answer).code).toBe("E3909");
    expect((await store.calls.get("c"))?.phase).toBe(isDone ? "closed" : "unknown");
    expect(await counted(store)).toBe(tool === "count" && isDone ? 1 : undefined);
    expect(answer.rollback).toBeUndefined();
  });
});

describe("when a rollback cannot be proved", () => {
  it("the runtime does not try again", async () => {
    let runs = 0;
    const store = createMemoryStore();
    const run = async (_: unknown, { state }: ToolContext) => {
      runs += 1;
      await state.get("n");
      await new Promise(() => undefined);
    };
    const conduct = {
      idempotent: true,
      requiredCapabilities: ["state.read"],
      limits: { timeoutMs: 10, memoryBytes: 1e9 },
    };
    const traces = { ...store, state: { ...store.state, writtenBy: async () => 1 } };
    const { call } = await fixtureEngine({ store: traces }, [{ id: "stuck", run, conduct }]);
    const answer = await call("stuck", {});
    expect(errorOf(answer).code).toBe("E3912");
    expect(runs).toBe(1);
  });

  it("nobody says it was", async () => {
    const rules: FaultRule[] = [
      { method: "commit", nth: 2, when: "before", action: DOWN },
      { method: "state.writtenBy", when: "before", action: DOWN },
    ];
    const { answer, engine } = await callWithFault("count", rules);
    expect(answer.status).not.toBe("success");
    expect(answer.lifecycle.map(({ state }) => state)).not.toContain("ROLLED_BACK");
    expect(await engine.standing("c")).toMatchObject({ status: "unknown" });
  });
});

describe("when the store cannot be read", () => {
  it("a key that may be taken is not used", async () => {
    const { answer, world } = await callWithFault("pay", [
      { method: "calls.byIdempotencyKey", when: "before", action: DOWN },
    ]);
    expect(errorOf(answer).code).toBe("E3914");
    expect(world).toEqual([]);
  });
});

describe("when the store hangs", () => {
  it.each(["look", "count", "pay"])("%s is answered all the same", async (tool) => {
    const { answer } = await callWithFault(
      tool,
      [{ method: "commit", when: "before", action: { kind: "hang" } }],
      { storeMs: 30 },
    );
    expect(answer.status).toBe("error");
    expect(errorOf(answer).code).toBe(tool === "look" ? "E3914" : "E3908");
  });
});

describe("a fault at any point of any call", () => {
  it.each(["look", "count", "pay"])(
    "of %s leaves an answer that is true, and never a rejection [R1-4.4] [MCX-9]",
    async (tool) => {
      const { plan } = await callWithFault(tool, []);
      const points: FaultPoint[] = [...plan.seen];
      expect(points.length).toBeGreaterThan(1);
      for (const { method, nth } of points) {
        for (const when of ["before", "after"] as const) {
          for (const action of [DOWN, { kind: "throw", error: new Error("thrown") } as const]) {
            const { answer, store, world } = await callWithFault(tool, [{ method, nth, when, action }]);
            const at = `${tool}: ${action.kind} ${when} ${method} #${nth}`;
            const record = await store.calls.get("c");
            const done = record?.closing?.status === "success";
            if (answer.status === "success") expect(done, at).toBe(true);
            expect(await counted(store), at).toBe(tool === "count" && done ? 1 : undefined);
            expect(world.length, at).toBeLessThanOrEqual(1);
            if (world.length === 1) expect(record, at).toBeDefined();
            if (tool === "pay" && done) expect(world, at).toEqual(["c"]);
          }
        }
      }
    },
  );
});

it("an engine whose store does not answer is not opened, and does not wait for ever", async () => {
  const plan = new FaultPlan([{ method: "tools.changedSince", when: "before", action: { kind: "hang" } }]);
  const store = withFaults(createMemoryStore(), plan);
  await expect(fixtureEngine({ store, limits: { storeMs: 20 } })).rejects.toThrow("E3914");
  plan.release();
});
