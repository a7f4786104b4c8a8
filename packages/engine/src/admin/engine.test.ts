import type { JsonValue } from "@sallyport/protocol";
import { describe, expect, it } from "vitest";
import { grantAuthority } from "../authorise/authority.ts";
import { auditOf, errorOf, fixtureEngine, SUM_INPUT, statesOf } from "../testing/fixture-engine.ts";

const SUM_OUTPUT = {
  type: "object",
  properties: { sum: { type: "number" } },
  required: ["sum"],
  additionalProperties: false,
};

const adder = {
  id: "adder",
  input: SUM_INPUT,
  output: SUM_OUTPUT,
  run: ({ a, b }: { a: number; b: number }) => ({ sum: a + b }),
};

const SUCCESS = ["DECLARED", "VALIDATED", "AUTHORIZED", "EXECUTING", "COMPLETED"];
const UNDONE = ["DECLARED", "VALIDATED", "AUTHORIZED", "EXECUTING", "ROLLED_BACK"];
const ABORTED_UNSTARTED = ["DECLARED", "VALIDATED", "AUTHORIZED", "ABORTED", "ROLLED_BACK"];
const ABORTED = ["DECLARED", "VALIDATED", "AUTHORIZED", "EXECUTING", "ABORTED", "ROLLED_BACK"];

function nested(depth: number): JsonValue {
  let value: JsonValue = 0;
  for (let level = 0; level < depth; level += 1) value = [value];
  return value;
}

function throwing(thrown: unknown): () => never {
  return () => {
    throw thrown;
  };
}

