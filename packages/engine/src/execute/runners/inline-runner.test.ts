import { getEventListeners } from "node:events";
import { describe, expect, it } from "vitest";
import { contractTool } from "./fixtures/contract-tool.ts";
import { createJob } from "./fixtures/job.ts";
import { createInlineRunner } from "./inline-runner.ts";
import { runnerContract } from "./runner-contract.ts";

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
});
