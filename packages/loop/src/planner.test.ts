import type { CallPlan } from "@sallyport/engine";
import { failure, type JsonValue, SallyportError } from "@sallyport/protocol";
import { describe, expect, it } from "vitest";
import { calls, codesOf, planningContext, reasonOf, TOOLS, tool } from "./fixtures/planning.ts";
import { scriptedLoop } from "./fixtures/scripted-loop.ts";
import { type AskedFor, describeCall, planBatch } from "./planner.ts";

describe("planning a batch", () => {
  it("runs, asks or answers each call by itself [FR-APR-02] [FR-LIM-06]", async () => {
    const { context } = planningContext();
    const planned = await planBatch(calls("read_file", "write_file", "run_command", "nothing"), context);
    expect(codesOf(planned)).toEqual(["execute", "confirm", "E3953", "E3001"]);
    expect(planned.map(({ index, id }) => [index, id])).toEqual([0, 1, 2, 3].map((n) => [n, `id${n}`]));
    expect(planned[1]).toMatchObject({
      because: "policy",
      summary: "About write_file",
      risk: "medium",
      input: {},
    });
  });

  it("answers every call with an error while tools are not enabled [FR-MODE-01] [T-MODE-01]", async () => {
    for (const mode of ["disabled", "parse_only"] as const) {
      const { context, seen } = planningContext({ mode });
      const planned = await planBatch(calls("read_file", "nothing"), context);
      expect(codesOf(planned)).toEqual(["E3954", "E3954"]);
      expect(reasonOf(planned[0])).toBe("Tool execution disabled");
      expect(seen).toEqual([]);
    }
  });

  it("keeps the first of a repeated id and answers the others with an error [FR-VAL-02]", async () => {
    const batch = calls("read_file", "read_file", "read_file").map((call) => ({ ...call, id: "same" }));
    const planned = await planBatch(batch, planningContext().context);
    expect(codesOf(planned)).toEqual(["execute", "E3950", "E3950"]);
    expect(reasonOf(planned[1])).toContain("Duplicate tool call id: same");
  });

  it("answers the calls beyond the batch limit, naming it, and goes on with the others [FR-LIM-01] [FR-LIM-06] [T-LIM-01]", async () => {
    const { context } = planningContext({ limits: { maxToolCallsPerBatch: 2 } });
    const [first, ...rest] = calls("read_file", "read_file", "read_file", "read_file");
    const repeated = { index: 9, id: "id0", name: "read_file", arguments: "{}" };
    const planned = await planBatch(first ? [first, repeated, ...rest] : [], context);
    expect(codesOf(planned)).toEqual(["execute", "E3950", "execute", "E3957", "E3957"]);
    expect(reasonOf(planned[3])).toContain("4 tool calls in one batch; max_tool_calls_per_batch is 2");
  });

  it("tells what is wrong with a call that its tool cannot describe [FR-VAL-02]", async () => {
    const bad = failure("E3901", { message: "Bad args: patch line 3 is not an operation" });
    const undescribed = failure("E3211", { message: "The tool could not describe the call" });
    const tools = [tool("apply_patch", { preflight: async () => bad }), tool("other")];
    const { context } = planningContext({ tools, plan: () => ({ kind: "refused", error: undescribed }) });
    const planned = await planBatch(calls("apply_patch", "other"), context);
    expect(codesOf(planned)).toEqual(["E3901", "E3211"]);
    expect(reasonOf(planned[0])).toContain("patch line 3 is not an operation");
  });

  it("takes eight calls by default and not nine [FR-LIM-01]", async () => {
    const planned = await planBatch(calls(...Array<string>(9).fill("read_file")), planningContext().context);
    expect(codesOf(planned)).toEqual([...Array(8).fill("execute"), "E3957"]);
  });

  it("answers calls after the last iteration with the fixed words [FR-LIM-02] [FR-RES-03]", async () => {
    expect(codesOf(await planBatch(calls("read_file"), planningContext({ iteration: 4 }).context))).toEqual([
      "execute",
    ]);
    const planned = await planBatch(calls("read_file"), planningContext({ iteration: 5 }).context);
    expect(codesOf(planned)).toEqual(["E3957"]);
    expect(reasonOf(planned[0])).toBe("Max tool iterations reached");
  });

  it("measures the arguments in bytes of their JSON text [FR-LIM-03] [FR-LIM-06]", async () => {
    const given = (text: string): AskedFor[] => [{ index: 0, id: "a", name: "read_file", arguments: text }];
    const { context, seen } = planningContext({ limits: { maxToolArgsBytes: 16 } });
    expect(codesOf(await planBatch(given(`{"p":"${"x".repeat(8)}"}`), context))).toEqual(["execute"]);
    const planned = await planBatch(given(`{"p":"${"é".repeat(8)}"}`), context);
    expect(codesOf(planned)).toEqual(["E3957"]);
    expect(reasonOf(planned[0])).toContain("max_tool_args_bytes is 16");
    expect(seen).toHaveLength(1);
  });

  it("names the nearest tool for one it does not know, and asks nobody [T-VAL-01] [FR-VAL-02] [NFR-PERF-01]", async () => {
    const { context, seen } = planningContext();
    const [planned] = await planBatch(calls("read_fil"), context);
    expect(reasonOf(planned)).toMatch(/^Unknown tool: read_fil\. Did you mean "read_file"/);
    for (const name of ["__proto__", "constructor", "toString"]) {
      expect(codesOf(await planBatch(calls(name), context))).toEqual(["E3001"]);
    }
    expect(seen).toEqual([]);
  });

  it.each(["[]", "null", "12", '"x"', "{", '{"a":', "nope", '{"a":1}}'])(
    "refuses arguments that are no JSON object: %s [FR-VAL-01] [T-VAL-02]",
    async (text) => {
      const { context, seen } = planningContext();
      const planned = await planBatch([{ index: 0, id: "a", name: "read_file", arguments: text }], context);
      expect(codesOf(planned)).toEqual(["E3901"]);
      expect(reasonOf(planned[0])).toMatch(/^Bad args: Arguments/);
      expect(seen).toEqual([]);
    },
  );

  it("never repeats broken arguments, in which a secret may be [FR-VAL-01]", async () => {
    const batch = [{ index: 0, id: "a", name: "read_file", arguments: "sk-secret" }];
    expect(JSON.stringify(await planBatch(batch, planningContext().context))).not.toContain("sk-secret");
  });

  it("takes no text at all for no arguments [FR-VAL-01]", async () => {
    const planned = await planBatch(
      [{ index: 0, id: "a", name: "read_file", arguments: "" }],
      planningContext().context,
    );
    expect(planned[0]).toMatchObject({ kind: "execute", input: {} });
  });

  it("answers what the engine refuses, such as arguments that do not fit the schema [FR-VAL-01] [T-VAL-02]", async () => {
    const error = failure("E3901", { message: "/path must be a string" });
    const { context } = planningContext({ plan: () => ({ kind: "refused", error }) });
    const [planned] = await planBatch(calls("read_file"), context);
    expect(planned).toMatchObject({ kind: "resolved", error });
    expect(reasonOf(planned)).toMatch(/^Bad args: \/path must be a string/);
  });

  it("answers what the tool's preflight refuses, before anybody is asked [FR-VAL-02] [FR-APR-05]", async () => {
    const error = failure("E3955", { message: "../x is outside the sandbox" });
    const preflight = async (input: JsonValue, conversationId: string) =>
      conversationId === "conversation" && JSON.stringify(input) === "{}" ? error : undefined;
    const { context } = planningContext({ tools: [tool("write_file", { sideEffects: true, preflight })] });
    expect((await planBatch(calls("write_file"), context))[0]).toMatchObject({
      kind: "resolved",
      error,
      summary: "About write_file",
      risk: "medium",
    });
  });

  it("makes an answer of whatever is thrown while planning [FR-APR-06] [FR-LIM-06]", async () => {
    const thrown = [new Error("boom"), new SallyportError(failure("E3914")), "text", null];
    for (const value of thrown) {
      const preflight = () => Promise.reject(value);
      const plan = () => Promise.reject(value);
      const code = value instanceof SallyportError ? "E3914" : "E3900";
      const inPlan = await planBatch(calls("read_file"), planningContext({ plan }).context);
      const inPreflight = await planBatch(
        calls("read_file"),
        planningContext({ tools: [tool("read_file", { preflight })] }).context,
      );
      expect([...codesOf(inPlan), ...codesOf(inPreflight)]).toEqual([code, code]);
    }
  });

  it("cuts a summary to 200 characters, dots included, and takes the tool's risk [FR-APR-06]", async () => {
    const said = (summary: string) =>
      planningContext({ plan: () => ({ kind: "ask", because: "tool", summary, risk: "high" }) });
    const [long] = await planBatch(calls("write_file"), said("x".repeat(201)).context);
    expect(long).toMatchObject({
      kind: "confirm",
      risk: "high",
      because: "tool",
      summary: `${"x".repeat(197)}...`,
    });
    const [fits] = await planBatch(calls("write_file"), said("y".repeat(200)).context);
    expect(fits?.summary).toBe("y".repeat(200));
    const [pair] = await planBatch(calls("write_file"), said(`${"x".repeat(196)}🎉🎉🎉`).context);
    expect(pair?.summary).toBe(`${"x".repeat(196)}...`);
  });

  it("asks because the tool demands it, in every mode that does not deny it [FR-APR-04] [FR-APR-05]", async () => {
    const plan = (): CallPlan => ({ kind: "ask", because: "tool", summary: "s", risk: "low" });
    for (const mode of ["auto", "prompt", "deny"] as const) {
      const { context } = planningContext({ policy: { mode, allowlist: ["read_file"] }, plan });
      expect(codesOf(await planBatch(calls("read_file"), context))).toEqual(["confirm"]);
    }
    const denied = planningContext({ policy: { mode: "deny", allowlist: [] }, plan });
    expect(codesOf(await planBatch(calls("read_file"), denied.context))).toEqual(["E3953"]);
  });

  it("does not ask again where a standing grant has answered the engine's question [FR-APR-04]", async () => {
    const plan = { kind: "run", summary: "s", risk: "medium" } as const;
    const answered = planningContext({ plan: () => ({ ...plan, standing: "grant-1" }) });
    expect(codesOf(await planBatch(calls("write_file"), answered.context))).toEqual(["execute"]);
    const { context } = planningContext({ plan: () => plan });
    expect(codesOf(await planBatch(calls("write_file"), context))).toEqual(["confirm"]);
  });
});

