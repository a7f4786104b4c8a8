import { getEventListeners } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { ToolFunction } from "../../ports/runner.ts";
import { contractTool } from "./fixtures/contract-tool.ts";
import { createJob } from "./fixtures/job.ts";
import { runnerContract } from "./fixtures/runner-contract.ts";
import { blameInlineTool, createInlineRunner } from "./inline-runner.ts";

runnerContract("inline", () => ({
  runner: createInlineRunner(),
  implementation: { kind: "inline", operations: { ...contractTool.operations } },
}));

describe("inline runner", () => {
  it("[FR-EXE-03] a function that blocked past its deadline timed out, though nobody could stop it", async () => {
    const block = () => {
      const until = performance.now() + 30;
      while (performance.now() < until);
      return "done";
    };
    const job = createJob({ kind: "inline", operations: { block } }, { operation: "block", timeoutMs: 10 });
    expect(await createInlineRunner().run(job)).toMatchObject({ ok: false, fault: { kind: "timeout" } });
  });

  it("leaves no listener and no timer behind", async () => {
    const later = async () => "done";
    const { signal } = new AbortController();
    const before = process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length;
    const job = createJob({ kind: "inline", operations: { later } }, { operation: "later", signal });
    expect(await createInlineRunner().run(job)).toMatchObject({ ok: true, output: "done" });
    expect(getEventListeners(signal, "abort")).toEqual([]);
    expect(process.getActiveResourcesInfo().filter((kind) => kind === "Timeout")).toHaveLength(before);
  });

  it("an error in a timer is its call's, and only its call's [FR-EXE-04b]", async () => {
    const hang = () => new Promise(() => setTimeout(() => blamed.push(blameInlineTool(new Error("late")))));
    const nap = () => sleep(50, "rested");
    const blamed: unknown[] = [];
    const runner = createInlineRunner();
    const job = (operation: string) =>
      createJob({ kind: "inline", operations: { hang, nap } }, { operation });
    const [failed, rested] = await Promise.all([runner.run(job("hang")), runner.run(job("nap"))]);
    expect(failed).toMatchObject({ ok: false, fault: { kind: "threw", message: "late" } });
    expect(rested).toMatchObject({ ok: true, output: "rested" });
    expect([...blamed, blameInlineTool(new Error("our own"))]).toEqual(["contract", undefined]);
  });

  it("an error in a listener of the call's signal is its call's [FR-EXE-04b]", async () => {
    const blamed: unknown[] = [];
    const blame = () => blamed.push(blameInlineTool(new Error("in a listener")));
    // Node throws what a listener throws in the next tick.
    const hang: ToolFunction = (_, { signal }) =>
      new Promise(() => signal.addEventListener("abort", () => process.nextTick(blame)));
    const job = createJob({ kind: "inline", operations: { hang } }, { operation: "hang", timeoutMs: 10 });
    const run = await createInlineRunner().run(job);
    expect(run).toMatchObject({ ok: false, fault: { kind: "timeout" } });
    expect(blamed).toEqual(["contract"]);
  });
});
