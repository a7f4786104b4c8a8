import { afterAll, describe, expect, it } from "vitest";
import type { Job } from "../../ports/runner.ts";
import { createTestHost } from "./fixtures/job.ts";
import { fixtureUrl, hostileJob } from "./fixtures/thread-job.ts";
import { createThreadRunner } from "./thread-runner.ts";

const MIB = 1_048_576;
/** A tool that is stuck stays so: what ends within this was ended, also on a machine that is busy. */
const SOON_MS = 20_000;
const runner = createThreadRunner();
afterAll(() => runner.close());

async function fault(operation: string, changes: Partial<Job> = {}) {
  const result = await runner.run(hostileJob(operation, changes));
  if (result.ok) throw new Error(`succeeded with ${JSON.stringify(result.output)}`);
  return result.fault;
}

async function output(operation: string, changes: Partial<Job> = {}) {
  const result = await runner.run(hostileJob(operation, changes));
  if (!result.ok) throw new Error(JSON.stringify(result.fault));
  return result.output;
}

describe("thread runner: the deadline holds", () => {
  const stuck = ["loop", "microtasks", "wait"];
  it.each(stuck)("[FR-EXE-03] [R1-5.2] [MCX-7] against %s", async (operation) => {
    const startedAt = performance.now();
    expect(await fault(operation, { timeoutMs: 400 })).toEqual({ kind: "timeout" });
    expect(performance.now() - startedAt).toBeLessThan(SOON_MS);
  });

  it.each(stuck)("a cancel ends %s after its grace", async (operation) => {
    const startedAt = performance.now();
    expect(await fault(operation, { signal: AbortSignal.timeout(300) })).toEqual({ kind: "cancelled" });
    expect(performance.now() - startedAt).toBeLessThan(SOON_MS);
  });

  it("[FR-EXE-03] native code that cannot be interrupted does not hold the result back for long", async () => {
    const startedAt = performance.now();
    expect(await fault("block", { timeoutMs: 300 })).toEqual({ kind: "timeout" });
    expect(performance.now() - startedAt).toBeLessThan(8_000);
  });

  it("the processor time of a call that had to be stopped is reported", async () => {
    await output("thread");
    const { usage } = await runner.run(hostileJob("loop", { timeoutMs: 1_500 }));
    expect(usage.cpuMs).toBeGreaterThan(50);
    expect(usage.cpuMs).toBeLessThan(SOON_MS);
  });

  it("a call that uses more processor time than it may is ended, long before its deadline [MCX-7]", async () => {
    expect(await fault("loop", { cpuMs: 200, timeoutMs: 100_000 })).toMatchObject({
      kind: "limit",
      limit: "cpu",
    });
  });

  it("the processor time of a call is its own, not the thread's", async () => {
    // As much is burnt beside each of the two: at least that would be told of a call that has to answer for its thread.
    const burntMs = 500;
    const implementation = { kind: "thread" as const, moduleUrl: fixtureUrl("./burns-at-import.ts") };
    const first = await runner.run(
      hostileJob("name", { tool: "burner", implementation, timeoutMs: 100_000 }),
    );
    expect(first).toMatchObject({ ok: true, output: "burner" });
    expect(first.usage.cpuMs).toBeLessThan(burntMs);
    const burn = await runner.run(hostileJob("burn", { input: { cpuMs: burntMs }, timeoutMs: 100_000 }));
    expect(burn.usage.cpuMs).toBeGreaterThanOrEqual(burntMs);
    const { usage } = await runner.run(hostileJob("thread"));
    expect(usage.cpuMs).toBeLessThan(burntMs);
    expect(usage.memoryPeakBytes).toBeGreaterThan(MIB);
  });
});

describe("thread runner: memory", () => {
  const hogs = ["heap", "bigArrays", "growMap", "buffers"];
  it.each(hogs)("[MCX-7] [R1-5.2] %s ends the thread, not the process", async (operation) => {
    const result = await runner.run(hostileJob(operation, { memoryBytes: 64 * MIB, timeoutMs: 50_000 }));
    expect(result).toMatchObject({ ok: false, fault: { kind: "memory" } });
    expect(result.usage.memoryPeakBytes).toBeGreaterThan(64 * MIB);
  });

  it("garbage that V8 has not collected yet is not held against a tool", async () => {
    expect(await output("churn", { input: { ms: 1_000 }, memoryBytes: 128 * MIB })).toBe("clean");
  });

  it("infinite recursion is an ordinary error", async () => {
    expect(await fault("recurse")).toMatchObject({
      kind: "threw",
      message: expect.stringMatching(/call stack/i),
    });
  });
});