describe("a call", () => {
  it("passes every state, with an event at each, and comes back with result, receipt and isolation [R1-3] [MCX-3] [R1-8.1] [R1-5.3]", async () => {
    const { call, store } = await fixtureEngine({}, [adder]);
    const answer = await call("adder", { a: 2, b: 3 });
    const isolation = { level: "LEVEL_0", runner: "inline" };
    expect(answer).toMatchObject({ status: "success", result: { sum: 5 }, attempts: 1, isolation });
    expect(answer).toMatchObject({ receipt: { tenant: "acme", strand: 0, sequence: 1 }, replayed: false });
    expect(statesOf(answer)).toEqual(SUCCESS);
    const events = await auditOf(store);
    const { callId, receipt } = answer;
    const { inputHash, outputHash } = receipt ?? {};
    expect(events).toMatchObject(SUCCESS.map((state) => ({ state, callId, inputHash })));
    expect(events.at(-1)).toMatchObject({ outputHash, isolation: { runner: "inline" } });
    expect(await store.audit.heads("acme")).toEqual([{ strand: 0, sequence: 1, hash: receipt?.hash }]);
  });

  it("with a wrong input fails before anybody is asked for permission [R1-6.1] [FR-VAL-01] [MCX-1]", async () => {
    const reached: string[] = [];
    const decide = () => {
      reached.push("authority");
      throw new Error("not reached");
    };
    const run = () => reached.push("tool");
    const { call } = await fixtureEngine({ authority: { decide } }, [{ ...adder, run }]);
    const answer = await call("adder", { a: "two", c: 1 });
    expect(statesOf(answer)).toEqual(["DECLARED", "FAILED"]);
    const { code, issues = [] } = errorOf(answer);
    expect(code).toBe("E3901");
    expect(issues.map(({ path }) => path).toSorted()).toEqual(["/a", "/b", "/c"]);
    expect(reached).toEqual([]);
  });

  it("without a grant is denied, and the reason is on record [R1-3] [R1-8.3]", async () => {
    const { call, store, meter, engine } = await fixtureEngine({ authority: grantAuthority([]) }, [adder]);
    const answer = await call("adder", { a: 1, b: 1 });
    expect(answer.status).toBe("permission_denied");
    expect(errorOf(answer)).toMatchObject({ code: "E3209", retryable: false });
    expect(errorOf(answer).advice).toContain("adder");
    expect(statesOf(answer)).toEqual(["DECLARED", "VALIDATED", "DENIED"]);
    expect((await auditOf(store)).at(-1)).toMatchObject({
      state: "DENIED",
      decision: { outcome: "deny" },
      error: { code: "E3209" },
    });
    await engine.close();
    expect(meter.total("capability_denials_total")).toBe(1);
  });

  const decision = { outcome: "allow", rules: [], capabilities: [], missing: [] };
  it.each([
    ["throws", throwing(new Error("policy engine is down"))],
    ["rejects", () => Promise.reject(new Error("down"))],
    ["says nothing", () => new Promise<never>(() => undefined)],
    ["gives back nothing", () => undefined as never],
    ["decides in a word nobody knows", () => ({ ...decision, outcome: "maybe" }) as never],
    ["allows although a capability is missing", () => ({ ...decision, missing: ["x"] }) as never],
    ["forgets half of its answer", async () => ({ outcome: "allow" }) as never],
  ])("is denied when the authority %s", async (_, decide) => {
    const { call } = await fixtureEngine({ authority: { decide }, limits: { decisionMs: 20 } }, [adder]);
    const answer = await call("adder", { a: 1, b: 1 });
    expect(errorOf(answer).code).toBe("E3206");
    expect(statesOf(answer)).toEqual(["DECLARED", "VALIDATED", "DENIED"]);
  });

  it("is denied when the authority allows it without giving what the tool needs", async () => {
    const allow = { outcome: "allow" as const, reason: "", policyVersion: "1" };
    const authority = { decide: () => ({ ...allow, rules: [], capabilities: [], missing: [] }) };
    const conduct = { requiredCapabilities: ["state.read"] };
    const { call } = await fixtureEngine({ authority }, [{ ...adder, conduct }]);
    const answer = await call("adder", { a: 1, b: 1 });
    expect(answer.status).toBe("permission_denied");
    expect(statesOf(answer).at(-1)).toBe("DENIED");
  });

  it("that is no request at all is malformed, and never throws", async () => {
    const { engine } = await fixtureEngine({}, [adder]);
    for (const nothing of [null, undefined, 7, "adder"]) {
      expect(errorOf(await engine.call(nothing as never)).code).toBe("E3903");
    }
  });

  it("that needs approval is denied where nobody can be asked, never waved through", async () => {
    const ran: unknown[] = [];
    const run = (input: unknown) => ran.push(input);
    const { call } = await fixtureEngine({}, [
      { id: "careful", run, conduct: { requiresApproval: true } },
      { id: "plain", run },
    ]);
    const onApproval = "deny" as const;
    expect(errorOf(await call("careful", {}, { onApproval })).code).toBe("E3211");
    expect(errorOf(await call("plain", {}, { requireApproval: true, onApproval })).code).toBe("E3211");
    expect(ran).toEqual([]);
  });

  it.each([
    ["rejects", () => Promise.reject(new Error("runner broke"))],
    ["gives back nothing", async () => undefined as never],
  ])("is rolled back when its runner %s [R1-4.4]", async (_, run) => {
    const isolation = { level: "LEVEL_0", runner: "inline" } as const;
    const runners = [{ kind: "inline", isolation, run, close: async () => undefined }];
    const { call } = await fixtureEngine({ runners }, [adder]);
    const answer = await call("adder", { a: 1, b: 1 });
    expect(errorOf(answer).code).toBe("E3107");
    expect(statesOf(answer).at(-1)).toBe("ROLLED_BACK");
  });

  it("whose result does not match its schema is rolled back [R1-6.2] [R1-5.3]", async () => {
    const { call } = await fixtureEngine({}, [{ ...adder, run: () => ({ sum: "5" }) }]);
    const answer = await call("adder", { a: 2, b: 3 });
    expect(errorOf(answer)).toMatchObject({ code: "E3501", issues: [{ path: "/sum" }] });
    expect(statesOf(answer)).toEqual(UNDONE);
  });

  it.each([
    ["nested 65 deep", nested(65), "E3509"],
    ["nested 1,900 deep", nested(1_900), "E3509"],
    ["nested 5,000 deep", nested(5_000), "E3509"],
    ["with __proto__", JSON.parse('{"a":{"__proto__":{"admin":true}}}'), "E3510"],
    ["with a lone surrogate", { a: ["\ud800"] }, "E3510"],
    ["with a lone surrogate in a name", { "\udc00": 1 }, "E3510"],
    ["with a number that JSON cannot write", JSON.parse('{"a":[-1e999]}'), "E3510"],
  ])(
    "whose result is %s is rolled back, and its key answers the same again [R1-6.2] [R1-5.3]",
    async (_, output, code) => {
      const isolation = { level: "LEVEL_0", runner: "inline" } as const;
      const run = async () => ({ ok: true as const, output, usage: { cpuMs: 0, memoryPeakBytes: 0 } });
      const runners = [{ kind: "inline", isolation, run, close: async () => undefined }];
      const { call } = await fixtureEngine({ runners }, [{ run: () => null }]);
      const answers = [
        await call("tool", {}, { idempotencyKey: "k" }),
        await call("tool", {}, { idempotencyKey: "k" }),
      ];
      expect(answers.map((answer) => errorOf(answer).code)).toEqual([code, code]);
      expect(answers.map(statesOf)).toEqual([UNDONE, UNDONE]);
    },
  );

  it("whose result is nested as deeply as an input may be succeeds", async () => {
    const { call } = await fixtureEngine({}, [{ run: () => nested(64) }]);
    expect(await call("tool", {})).toMatchObject({ status: "success", result: nested(64) });
  });

  const GIB = 1024 ** 3;
  it.each([
    ["1 TiB on a host of 8 GiB", 1024 * GIB, undefined, 8 * GIB, ABORTED_UNSTARTED],
    ["a byte more than the host has", 8 * GIB + 1, undefined, 8 * GIB, ABORTED_UNSTARTED],
    ["what the host has", 8 * GIB, undefined, 8 * GIB, SUCCESS],
    ["1 TiB, tightened by the request", 1024 * GIB, GIB, 8 * GIB, SUCCESS],
    ["nothing, on a host below the default", undefined, undefined, GIB / 2, SUCCESS],
  ])(
    "whose tool declares %s of memory ends as the host can give it [R1-5.1]",
    async (_, declared, asked, has, states) => {
      const ran: unknown[] = [];
      const run = (input: unknown) => ran.push(input);
      const conduct = declared === undefined ? {} : { limits: { memoryBytes: declared } };
      const { call } = await fixtureEngine({ host: { memoryBytes: () => has } }, [{ run, conduct }]);
      const answer = await call("tool", {}, asked === undefined ? {} : { limits: { memoryBytes: asked } });
      expect(statesOf(answer)).toEqual(states);
      expect(ran).toHaveLength(states === SUCCESS ? 1 : 0);
      if (states === SUCCESS) return;
      expect(errorOf(answer)).toMatchObject({
        code: "E3102",
        details: { limit: "memoryBytes", wanted: declared, available: has },
        retryable: false,
      });
    },
  );

  it("whose tool throws becomes a structured error, reported with its stack [R1-4.4] [FR-EXE-04b]", async () => {
    const { call, errors } = await fixtureEngine({}, [
      { id: "broken", run: throwing(new Error("kaputt")) },
      { id: "idempotent", run: throwing("text"), conduct: { idempotent: true } },
    ]);
    expect(errorOf(await call("broken", {}))).toMatchObject({
      code: "E3907",
      message: "Tool panicked: kaputt",
      retryable: false,
    });
    expect(errorOf(await call("idempotent", {}))).toMatchObject({ code: "E3907", retryable: true });
    expect(errors.reports[0]).toMatchObject({
      code: "E3907",
      tool: "broken",
      stage: "execute",
      error: { kind: "threw" },
    });
    expect(errors.reports[0]?.error).toMatchObject({ stack: expect.stringContaining("kaputt") });
  });

  /** Runs until it is ended. */
  const slow = (timeoutMs: number) => ({
    id: "slow",
    run: () => new Promise(() => undefined),
    conduct: { limits: { timeoutMs, memoryBytes: 1e9 } },
  });

  it("that takes too long is aborted and rolled back [R1-5.2] [R1-3]", async () => {
    const { call } = await fixtureEngine({}, [slow(20)]);
    const answer = await call("slow", {});
    expect(answer.status).toBe("timeout");
    expect(errorOf(answer).code).toBe("E3103");
    expect(statesOf(answer)).toEqual(ABORTED);
  });

  it("can be cancelled while it runs, and before [MCX-5]", async () => {
    const begun = Promise.withResolvers<void>();
    const run = () => {
      begun.resolve();
      return new Promise(() => undefined);
    };
    const { call, engine } = await fixtureEngine({}, [{ id: "slow", run }]);
    const running = call("slow", {}, { callId: "one" });
    await begun.promise;
    expect(await engine.cancelCall("one", { reason: "enough" })).toMatchObject({ cancelled: true });
    const answer = await running;
    expect(answer.status).toBe("cancelled");
    expect(statesOf(answer)).toEqual(ABORTED);
    expect(await engine.cancelCall("one", { reason: "again" })).toMatchObject({
      message: "Already cancelled.",
    });
    const early = await call("slow", {}, { signal: AbortSignal.abort() });
    expect(early.status).toBe("cancelled");
    expect(statesOf(early)).toEqual(["DECLARED", "VALIDATED", "ABORTED", "ROLLED_BACK"]);
  });

  it("to a tool or operation that is not there is refused, on record [MCX-1]", async () => {
    const { call, store } = await fixtureEngine({}, [adder]);
    expect(errorOf(await call("addre", {}))).toMatchObject({
      code: "E3001",
      message: expect.stringContaining("adder"),
    });
    expect(errorOf(await call("adder", {}, { operation: "nope" })).code).toBe("E3010");
    expect(errorOf(await call("adder", {}, { version: "^9" })).code).toBe("E3006");
    expect((await auditOf(store)).map(({ state }) => state)).toEqual(["REFUSED", "REFUSED", "REFUSED"]);
  });

  it("may tighten the tool's limits but not widen them [R1-5.1]", async () => {
    const { call } = await fixtureEngine({}, [slow(1_000)]);
    expect((await call("slow", {}, { limits: { timeoutMs: 10 } })).status).toBe("timeout");
    const wide = await call("slow", {}, { limits: { timeoutMs: 2_000 } });
    expect(errorOf(wide).code).toBe("E3102");
    expect(statesOf(wide)).toEqual(ABORTED_UNSTARTED);
  });

  it.each([
    ["no tool", { tool: "" }],
    ["a tool that is no string", { tool: 7 }],
    ["no tenant", { caller: { agent: "a" } }],
    ["a call id with spaces", { callId: "a b" }],
    ["an empty idempotency key", { idempotencyKey: "" }],
    ["the engine's own tenant", { caller: { tenant: "sallyport", agent: "a" } }],
    ["a signal that is none", { signal: {} }],
    ["a negative limit", { limits: { timeoutMs: -5 } }],
  ])("with %s is malformed, and never throws", async (_, wrong) => {
    const { call } = await fixtureEngine({}, [adder]);
    const answer = await call("adder", { a: 1, b: 2 }, wrong as never);
    expect(errorOf(answer).code).toBe("E3903");
    expect(errorOf(answer).issues).toHaveLength(1);
  });

  const cycle: Record<string, unknown> = {};
  cycle.self = cycle;
  it.each([
    ["a function", () => undefined],
    ["a date", new Date()],
    ["NaN", { a: Number.NaN, b: 1 }],
    ["a cycle", cycle],
    ["a getter", Object.defineProperty({}, "a", { get: throwing(new Error("ran")), enumerable: true })],
    ["__proto__", JSON.parse('{"__proto__":{"x":1},"a":1,"b":2}')],
    ["a lone surrogate", { a: "\ud800" }],
    ["too deep", JSON.parse(`${"[".repeat(100)}${"]".repeat(100)}`)],
    ["too large", "x".repeat(300_000)],
  ])("with %s as input fails validation and nothing else happens [R1-6.1]", async (_, input) => {
    const { call } = await fixtureEngine({}, [{ id: "any", run: (given: JsonValue) => given }]);
    const answer = await call("any", input);
    expect(statesOf(answer)).toEqual(["DECLARED", "FAILED"]);
    expect(["E3901", "E3902"]).toContain(errorOf(answer).code);
  });
});
