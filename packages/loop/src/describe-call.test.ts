import type { CallPlan } from "@sallyport/engine";
import { failure } from "@sallyport/protocol";
import { describe, expect, it } from "vitest";
import { tool } from "./fixtures/planning.ts";
import { scriptedLoop } from "./fixtures/scripted-loop.ts";
import { describeCall } from "./planner.ts";

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