const CALL = { name: "put", arguments: '{"a":1}' };

/** What is said of a call when the engine plans it so. */
async function described(plan: () => Promise<CallPlan>, call = CALL) {
  const { engine, parts } = await scriptedLoop({ answers: [] });
  const planning = {
    plan,
    call: () => engine.call({ tool: "none", input: {}, caller: parts.caller }),
    resume: (id: string) => engine.resume(id),
    cancelCall: (id: string, order: { reason: string }) => engine.cancelCall(id, order),
    standing: (id: string) => engine.standing(id),
    approvals: engine.approvals,
  };
  return await describeCall(call, {
    ...parts,
    engine: planning,
    tools: [tool("put", { sideEffects: true })],
  });
}

describe("the line about a call that is not planned", () => {
  it("is the one its plan would have, as short [FR-APR-06]", async () => {
    const long = "x".repeat(300);
    const ask = async (): Promise<CallPlan> => ({
      kind: "ask",
      because: "tool",
      summary: long,
      risk: "high",
    });
    expect(await described(ask)).toEqual({ summary: `${long.slice(0, 197)}...`, risk: "high" });
  });

  it("is its name where there is no better one, and never fails", async () => {
    const named = { summary: "put", risk: "medium" };
    const refused = async (): Promise<CallPlan> => ({ kind: "refused", error: failure("E3901") });
    expect(await described(refused)).toEqual(named);
    expect(await described(() => Promise.reject(new Error("gone")))).toEqual(named);
    expect(await described(refused, { ...CALL, arguments: "{" })).toEqual(named);
    const unknown = { name: "no\u202ebody", arguments: "{}" };
    expect((await described(refused, unknown)).summary).toBe("no<U+202E>body");
  });
});

