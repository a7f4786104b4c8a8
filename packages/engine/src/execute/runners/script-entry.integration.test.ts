import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, describe, expect, it } from "vitest";
import type { Confinement, Job } from "../../ports/runner.ts";
import { createJob, createTestHost } from "./fixtures/job.ts";
import { createPlainSandbox } from "./fixtures/plain-sandbox.ts";
import { confined, script } from "./fixtures/script-job.ts";
import { createScriptRunner } from "./script-runner.ts";

const MIB = 1_048_576;
const sandbox = createPlainSandbox();
const node = { path: process.execPath, mounts: [] };
const runner = createScriptRunner({ sandbox, node });
afterAll(() => runner.close());

function job(operation: string, changes: Partial<Job> = {}): Job {
  const tool = { tool: "script", operation, input: null, timeoutMs: 50_000 };
  return createJob(script("./script-tool.ts"), { ...tool, ...confined(), ...changes });
}

function limited(changes: Partial<Confinement["limits"]>): Partial<Job> {
  const { confinement } = confined();
  return { confinement: { ...confinement, limits: { ...confinement.limits, ...changes } } };
}

async function output(operation: string, changes: Partial<Job> = {}) {
  const result = await runner.run(job(operation, changes));
  if (!result.ok) throw new Error(JSON.stringify(result.fault));
  return result.output;
}

async function fault(operation: string, changes: Partial<Job> = {}) {
  const result = await runner.run(job(operation, changes));
  if (result.ok) throw new Error(`succeeded with ${JSON.stringify(result.output)}`);
  return result.fault;
}

/** Ends the tool after a while, and after a longer one where a slow start or no turn in its short grace kept it from hearing. */
async function told(ending: (ms: number) => Partial<Job>) {
  for (const ms of [3_000, 10_000, 30_000]) {
    const host = createTestHost();
    const found = await fault("untilAborted", { host, input: { word: "told:" }, ...ending(ms) });
    if (host.seen.length > 0) return { found, seen: host.seen };
  }
  throw new Error("the tool was never told");
}

describe("a script's process", () => {
  it("talks with its host over its own pipes, whatever it prints", async () => {
    const host = createTestHost();
    const file = [0, 255, 10, 13];
    expect(await output("talk", { host })).toEqual({ state: { n: 1 }, file });
    expect(host.seen).toEqual([{ percent: 50, phase: "half way" }]);
    expect(await host.files.read("b")).toEqual(Buffer.from(file));
  });

  it("is new for each call, and inherits nothing", async () => {
    expect(await output("count")).toBe(1);
    expect(await output("count")).toBe(1);
    expect(await output("readStdin")).toBe("");
    expect(await output("look")).toMatchObject({ cwd: "/tmp", exitCode: null });
    const { env } = (await output("look")) as { env: object };
    expect(env).toEqual({});
  });

  it("what a tool prints is counted, and too much of it ends the call [MCX-7]", async () => {
    const input = { bytes: 200_000 };
    expect(await output("print", { input })).toBe("printed");
    expect(await fault("print", { input, ...limited({ outputBytes: 100_000 }) })).toMatchObject({
      kind: "limit",
      limit: "output",
    });
  });

  it.each([
    ["text", "hello\n\n"],
    ["text without end", "hello"],
    ["a report of a call it never had", '{"kind":"done","call":2,"threadCpuMs":0,"memoryBytes":0}\n1\n'],
    ["NUL bytes", "\0\0\0\0\n\n"],
  ])("%s written to file descriptor 1 ends the call or is never heard", async (_name, word) => {
    const isHeard = word.includes("\n");
    const found = await fault("garbage", { input: { word }, timeoutMs: isHeard ? 50_000 : 3_000 });
    expect(found.kind).toBe(isHeard ? "died" : "timeout");
  });

  it("all a tool can forge is its own result", async () => {
    expect(await output("forge")).toBe("forged");
  });

  it("its exit code and last words are told [L3-EXE-4]", async () => {
    const found = await fault("exit", { input: { code: 7 } });
    expect(found).toMatchObject({ kind: "died", message: expect.stringMatching(/code 7; .*leaving now/s) });
  });

  it("a crash is told as one [L3-EXE-4]", async () => {
    expect(await fault("abort")).toMatchObject({
      kind: "crashed",
      message: expect.stringMatching(/SIGABRT/),
    });
  });

  it("a heap that is used up is a limit [MCX-7]", async () => {
    const found = await fault("hog", limited({ memoryBytes: 32 * MIB }));
    expect(found).toMatchObject({ kind: "limit", limit: "memory" });
  });

  it.each([
    ["throwSoon", "thrown in a timer"],
    ["rejectSoon", "nobody handles this"],
  ])("[FR-EXE-04b] %s is the call's fault", async (operation, message) => {
    expect(await fault(operation)).toMatchObject({ kind: "threw", message });
  });

  it("one that never gives up the processor is killed at the deadline [FR-EXE-05]", async () => {
    const startedAt = performance.now();
    expect(await fault("loop", { timeoutMs: 1_500 })).toEqual({ kind: "timeout" });
    expect(performance.now() - startedAt).toBeLessThan(20_000);
  });

  it("a cancel is told to the tool, which has a short grace [FR-EXE-05]", async () => {
    const { found, seen } = await told((ms) => ({ signal: AbortSignal.timeout(ms) }));
    expect(found).toEqual({ kind: "cancelled" });
    expect(seen).toEqual([{ percent: 99, phase: "told: AbortError" }]);
  });

  it("the deadline is told a little before", async () => {
    const { found, seen } = await told((timeoutMs) => ({ timeoutMs }));
    expect(found).toEqual({ kind: "timeout" });
    expect(seen).toEqual([{ percent: 99, phase: "told: TimeoutError" }]);
  });

  it("ends by itself when its host is gone", async () => {
    const [argv, env] = [[node.path, new URL("./script-entry.ts", import.meta.url).pathname], {}];
    const order = { ...confined().confinement, id: "x", argv, env };
    const process = await sandbox.start(order);
    process.stdin.end();
    process.stdout.resume();
    process.stderr.resume();
    expect(await process.ended).toMatchObject({ ending: { kind: "exited", code: 0 } });
  });
});

describe("a script's process that waited", () => {
  it("looks like one that was just started, and was there before the call [L3-EXE-3]", async () => {
    const pooled = createScriptRunner({ sandbox, node, pool: {} });
    const cold = await pooled.run(job("look"));
    const filled = async () => {
      while (pooled.counts().ready < 2) await sleep(10);
    };
    await filled();
    const warm = await pooled.run(job("look"));
    expect(warm).toMatchObject({ ok: true });
    expect(warm).toEqual(cold);
    await filled();
    const calledAt = Date.now();
    const { ok, ...answer } = await pooled.run(job("processStartedAt"));
    expect(ok && "output" in answer && answer.output).toBeLessThan(calledAt);
    await filled();
    expect(await pooled.run(job("count"))).toMatchObject({ output: 1 });
    await pooled.close();
    expect(pooled.counts()).toEqual({ live: 0, ready: 0 });
  });
});
