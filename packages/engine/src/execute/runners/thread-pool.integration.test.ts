import { execFile } from "node:child_process";
import { readdirSync } from "node:fs";
import { availableParallelism } from "node:os";
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { Job, RunResult } from "../../ports/runner.ts";
import { fixtureUrl, forTenant, hostileJob } from "./fixtures/thread-job.ts";
import { createThreadRunner, type ThreadRunner, type ThreadRunnerOptions } from "./thread-runner.ts";

const runners: ThreadRunner[] = [];
afterEach(async () => {
  for (const runner of runners.splice(0)) {
    await runner.close();
    await vi.waitFor(() => expect(runner.counts()).toEqual({ live: 0, idle: 0, waiting: 0 }), 5_000);
  }
});

function start(options: ThreadRunnerOptions = {}): ThreadRunner {
  const runner = createThreadRunner(options);
  runners.push(runner);
  return runner;
}

async function timed(work: Promise<RunResult>): Promise<{ result: RunResult; tookMs: number }> {
  const startedAt = performance.now();
  return { result: await work, tookMs: performance.now() - startedAt };
}

function blockMs(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

const outputOf = (result: RunResult) => (result.ok ? result.output : result.fault);
const times = <T>(count: number, make: (n: number) => T): T[] =>
  Array.from({ length: count }, (_, n) => make(n));

describe("thread runner: who shares a thread", () => {
  it("the same tool of the same tenant finds its thread warm", async () => {
    const runner = start();
    const first = outputOf(await runner.run(hostileJob("thread")));
    expect(outputOf(await runner.run(hostileJob("thread")))).toBe(first);
    expect(runner.counts()).toEqual({ live: 1, idle: 1, waiting: 0 });
  });

  it.each<[string, (job: Job) => Job]>([
    ["tenant", (job) => forTenant("globex", job)],
    ["tool", (job) => ({ ...job, tool: "neighbour" })],
    ["memory limit", (job) => ({ ...job, memoryBytes: job.memoryBytes * 2 })],
    [
      "module",
      (job) => ({
        ...job,
        implementation: { kind: "thread", moduleUrl: `${fixtureUrl("./hostile-tool.ts")}?2` },
      }),
    ],
  ])("[MCX-8] another %s never gets it, and sees nothing of what was done there", async (_name, change) => {
    const runner = start();
    expect(outputOf(await runner.run(hostileJob("pollute")))).toBe("polluted");
    const look = outputOf(await runner.run(change(hostileJob("look"))));
    const clean = { polluted: null, secret: null, text: "[1]", mapped: [2], timers: "function" };
    expect(look).toMatchObject(clean);
    expect(Reflect.get({}, "polluted")).toBeUndefined();
  });

  it("a tool that breaks its own globals still gets its calls answered", async () => {
    const runner = start();
    await runner.run(hostileJob("pollute"));
    expect(await runner.run(hostileJob("thread"))).toMatchObject({ ok: true });
  });

  it.each(["throwAfter", "rejectAfter"])("after %s the thread is not used again", async (operation) => {
    const runner = start();
    const first = outputOf(await runner.run(hostileJob(operation)));
    expect(first).toBeTypeOf("number");
    await vi.waitFor(() => expect(runner.counts().live).toBe(0), 2_000);
    expect(outputOf(await runner.run(hostileJob("thread")))).not.toBe(first);
  });

  it.each(["throwAfter", "rejectAfter"])(
    "a host too busy to listen still hears the result of %s first",
    async (operation) => {
      const runner = start();
      await runner.run(hostileJob("thread"));
      const pending = runner.run(hostileJob(operation));
      blockMs(150);
      expect(outputOf(await pending)).toBeTypeOf("number");
    },
  );

  it("a host too busy to listen does not take a finished call for a late one", async () => {
    const runner = start();
    await runner.run(hostileJob("thread"));
    await nextTurn();
    const pending = runner.run(hostileJob("thread", { timeoutMs: 100 }));
    blockMs(300);
    expect(outputOf(await pending)).toBeTypeOf("number");
  });

  it("a thread with timers left over stays warm", async () => {
    const runner = start();
    const first = outputOf(await runner.run(hostileJob("leaveTimers")));
    await sleep(30);
    expect(outputOf(await runner.run(hostileJob("thread")))).toBe(first);
  });

  it("[MCX-8] a tool gets none of the host's environment, arguments or flags", async () => {
    vi.stubEnv("SALLYPORT_TEST_SECRET", "hunter2");
    vi.stubEnv("TZ", "UTC");
    const seen = outputOf(await start().run(hostileJob("environment")));
    vi.unstubAllEnvs();
    expect(JSON.stringify(seen)).not.toContain("hunter2");
    expect(seen).toMatchObject({ env: { TZ: "UTC" }, argv: [], execArgv: [] });
  });
});

describe("thread runner: one tool's trouble is not another's", () => {
  // Ten loops share the processors with whatever else this machine runs: a second is kept, not at every moment.
  it("[R1-5.2] [MCX-8] ten tools that loop do not hold up twenty calls of others", {
    retry: 2,
    timeout: 20_000,
  }, async () => {
    const runner = start();
    await runner.run(forTenant("globex", hostileJob("thread")));
    const loops = times(10, () => runner.run(hostileJob("loop", { timeoutMs: 3_000 })));
    await sleep(500);
    const calls = await Promise.all(
      times(20, () => timed(runner.run(forTenant("globex", hostileJob("thread"))))),
    );
    for (const { result, tookMs } of calls) {
      expect(result.ok).toBe(true);
      expect(tookMs).toBeLessThan(1_000);
    }
    for (const result of await Promise.all(loops)) expect(outputOf(result)).toEqual({ kind: "timeout" });
    await vi.waitFor(() => expect(runner.counts().idle).toBe(runner.counts().live), 5_000);
  });

  it("modules that loop while they load hold nobody up for long", async () => {
    const runner = start();
    const implementation = { kind: "thread" as const, moduleUrl: fixtureUrl("./loops-at-import.ts") };
    const loads = times(availableParallelism() + 1, (n) =>
      runner.run(forTenant(`tenant-${n}`, hostileJob("x", { implementation, timeoutMs: 6_000 }))),
    );
    const { result, tookMs } = await timed(runner.run(hostileJob("thread")));
    expect(result.ok).toBe(true);
    expect(tookMs).toBeLessThan(4_000);
    for (const load of await Promise.all(loads)) expect(outputOf(load)).toEqual({ kind: "timeout" });
  }, 20_000);
});

describe("thread runner: the limit and the line", () => {
  it("calls that wait each get a thread of their own", async () => {
    const runner = start();
    const startedAt = performance.now();
    await Promise.all(times(6, () => runner.run(hostileJob("nap", { input: { ms: 700 } }))));
    const tookMs = performance.now() - startedAt;
    expect(tookMs).toBeLessThan(6 * 700);
    expect(runner.counts().live).toBeGreaterThan(1);
  }, 20_000);

  it("there are never more threads than allowed, and everybody is served in order", async () => {
    const runner = start({ maxThreads: 2 });
    const order: number[] = [];
    let most = 0;
    const watch = setInterval(() => {
      most = Math.max(most, runner.counts().live);
    }, 1);
    await Promise.all(
      times(8, async (n) => {
        const job = forTenant(`tenant-${n % 4}`, hostileJob("nap", { input: { ms: 20 } }));
        expect(await runner.run(job)).toMatchObject({ ok: true });
        order.push(n);
      }),
    );
    clearInterval(watch);
    expect(most).toBe(2);
    for (const [place, n] of order.entries()) expect(Math.abs(place - n)).toBeLessThanOrEqual(1);
  }, 20_000);

  it("[FR-EXE-03] a job waits no longer than it may run, and its own time starts with its turn", async () => {
    const runner = start({ maxThreads: 1 });
    const loop = runner.run(hostileJob("loop", { timeoutMs: 2_000 }));
    const impatient = await timed(runner.run(hostileJob("thread", { timeoutMs: 200 })));
    expect(outputOf(impatient.result)).toEqual({ kind: "timeout" });
    expect(impatient.tookMs).toBeLessThan(1_000);
    const patient = runner.run(hostileJob("nap", { input: { ms: 1_000 }, timeoutMs: 2_500 }));
    expect(outputOf(await loop)).toEqual({ kind: "timeout" });
    expect(outputOf(await patient)).toBe("rested");
  }, 20_000);

  it("a job in line can be cancelled", async () => {
    const runner = start({ maxThreads: 1 });
    const loop = runner.run(hostileJob("loop", { timeoutMs: 700 }));
    const waiting = await timed(runner.run(hostileJob("thread", { signal: AbortSignal.timeout(100) })));
    expect(outputOf(waiting.result)).toEqual({ kind: "cancelled" });
    expect(waiting.tookMs).toBeLessThan(500);
    expect(runner.counts().waiting).toBe(0);
    await loop;
  });

  it("closing sends home those who wait", async () => {
    const runner = start({ maxThreads: 1 });
    const jobs = times(5, () => runner.run(hostileJob("loop")));
    await sleep(50);
    await runner.close();
    for (const result of await Promise.all(jobs)) expect(outputOf(result)).toEqual({ kind: "cancelled" });
    expect(runner.counts()).toEqual({ live: 0, idle: 0, waiting: 0 });
  });
});

describe("thread runner: nothing leaks", () => {
  const osThreads = () => readdirSync("/proc/self/task").length;

  it("[MCX-7] idle threads are kept up to the limit, then only for a while", async () => {
    const runner = start({ maxIdleThreads: 2, idleMs: 600 });
    for (let n = 0; n < 5; n++) await runner.run(forTenant(`tenant-${n}`, hostileJob("thread")));
    await vi.waitFor(() => expect(runner.counts()).toEqual({ live: 2, idle: 2, waiting: 0 }), 2_000);
    await vi.waitFor(() => expect(runner.counts().live).toBe(0), 3_000);
  }, 20_000);

  it.runIf(process.platform === "linux")(
    "the operating system agrees that the threads are gone",
    async () => {
      const runner = start();
      const before = osThreads();
      await Promise.all(times(4, (n) => runner.run(forTenant(`tenant-${n}`, hostileJob("thread")))));
      expect(osThreads()).toBeGreaterThan(before);
      await Promise.all(times(4, () => runner.run(hostileJob("loop", { timeoutMs: 300 }))));
      await runner.close();
      await vi.waitFor(() => expect(osThreads()).toBeLessThanOrEqual(before), 5_000);
    },
    20_000,
  );

  it("2,000 calls leave nothing behind", async () => {
    const runner = start({ maxThreads: 4 });
    await Promise.all(times(50, () => runner.run(hostileJob("thread"))));
    const { signal } = new AbortController();
    const handlesBefore = process.getActiveResourcesInfo().length;
    await Promise.all(times(2_000, () => runner.run(hostileJob("thread", { signal, timeoutMs: 20_000 }))));
    await sleep(50);
    expect(process.getActiveResourcesInfo().length).toBeLessThanOrEqual(handlesBefore + 4 * 3);
    expect(runner.counts()).toMatchObject({ waiting: 0 });
    expect(runner.counts().live).toBeLessThanOrEqual(4);
  }, 30_000);

  it("an idle thread does not keep the host alive, and what a tool prints is not the host's output", async () => {
    const host = fileURLToPath(new URL("./fixtures/host-process.ts", import.meta.url));
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [host], { timeout: 15_000 });
    expect({ stdout, stderr }).toEqual({ stdout: "", stderr: "ok" });
  }, 20_000);
});
