import { afterAll, describe, expect, it } from "vitest";
import type { UseOf } from "../../ports/runner.ts";
import { createJob, createTestHost } from "./fixtures/job.ts";
import { createThreadRunner } from "./thread-runner.ts";

const implementation = {
  kind: "thread" as const,
  moduleUrl: new URL("./fixtures/use-tool.ts", import.meta.url).href,
};

describe("what a capability is used for, from a thread", () => {
  const runner = createThreadRunner();
  afterAll(() => runner.close());

  it("reaches the host as it was said [R3-4]", async () => {
    const used: [string, UseOf | undefined][] = [];
    const host = { ...createTestHost(), use: async (name: string, on?: UseOf) => void used.push([name, on]) };
    const run = (operation: string) =>
      runner.run(createJob(implementation, { tool: "use", operation, host }));
    expect(await run("tell")).toMatchObject({ ok: true, output: "told" });
    expect(used).toEqual([
      ["plain", undefined],
      ["net", { action: "GET", resource: "https://a.com/ü" }],
      ["disk", { resource: "/data/a", bytes: 7 }],
      ["empty", {}],
    ]);
    expect(await run("misuse")).toMatchObject({
      output: ["TypeError", "TypeError", "TypeError", "RangeError", "TypeError", "TypeError"],
    });
    expect(used).toHaveLength(4);
  });
});
