import { describe, expect, it } from "vitest";
import type { HookCall } from "../ports/runner.ts";
import { createHookRunner } from "./hooks.ts";

const call: HookCall = {
  callId: "c",
  executionId: "c",
  attempt: 1,
  tenant: "t",
  agent: "a",
  deadlineAt: 0,
  maxOutputBytes: 1_000_000,
  availableBytes: 65_536,
  tool: "tool",
  version: "1.0.0",
  operation: "run",
};

function reporting() {
  const codes: string[] = [];
  return { codes, handler: { report: ({ stage }: { stage?: string }) => void codes.push(stage ?? "") } };
}

describe("hooks", () => {
  it("run in order, before and after [MCX-2]", async () => {
    const seen: string[] = [];
    const hook = (name: string) => ({
      name,
      before: () => void seen.push(`before ${name}`),
      after: async () => void seen.push(`after ${name}`),
    });
    const runner = createHookRunner([hook("one"), hook("two")], { maxMs: 100, errors: reporting().handler });
    expect(await runner.before(call)).toBeUndefined();
    await runner.after(call, { status: "success" });
    expect(seen).toEqual(["before one", "before two", "after one", "after two"]);
  });

  it("are isolated from each other's failures, and a failing required one refuses the call [MCX-2]", async () => {
    const seen: string[] = [];
    const { codes, handler } = reporting();
    const runner = createHookRunner(
      [
        {
          name: "throws",
          before: () => {
            throw new Error("no");
          },
        },
        { name: "still runs", before: () => void seen.push("ran") },
      ],
      { maxMs: 100, errors: handler },
    );
    expect((await runner.before(call))?.code).toBe("E3913");
    expect(seen).toEqual(["ran"]);
    expect(codes).toEqual(["hook throws"]);
  });

  it("that are optional may fail without consequence", async () => {
    const runner = createHookRunner(
      [{ name: "log", optional: true, before: () => Promise.reject(undefined) }],
      {
        maxMs: 100,
        errors: reporting().handler,
      },
    );
    expect(await runner.before(call)).toBeUndefined();
  });

  it("that hang are given up", async () => {
    const runner = createHookRunner([{ name: "hangs", before: () => new Promise<void>(() => undefined) }], {
      maxMs: 10,
      errors: reporting().handler,
    });
    expect((await runner.before(call))?.code).toBe("E3913");
  });

  it("after a call all run, whatever one of them does [MCX-2]", async () => {
    const seen: string[] = [];
    const runner = createHookRunner(
      [
        {
          name: "throws",
          after: () => {
            throw "text";
          },
        },
        { name: "cleanup", after: (_, { status }) => void seen.push(status) },
      ],
      { maxMs: 100, errors: reporting().handler },
    );
    await runner.after(call, { status: "timeout" });
    expect(seen).toEqual(["timeout"]);
  });
});
