import type { JsonValue } from "@sallyport/protocol";
import { describe, expect, it } from "vitest";
import type { ToolContext } from "../ports/runner.ts";
import { auditOf, errorOf, fixtureEngine, statesOf } from "../testing/fixture-engine.ts";

function nested(depth: number): JsonValue {
  let value: JsonValue = 1;
  for (let level = 0; level < depth; level += 1) value = [value];
  return value;
}

const STATEFUL = { sideEffects: "state", requiredCapabilities: ["state.read", "state.write"] };

const increment = {
  id: "counter",
  run: async (input: { then?: string }, { state }: ToolContext) => {
    const next = Number((await state.get("n")) ?? 0) + 1;
    await state.put("n", next);
    if (input.then === "throw") throw new Error("after the change");
    if (input.then === "hang") await new Promise(() => undefined);
    if (input.then === "wrong") return "not a number";
    return next;
  },
  output: { type: "number" },
  conduct: STATEFUL,
};

describe("state", () => {
  it("is kept by a call that succeeds, per tenant and tool [R1-4.3]", async () => {
    const { call, add } = await fixtureEngine({}, [increment]);
    await add({ ...increment, id: "other" });
    const results = [];
    for (const [tool, tenant] of [
      ["counter", "a"],
      ["counter", "a"],
      ["counter", "b"],
      ["other", "a"],
    ] as const) {
      const answer = await call(tool, {}, { caller: { tenant, agent: "x" } });
      results.push(answer.status === "success" && answer.result);
    }
    expect(results).toEqual([1, 2, 1, 1]);
  });

  it.each([
    ["throw", "E3907"],
    ["hang", "E3103"],
    ["wrong", "E3501"],
  ])(
    "is as before when the call ends in: %s, and the rollback is proved [R1-7.2] [R1-3]",
    async (then, code) => {
      const { call, store } = await fixtureEngine({}, [increment]);
      await call("counter", {});
      const limits = then === "hang" ? { timeoutMs: 500 } : {};
      const answer = await call("counter", { then }, { limits });
      expect(errorOf(answer).code).toBe(code);
      expect(answer.rollback).toMatchObject({ verified: true, discardedMutations: 1 });
      expect(answer.rollback).toMatchObject({
        ...{ covers: ["state"], unseen: ["other_files", "network", "processes"] },
      });
      expect(statesOf(answer).at(-1)).toBe("ROLLED_BACK");
      expect((await auditOf(store)).at(-1)).toMatchObject({
        state: "ROLLED_BACK",
        rollback: { verified: true },
      });
      expect(await call("counter", {})).toMatchObject({ status: "success", result: 2 });
    },
  );

  it("written by two calls at once goes to the first; the second gets a state error and nothing is lost [R1-4.3] [R1-7.1]", async () => {
    const { call } = await fixtureEngine({ admission: { perAgent: 50 } }, [increment]);
    const answers = await Promise.all(Array.from({ length: 10 }, () => call("counter", {})));
    const done = answers.filter(({ status }) => status === "success");
    const lost = answers.filter(({ status }) => status !== "success");
    expect(lost.length).toBeGreaterThan(0);
    expect(lost.every((answer) => errorOf(answer).code === "E3704" && !errorOf(answer).retryable)).toBe(true);
    expect(await call("counter", {})).toMatchObject({ result: done.length + 1 });
  });

  it.each<[what: string, value: () => JsonValue, words: string]>([
    ["too deep", () => nested(65), "is nested deeper than 64 levels"],
    ["so deep that it cannot be written as text", () => nested(100_000), "JSON"],
    [
      "with __proto__",
      () => JSON.parse('{"a":{"__proto__":1}}'),
      "at /a/__proto__ is a name that is not allowed",
    ],
    ["with half a character", () => ["\ud800"], "at /0 holds a lone surrogate"],
    ["with half a character in a name", () => ({ "\ud800": 1 }), "is a name that is not allowed"],
    ["too large", () => "x".repeat(300_000), "is larger than 262144 bytes"],
    ["that is no JSON", () => Symbol("odd") as never, "JSON"],
  ])(
    "takes no value %s: E3709 where it is written, and the call ends so unless it is caught",
    async (_, value, words) => {
      const run = async (input: { catches?: true }, { state }: ToolContext) => {
        const written = state.put("n", value());
        return input.catches ? await written.catch(({ message }) => message) : await written;
      };
      const { call } = await fixtureEngine({}, [{ id: "counter", run, conduct: STATEFUL }]);
      const refused = errorOf(await call("counter", {}));
      expect(refused).toMatchObject({ code: "E3709", message: expect.stringContaining(words) });
      expect(await call("counter", { catches: true })).toMatchObject({ result: refused.message });
    },
  );

  it("cannot be changed by a tool that declares no side effects [R1-4.2]", async () => {
    const conduct = { ...STATEFUL, sideEffects: "none" };
    const { call } = await fixtureEngine({}, [{ ...increment, conduct }]);
    expect(errorOf(await call("counter", {})).code).toBe("E3911");
  });

  it("cannot be touched without the capability, even when the tool catches the refusal [R1-5.2]", async () => {
    const sneaky = async (_: unknown, { state }: ToolContext) => {
      await state.get("n").catch(() => undefined);
      return "got away with it";
    };
    const { call, store } = await fixtureEngine({}, [{ id: "sneaky", run: sneaky }]);
    const answer = await call("sneaky", {});
    expect(errorOf(answer)).toMatchObject({ code: "E3212", details: { capability: "state.read" } });
    expect(answer.status).toBe("permission_denied");
    expect((await auditOf(store)).at(-1)).toMatchObject({ error: { code: "E3212" } });
  });

  it("cannot be changed after the call has ended", async () => {
    let late: Promise<unknown> | undefined;
    const run = (_: unknown, { state }: ToolContext) => {
      late = new Promise((resolve) => setTimeout(resolve, 20)).then(() => state.put("n", 1));
      late.catch(() => undefined);
      return 1;
    };
    const { call } = await fixtureEngine({}, [{ ...increment, run }]);
    expect((await call("counter", {})).status).toBe("success");
    await expect(late).rejects.toThrow();
  });
});