describe("thread runner: leaving the call in other ways", () => {
  it("[R1-4.4] process.exit ends the thread only, and its code and last words are told", async () => {
    const found = await fault("exit", { input: { code: 7 } });
    expect(found).toMatchObject({ kind: "died", message: expect.stringMatching(/code 7.*leaving now/) });
    expect(await fault("exit", { input: { code: 0 } })).toMatchObject({
      kind: "died",
      message: expect.stringMatching(/code 0/),
    });
  });

  it("process.abort is not to be had in a thread", async () => {
    expect(await fault("abort")).toMatchObject({
      kind: "threw",
      message: expect.stringMatching(/not supported in workers/),
    });
  });

  it.each([
    ["throwSoon", "thrown in a timer"],
    ["throwStringSoon", "a string"],
    ["rejectSoon", "nobody handles this"],
  ])("[R1-4.4] [FR-EXE-04b] %s during a call is its fault", async (operation, message) => {
    expect(await fault(operation)).toMatchObject({ kind: "threw", message });
  });
});

describe("thread runner: the protocol", () => {
  it.each(["garbageToParent", "closeParent"])("%s changes nothing", async (operation) => {
    expect(await output(operation)).toBe("unharmed");
  });

  it.each([
    ["no frame", "garbage"],
    ["an unknown kind", '{"kind":"hello","call":1}\n'],
    ["a wrong shape", '{"kind":"done","call":1}\nnull'],
    ["a call it never had", '{"kind":"done","call":99,"threadCpuMs":1,"memoryBytes":1}\nnull'],
    ["a question of no known kind", '{"kind":"ask","call":1,"question":1,"op":"close"}\n'],
    ["more than fits", "x".repeat(5 * MIB)],
  ])("%s on every port it can find ends its thread", async (_name, word) => {
    const found = await fault("postEverywhere", { input: { word } });
    expect(found).toMatchObject({ kind: "died", message: expect.stringMatching(/broke the protocol/) });
  });

  it("an object on every port it can find ends its thread", async () => {
    expect(await fault("postClone")).toMatchObject({
      kind: "died",
      message: expect.stringMatching(/broke the protocol/),
    });
  });

  it("more open questions than allowed end the thread", async () => {
    const host = { ...createTestHost(), get: () => new Promise<undefined>(() => {}) };
    expect(await fault("askWithoutEnd", { host })).toMatchObject({
      kind: "died",
      message: expect.stringMatching(/too many/),
    });
  });

  it("closing every port it can find ends its thread", async () => {
    expect(await fault("closeEverything")).toMatchObject({ kind: "died" });
  });

  it("patching the port's prototype does not get between the runner and its port", async () => {
    expect(await output("hijackPosting")).toBe("posted with the runner's own copy");
    expect(await output("thread")).toBeTypeOf("number");
  });

  it("a million progress reports become a handful", async () => {
    const host = createTestHost();
    const implementation = { kind: "thread" as const, moduleUrl: fixtureUrl("./contract-tool.ts") };
    const job = { tool: "contract", implementation, host, input: { count: 1e6 } };
    expect(await output("floodProgress", job)).toBeNull();
    expect(host.seen.length).toBeLessThan(100);
    expect(host.seen.at(-1)).toEqual({ percent: 100, phase: "step 1000000" });
  });
});

describe("thread runner: loading", () => {
  const load = (file: string, changes: Partial<Job> = {}) => {
    const implementation = { kind: "thread" as const, moduleUrl: fixtureUrl(file) };
    return runner.run(hostileJob("name", { implementation, ...changes }));
  };

  it("finds a tool by id and version among all exports", async () => {
    const name = async (tool: string) => await load("./many-tools.ts", { tool });
    expect(await name("first")).toMatchObject({ output: "first" });
    expect(await name("second")).toMatchObject({ output: "second" });
    expect(await name("third")).toMatchObject({ output: "third" });
    const message = /does not export fourth@1.0.0, but third@1.0.0, first@1.0.0, second@2.0.0, second@1.0.0/;
    expect(await name("fourth")).toMatchObject({
      fault: { kind: "died", message: expect.stringMatching(message) },
    });
  });

  it.each([
    ["./no-such-file.ts", /failed to load: Cannot find module .no-such-file\.ts. /],
    ["./throws-at-import.ts", /failed to load: not today/],
  ])("[R1-4.4] %s is a fault", async (file, message) => {
    expect(await load(file)).toMatchObject({
      fault: { kind: "threw", message: expect.stringMatching(message) },
    });
  });

  it.each(["./loops-at-import.ts", "./never-loads.ts"])("[FR-EXE-03] %s times out", async (file) => {
    expect(await load(file, { timeoutMs: 400 })).toMatchObject({ fault: { kind: "timeout" } });
  });
});