describe("the order in which a call is refused", () => {
  /** Each makes the call wrong in one more way; the strictest comes first. */
  const FAULTS = [
    "disabled mode",
    "iterations",
    "policy",
    "denylist",
    "size",
    "lookup",
    "json",
    "plan",
    "preflight",
    "deny",
  ] as const;
  type Fault = (typeof FAULTS)[number];
  const CODES: Record<Fault, string> = {
    "disabled mode": "Tool execution disabled",
    iterations: "Max tool iterations reached",
    policy: "Tool execution disabled by policy",
    denylist: "is on the denylist",
    size: "max_tool_args_bytes",
    lookup: "Unknown tool",
    json: "Bad args: Arguments",
    plan: "Bad args: by the engine",
    preflight: "outside",
    deny: "is not on the allowlist",
  };

  function faulty(faults: ReadonlySet<Fault>) {
    const has = (fault: Fault) => faults.has(fault);
    const preflight = async () => (has("preflight") ? failure("E3955", { message: "outside" }) : undefined);
    const name = "write_file";
    const text = has("json") ? "[" : "{}";
    const { context } = planningContext({
      mode: has("disabled mode") ? "disabled" : "enabled",
      iteration: has("iterations") ? 9 : 1,
      limits: { maxToolArgsBytes: 1_000 },
      policy: {
        enabled: !has("policy"),
        denylist: has("denylist") ? [name] : [],
        mode: has("deny") ? "deny" : "auto",
      },
      tools: has("lookup") ? [] : [tool(name, { sideEffects: true, preflight })],
      ...(has("plan") && {
        plan: () => ({ kind: "refused", error: failure("E3901", { message: "by the engine" }) }) as const,
      }),
    });
    return {
      context,
      call: { index: 0, id: "a", name, arguments: text + " ".repeat(has("size") ? 2_000 : 0) },
    };
  }

  it("is the laid-down one, for every set of faults [FR-APR-05] [FR-VAL-02] [NFR-ERR-02]", async () => {
    for (let set = 0; set < 2 ** FAULTS.length; set += 1) {
      const faults = FAULTS.filter((_, place) => (set >> place) % 2 === 1);
      const { context, call } = faulty(new Set(faults));
      const [planned] = await planBatch([call], context);
      const [strictest] = faults;
      if (strictest === undefined) expect(planned?.kind).toBe("execute");
      else expect(reasonOf(planned), faults.join(", ")).toContain(CODES[strictest]);
    }
  });
});

describe("planning in little time", () => {
  it("takes no more than a millisecond for eight calls beside the engine's work [NFR-PERF-01]", async () => {
    const many = Array.from({ length: 500 }, (_, index) => tool(`tool_${index}`));
    const { context } = planningContext({ tools: [...many, ...TOOLS] });
    const batch = calls(...Array<string>(8).fill("read_file"));
    const times: number[] = [];
    for (let run = 0; run < 200; run += 1) {
      const began = performance.now();
      await planBatch(batch, context);
      times.push(performance.now() - began);
    }
    const median = times.sort((a, b) => a - b)[100] ?? Number.POSITIVE_INFINITY;
    expect(median).toBeLessThan(1);
  });
});