describe("retry", () => {
  it("repeats an idempotent call that timed out, each attempt with its own lifecycle [R1-7.3]", async () => {
    let runs = 0;
    const run = () => (++runs < 3 ? new Promise(() => undefined) : "third");
    const conduct = { idempotent: true, limits: { timeoutMs: 300, memoryBytes: 1e9 } };
    const { call, store } = await fixtureEngine({ retry: { baseDelayMs: 1 } }, [
      { id: "flaky", run, conduct },
    ]);
    const answer = await call("flaky", {});
    expect(answer).toMatchObject({ status: "success", result: "third", attempts: 3 });
    const events = await auditOf(store);
    expect(new Set(events.map(({ executionId }) => executionId)).size).toBe(3);
    expect(events.filter(({ state }) => state === "ROLLED_BACK")).toHaveLength(2);
    expect(new Set(events.map(({ eventId }) => eventId)).size).toBe(events.length);
  });

  it("gives up after three retries [R1-7.3]", async () => {
    let runs = 0;
    const run = () => {
      runs += 1;
      return new Promise(() => undefined);
    };
    const conduct = {
      idempotent: true,
      sideEffects: "external",
      limits: { timeoutMs: 100, memoryBytes: 1e9 },
    };
    const { call, engine } = await fixtureEngine({ retry: { baseDelayMs: 1 } }, [
      { id: "stuck", run, conduct },
    ]);
    const answer = await call("stuck", {});
    expect(runs).toBe(4);
    expect(answer).toMatchObject({ status: "timeout", attempts: 4 });
    expect(await engine.standing(answer.callId)).toMatchObject({ status: "timeout" });
  });

  it("never repeats a tool that is not idempotent, nor an execution error [R1-7.3] [D-3]", async () => {
    let runs = 0;
    const limits = { timeoutMs: 100, memoryBytes: 1e9 };
    const { call } = await fixtureEngine({}, [
      {
        id: "once",
        run: () => {
          runs += 1;
          return new Promise(() => undefined);
        },
        conduct: { limits },
      },
      {
        id: "throws",
        run: () => {
          runs += 1;
          throw new Error("no");
        },
        conduct: { idempotent: true },
      },
    ]);
    await call("once", {});
    await call("throws", {});
    expect(runs).toBe(2);
  });

  it("ends as cancelled when it is cancelled between two attempts", async () => {
    const controller = new AbortController();
    const run = () => {
      setTimeout(() => controller.abort(), 2_000);
      return new Promise(() => undefined);
    };
    const conduct = { idempotent: true, limits: { timeoutMs: 20, memoryBytes: 1e9 } };
    const options = { retry: { baseDelayMs: 50_000, maxDelayMs: 50_000 }, random: () => 0.99 };
    const { call } = await fixtureEngine(options, [{ id: "stuck", run, conduct }]);
    const answer = await call("stuck", {}, { signal: controller.signal });
    expect(answer).toMatchObject({ status: "cancelled", attempts: 2 });
  });
});

