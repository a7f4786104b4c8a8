import { describe, expect, it } from "vitest";
import { createMemoryStore } from "../memory/store.ts";
import type { Store } from "../ports/store.ts";
import { auditOf, errorOf, type Fixture, fixtureEngine } from "../testing/fixture-engine.ts";

function counting(id: string, sideEffects: string) {
  const seen = { runs: 0 };
  const run = async (input: { fail?: boolean }) => {
    seen.runs += 1;
    await new Promise((resolve) => setTimeout(resolve, 5));
    if (input.fail) throw new Error("no");
    return { run: seen.runs };
  };
  return { seen, tool: { id, run, conduct: { sideEffects } } };
}

describe.each(["none", "state", "external"])(
  "an idempotency key on a tool with side effects: %s",
  (sideEffects) => {
    it("gives the same answer without running again [L3-API-1]", async () => {
      const { seen, tool } = counting("pay", sideEffects);
      const { call } = await fixtureEngine({}, [tool]);
      const first = await call("pay", { n: 1 }, { idempotencyKey: "k" });
      const again = await call("pay", { n: 1 }, { idempotencyKey: "k" });
      expect(again).toEqual({ ...first, replayed: true });
      expect(seen.runs).toBe(1);
    });

    it("runs once when both arrive at the same time [L3-API-1]", async () => {
      const { seen, tool } = counting("pay", sideEffects);
      const { call } = await fixtureEngine({}, [tool]);
      const answers = await Promise.all(
        Array.from({ length: 5 }, () => call("pay", { n: 1 }, { idempotencyKey: "k" })),
      );
      expect(seen.runs).toBe(1);
      expect(new Set(answers.map(({ callId }) => callId)).size).toBe(1);
      expect(answers.filter(({ replayed }) => replayed)).toHaveLength(4);
    });

    it("gives the same answer from another engine on the same store, as after a restart [L3-API-1]", async () => {
      const store = createMemoryStore();
      const { seen, tool } = counting("pay", sideEffects);
      const before: Fixture = await fixtureEngine({ store }, [tool]);
      const first = await before.call("pay", { n: 1 }, { idempotencyKey: "k" });
      const after = await fixtureEngine({ store }, [tool]);
      const again = await after.call("pay", { n: 1 }, { idempotencyKey: "k" });
      expect(again).toEqual({ ...first, replayed: true });
      expect(seen.runs).toBe(1);
    });

    it("runs once when two engines on one store get it at the same time [L3-API-1]", async () => {
      const store = createMemoryStore();
      const { seen, tool } = counting("pay", sideEffects);
      const [one, two] = [await fixtureEngine({ store }, [tool]), await fixtureEngine({ store }, [tool])];
      const answers = await Promise.all(
        [one, two].map(({ call }) => call("pay", {}, { idempotencyKey: "k" })),
      );
      const succeeded = answers.filter(({ status }) => status === "success");
      if (sideEffects === "none") {
        expect(new Set(succeeded.map(({ callId }) => callId)).size).toBe(1);
      } else {
        expect(seen.runs).toBe(1);
        expect(
          answers.filter(({ status }) => status !== "success").map((answer) => errorOf(answer).code),
        ).toEqual(["E3909"]);
      }
    });

    it("with another body is a conflict, also while the first runs [L3-API-1]", async () => {
      const { seen, tool } = counting("pay", sideEffects);
      const { call } = await fixtureEngine({}, [tool]);
      const first = call("pay", { n: 1 }, { idempotencyKey: "k" });
      expect(errorOf(await call("pay", { n: 2 }, { idempotencyKey: "k" })).code).toBe("E3904");
      await first;
      expect(errorOf(await call("pay", { n: 3 }, { idempotencyKey: "k" })).code).toBe("E3904");
      expect(seen.runs).toBe(1);
    });

    it("gives a failed execution again too, and belongs to one agent", async () => {
      const { seen, tool } = counting("pay", sideEffects);
      const { call } = await fixtureEngine({}, [tool]);
      const first = await call("pay", { fail: true }, { idempotencyKey: "k" });
      const again = await call("pay", { fail: true }, { idempotencyKey: "k" });
      expect(errorOf(again)).toEqual(errorOf(first));
      await call("pay", {}, { idempotencyKey: "k", caller: { tenant: "acme", agent: "other" } });
      await call("pay", {}, { idempotencyKey: "k", caller: { tenant: "other", agent: "agent" } });
      expect(seen.runs).toBe(3);
    });
  },
);

