import { failure } from "@sallyport/protocol";
import { describe, expect, it } from "vitest";
import { calls, planningContext, reasonOf, TOOLS, tool } from "./fixtures/planning.ts";
import { planBatch } from "./planner.ts";

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