describe("hooks around a call", () => {
  it("run before and always after, and see how it ended [MCX-2]", async () => {
    const seen: string[] = [];
    const hooks = [
      {
        name: "log",
        before: () => void seen.push("before"),
        after: (_: unknown, { status }: { status: string }) => void seen.push(status),
      },
    ];
    const { call } = await fixtureEngine({ hooks }, [
      { id: "ok", run: () => 1 },
      {
        id: "no",
        run: () => {
          throw new Error("no");
        },
      },
    ]);
    await call("ok", {});
    await call("no", {});
    expect(seen).toEqual(["before", "success", "before", "error"]);
  });

  it("refuse it: the tool does not run, and what was begun is rolled back [MCX-2]", async () => {
    let ran = false;
    const hooks = [
      {
        name: "policy",
        before: () => {
          throw new Error("not today");
        },
      },
    ];
    const { call } = await fixtureEngine({ hooks }, [
      {
        id: "ok",
        run: () => {
          ran = true;
        },
      },
    ]);
    const answer = await call("ok", {});
    expect(errorOf(answer)).toMatchObject({ code: "E3913", details: { hook: "policy" } });
    expect([ran, statesOf(answer).at(-1)]).toEqual([false, "ROLLED_BACK"]);
  });
});

describe("admission", () => {
  it("keeps an agent to four calls at once; the others wait their turn [L3-EXE-4] [MCX-9]", async () => {
    let running = 0;
    let most = 0;
    const run = async () => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setTimeout(resolve, 5));
      running -= 1;
      return null;
    };
    const { call } = await fixtureEngine({}, [{ id: "slow", run }]);
    const answers = await Promise.all(Array.from({ length: 20 }, () => call("slow", {})));
    expect(answers.every(({ status }) => status === "success")).toBe(true);
    expect(most).toBe(4);
  });
});

describe("the context of a call", () => {
  it("is made fresh for each, with its own id, deadline and abort handle [FR-REG-04]", async () => {
    const seen: ToolContext[] = [];
    const run = async (_: unknown, context: ToolContext) => {
      seen.push(context);
      await new Promise((resolve) => setTimeout(resolve, 5));
      return context.signal.aborted;
    };
    const { call, engine } = await fixtureEngine({}, [{ id: "look", run }]);
    const [first, second] = [call("look", {}, { callId: "one" }), call("look", {}, { callId: "two" })];
    await new Promise((resolve) => setTimeout(resolve, 1));
    await engine.cancelCall("one", { reason: "enough" });
    expect((await first).status).toBe("cancelled");
    expect(await second).toMatchObject({ status: "success", result: false });
    expect(seen.map(({ callId }) => callId)).toEqual(["one", "two"]);
    expect(seen[0]).not.toBe(seen[1]);
    expect(seen.every(({ deadlineAt, tenant }) => deadlineAt > Date.now() && tenant === "acme")).toBe(true);
  });
});