describe("an idempotency key", () => {
  it("is free for another caller who waits, when the first cancels before anything ran", async () => {
    const { seen, tool } = counting("pay", "external");
    const { call } = await fixtureEngine({}, [tool]);
    const cancelled = { idempotencyKey: "k", signal: AbortSignal.abort("no longer wanted") };
    const [first, ...others] = await Promise.all([
      call("pay", {}, cancelled),
      call("pay", {}, { idempotencyKey: "k" }),
      call("pay", {}, { idempotencyKey: "k" }),
    ]);
    expect(first).toMatchObject({ status: "cancelled", replayed: false });
    expect(others.map(({ status, replayed }) => [status, replayed])).toEqual([
      ["success", false],
      ["success", true],
    ]);
    expect(seen.runs).toBe(1);
  });

  it("is not spent by a call that never ran: it may be tried again once the cause is gone", async () => {
    let allowed = false;
    const { seen, tool } = counting("pay", "external");
    const denied = {
      outcome: "deny" as const,
      reason: "not yet",
      rules: [],
      capabilities: [],
      missing: [],
      policyVersion: "1",
    };
    const authority = { decide: () => (allowed ? { ...denied, outcome: "allow" as const } : denied) };
    const { call } = await fixtureEngine({ authority }, [tool]);
    expect((await call("pay", {}, { idempotencyKey: "k" })).status).toBe("permission_denied");
    allowed = true;
    expect((await call("pay", {}, { idempotencyKey: "k" })).status).toBe("success");
    expect(seen.runs).toBe(1);
  });
});

describe("a request that two processes get at once", () => {
  it.each([
    ["with its key", {}],
    ["with its key and an id of its own", { callId: "c-1" }],
  ])("%s runs once, and both give its answer", async (_, ids) => {
    const { seen, tool } = counting("pay", "external");
    const store = createMemoryStore({ isShared: true });
    let intents = 0;
    const both = Promise.withResolvers<void>();
    const commit: Store["commit"] = async (unit) => {
      if (unit.open?.phase === "executing" && ++intents === 2) both.resolve();
      if (unit.open?.phase === "executing") await both.promise;
      return await store.commit(unit);
    };
    const ask = async () => {
      const { call } = await fixtureEngine({ store: { ...store, commit } }, [tool]);
      return () => call("pay", {}, { ...ids, idempotencyKey: "k" });
    };
    const asked = [await ask(), await ask()];
    const answers = await Promise.all(asked.map((once) => once()));
    expect(answers.map(({ status }) => status)).toEqual(["success", "success"]);
    expect([seen.runs, new Set(answers.map(({ callId }) => callId)).size]).toEqual([1, 1]);
  });
});

describe("a call id", () => {
  it("is used once, also while the first call runs", async () => {
    const { seen, tool } = counting("pay", "external");
    const { call, store } = await fixtureEngine({}, [tool]);
    const first = call("pay", {}, { callId: "c-1" });
    expect(errorOf(await call("pay", {}, { callId: "c-1" })).code).toBe("E3905");
    await first;
    expect(errorOf(await call("pay", {}, { callId: "c-1" })).code).toBe("E3905");
    expect(seen.runs).toBe(1);
    expect((await auditOf(store)).filter(({ state }) => state === "REFUSED")).toHaveLength(2);
  });
});
