import { describe, expect, it } from "vitest";
import type { UseOf } from "../../ports/runner.ts";
import { createJob, createTestHost } from "./fixtures/job.ts";
import { useTool } from "./fixtures/use-tool.ts";
import { decodeUse, encodeUse } from "./host-api.ts";
import { createInlineRunner } from "./inline-runner.ts";

describe("what a capability is used for", () => {
  it("survives the way to the host, and nothing else does [R3-4]", () => {
    const on = { action: "read", resource: "/ü\n\ud800", bytes: 0 };
    expect(decodeUse(encodeUse({ ...on, extra: 1 }))).toEqual(on);
    expect(decodeUse("{}")).toEqual({});
  });

  it.each([
    "",
    "null",
    "[]",
    '"x"',
    "{",
    '{"action":1}',
    '{"bytes":1.5}',
    `{"resource":"${"x".repeat(4_097)}"}`,
  ])("%s from a thread is refused", (text) => {
    expect(() => decodeUse(text)).toThrow();
  });

  it("is bounded before it is read", () => {
    expect(() => decodeUse(`{"a":"${"x".repeat(70_000)}"}`)).toThrow(RangeError);
  });

  it("reaches the host from a tool in this thread [R3-4]", async () => {
    const used: [string, UseOf | undefined][] = [];
    const host = { ...createTestHost(), use: async (name: string, on?: UseOf) => void used.push([name, on]) };
    const runner = createInlineRunner();
    const implementation = { kind: "inline" as const, operations: useTool.operations };
    const told = await runner.run(createJob(implementation, { operation: "tell", host }));
    expect(told).toMatchObject({ ok: true, output: "told" });
    expect(used).toEqual([
      ["plain", undefined],
      ["net", { action: "GET", resource: "https://a.com/ü" }],
      ["disk", { resource: "/data/a", bytes: 7 }],
      ["empty", {}],
    ]);
    const misused = await runner.run(createJob(implementation, { operation: "misuse", host }));
    expect(misused).toMatchObject({
      output: ["TypeError", "TypeError", "TypeError", "RangeError", "TypeError", "TypeError"],
    });
    expect(used).toHaveLength(4);
    await runner.close();
  });
});
