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

/** What happens by itself, also on a machine that is busy. */
const SOON = { timeout: 20_000 };

const runners: ThreadRunner[] = [];
afterEach(async () => {
  for (const runner of runners.splice(0)) {
    await runner.close();
    await vi.waitFor(() => expect(runner.counts()).toEqual({ live: 0, idle: 0, waiting: 0 }), SOON);
  }
});

function start(options: ThreadRunnerOptions = {}): ThreadRunner {
  const runner = createThreadRunner(options);
  runners.push(runner);
  return runner;
}

async function timed(work: RunResult | Promise<RunResult>): Promise<{ result: RunResult; tookMs: number }> {
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
  it("the same tool of the same agent finds its thread warm", async () => {
    const runner = start();
    const first = outputOf(await runner.run(hostileJob("thread")));
    expect(outputOf(await runner.run(hostileJob("thread")))).toBe(first);
    expect(runner.counts()).toEqual({ live: 1, idle: 1, waiting: 0 });
  });

  it.each<[string, (job: Job) => Job]>([
    ["tenant", (job) => forTenant("globex", job)],
    ["agent", (job) => ({ ...job, facts: { ...job.facts, agent: "writer" } })],
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
    await vi.waitFor(() => expect(runner.counts().live).toBe(0), SOON);
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
    blockMs(2_000);
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

describe("thread runner: code that is replaced or gone", () => {
  it("idle threads end at once, busy ones after their call, and the next call gets a new one", async () => {
    const runner = start();
    const [first, neighbour] = await Promise.all([
      runner.run(hostileJob("thread")),
      runner.run({ ...hostileJob("thread"), tool: "neighbour" }),
    ]).then((results) => results.map(outputOf));
    const { tool } = hostileJob("thread");
    await runner.retire?.(tool);
    expect(runner.counts()).toEqual({ live: 1, idle: 1, waiting: 0 });
    const busy = runner.run(hostileJob("thread"));
    await runner.retire?.(tool);
    const second = outputOf(await busy);
    expect(second).toBeTypeOf("number");
    expect(second).not.toBe(first);
    await vi.waitFor(() => expect(runner.counts()).toEqual({ live: 1, idle: 1, waiting: 0 }), SOON);
    expect(outputOf(await runner.run(hostileJob("thread")))).not.toBe(second);
    expect(outputOf(await runner.run({ ...hostileJob("thread"), tool: "neighbour" }))).toBe(neighbour);
  });

  it("jobs in line run, and leave nothing warm behind", async () => {
    const runner = start({ maxThreads: 1 });
    const jobs = times(3, () => runner.run(hostileJob("thread")));
    await runner.retire?.(hostileJob("thread").tool);
    for (const result of await Promise.all(jobs)) expect(outputOf(result)).toBeTypeOf("number");
    await vi.waitFor(() => expect(runner.counts().live).toBe(0), SOON);
  });
});

describe("thread runner: one tool's trouble is not another's", () => {
  // The loops go on until the others have been served, so a call that had to wait for one would never end in time.
  it("[R1-5.2] [MCX-8] ten tools that loop do not hold up twenty calls of others", async () => {
    const runner = start();
    await runner.run(forTenant("globex", hostileJob("thread")));
    const stop = new AbortController();
    const endless = { timeoutMs: 50_000, signal: stop.signal };
    const loops = times(10, () => runner.run(hostileJob("loop", endless)));
    await sleep(500);
    const calls = await Promise.all(
      times(20, () => timed(runner.run(forTenant("globex", hostileJob("thread"))))),
    );
    for (const { result, tookMs } of calls) {
      expect(result.ok).toBe(true);
      expect(tookMs).toBeLessThan(15_000);
    }
    stop.abort();
    for (const result of await Promise.all(loops)) expect(outputOf(result)).toEqual({ kind: "cancelled" });
    await vi.waitFor(() => expect(runner.counts().idle).toBe(runner.counts().live), SOON);
  });

  it("modules that loop while they load hold nobody up for long", async () => {
    const runner = start();
    const implementation = { kind: "thread" as const, moduleUrl: fixtureUrl("./loops-at-import.ts") };
    const stop = new AbortController();
    const endless = { implementation, timeoutMs: 50_000, signal: stop.signal };
    const loads = times(availableParallelism() + 1, (n) =>
      runner.run(forTenant(`tenant-${n}`, hostileJob("x", endless))),
    );
    const { result, tookMs } = await timed(runner.run(hostileJob("thread")));
    expect(result.ok).toBe(true);
    expect(tookMs).toBeLessThan(15_000);
    stop.abort();
    for (const load of await Promise.all(loads)) expect(outputOf(load)).toEqual({ kind: "cancelled" });
  });
});

describe("thread runner: the limit and the line", () => {
  it("calls that wait each get a thread of their own", async () => {
    const runner = start();
    const stop = new AbortController();
    const nap = { input: { ms: 50_000 }, timeoutMs: 100_000, signal: stop.signal };
    const naps = times(6, () => runner.run(hostileJob("nap", nap)));
    await vi.waitFor(() => expect(runner.counts()).toEqual({ live: 6, idle: 0, waiting: 0 }), SOON);
    stop.abort();
    for (const result of await Promise.all(naps)) expect(outputOf(result)).toEqual({ kind: "cancelled" });
  });

  const served = async (runner: ThreadRunner) => {
    const order: number[] = [];
    await Promise.all(
      times(8, async (n) => {
        const job = forTenant(`tenant-${n % 4}`, hostileJob("nap", { input: { ms: 20 } }));
        expect(await runner.run(job)).toMatchObject({ ok: true });
        order.push(n);
      }),
    );
    return order;
  };

  it("there are never more threads than allowed", async () => {
    const runner = start({ maxThreads: 2 });
    let most = 0;
    const watch = setInterval(() => {
      most = Math.max(most, runner.counts().live);
    }, 1);
    await served(runner);
    clearInterval(watch);
    expect(most).toBe(2);
  });

  it("everybody is served in order", async () => {
    expect(await served(start({ maxThreads: 1 }))).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  });

  it("[FR-EXE-03] a job waits no longer than it may run, and its own time starts with its turn", async () => {
    const runner = start({ maxThreads: 1 });
    const loop = runner.run(hostileJob("loop", { timeoutMs: 5_000 }));
    expect(outputOf(await runner.run(hostileJob("thread", { timeoutMs: 200 })))).toEqual({ kind: "timeout" });
    // The loop has the only thread still.
    expect(runner.counts()).toMatchObject({ live: 1, idle: 0 });
    // It waits about 5 s and naps for 4: together more than it may run, each by itself less.
    const patient = runner.run(hostileJob("nap", { input: { ms: 4_000 }, timeoutMs: 8_000 }));
    expect(outputOf(await loop)).toEqual({ kind: "timeout" });
    expect(outputOf(await patient)).toBe("rested");
  });

  it("a job in line can be cancelled", async () => {
    const runner = start({ maxThreads: 1 });
    const stop = new AbortController();
    const loop = runner.run(hostileJob("loop", { timeoutMs: 50_000, signal: stop.signal }));
    const waiting = await timed(runner.run(hostileJob("thread", { signal: AbortSignal.timeout(100) })));
    expect(outputOf(waiting.result)).toEqual({ kind: "cancelled" });
    expect(waiting.tookMs).toBeLessThan(15_000);
    expect(runner.counts().waiting).toBe(0);
    stop.abort();
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
    const runner = start({ maxIdleThreads: 2, idleMs: 5_000 });
    for (let n = 0; n < 5; n++) await runner.run(forTenant(`tenant-${n}`, hostileJob("thread")));
    await vi.waitFor(() => expect(runner.counts()).toEqual({ live: 2, idle: 2, waiting: 0 }), SOON);
    await vi.waitFor(() => expect(runner.counts().live).toBe(0), SOON);
  });

  it.runIf(process.platform === "linux")(
    "the operating system agrees that the threads are gone",
    async () => {
      const runner = start();
      const before = osThreads();
      await Promise.all(times(4, (n) => runner.run(forTenant(`tenant-${n}`, hostileJob("thread")))));
      expect(osThreads()).toBeGreaterThan(before);
      await Promise.all(times(4, () => runner.run(hostileJob("loop", { timeoutMs: 300 }))));
      await runner.close();
      await vi.waitFor(() => expect(osThreads()).toBeLessThanOrEqual(before), SOON);
    },
  );

  it("2,000 calls leave nothing behind", async () => {
    const runner = start({ maxThreads: 4 });
    await Promise.all(times(50, () => runner.run(hostileJob("thread"))));
    const { signal } = new AbortController();
    const handlesBefore = process.getActiveResourcesInfo().length;
    await Promise.all(times(2_000, () => runner.run(hostileJob("thread", { signal, timeoutMs: 50_000 }))));
    const handles = () => process.getActiveResourcesInfo().length;
    await vi.waitFor(() => expect(handles()).toBeLessThanOrEqual(handlesBefore + 4 * 3), SOON);
    expect(runner.counts()).toMatchObject({ waiting: 0 });
    expect(runner.counts().live).toBeLessThanOrEqual(4);
  });

  it("an idle thread does not keep the host alive, and what a tool prints is not the host's output", async () => {
    const host = fileURLToPath(new URL("./fixtures/host-process.ts", import.meta.url));
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [host], { timeout: 50_000 });
    expect({ stdout, stderr }).toEqual({ stdout: "", stderr: "ok" });
  });
});
