import { setTimeout as sleep } from "node:timers/promises";
import { createScriptRunner } from "@sallyport/engine";
import type { Job } from "@sallyport/engine/ports";
import { afterAll, describe, expect, it } from "vitest";
import {
  byAgent,
  createRecordingHost,
  limitedTo,
  openSandboxedHouse,
  scriptJob,
} from "./fixtures/sandboxed-house.ts";
import { nodeRuntime } from "./node-runtime.ts";

const MIB = 1_048_576;
const house = await openSandboxedHouse();

describe.skipIf(!house)("scripts in the real sandbox", () => {
  if (!house) return;
  const { sandbox } = house;
  const runner = createScriptRunner({ sandbox, ...nodeRuntime() });
  afterAll(async () => {
    await runner.close();
    await house.close();
  });
  const run = (operation: string, changes: Partial<Job> = {}) => runner.run(scriptJob(operation, changes));

  it("state, files, capabilities and progress go over the pipe [L3-EXE-2]", async () => {
    const host = createRecordingHost();
    const result = await run("talk", { host });
    expect(result).toMatchObject({
      ok: true,
      output: { state: { n: 1 }, file: [0, 255, 10] },
      sandbox: { isolation: { level: "LEVEL_2" } },
    });
    // Node itself tries io_uring when it starts, which is refused; nothing worse may be on record.
    const refused = result.sandbox?.violations.filter(({ subject }) => subject !== "io_uring_setup");
    expect(refused).toEqual([]);
    expect(host.seen).toEqual([
      ["net", { action: "GET", resource: "https://a.example" }],
      [50, "half way"],
    ]);
    expect(result.usage.cpuMs).toBeGreaterThan(0);
    expect(result.usage.memoryPeakBytes).toBeGreaterThan(10 * MIB);
  });

  it("sees its own package and nothing else of the host", async () => {
    const sees = async (path: string) => {
      const result = await run("seesHost", { input: { path } });
      return result.ok && result.output;
    };
    expect(await sees(new URL("./fixtures/script-tool.ts", import.meta.url).pathname)).toBe(true);
    expect(await sees("/root")).toBe(false);
    expect(await sees("/var/lib")).toBe(false);
    expect(await sees(new URL("../../../../docs", import.meta.url).pathname)).toBe(false);
  });

  it("a crash, an exit and garbage are told apart [L3-EXE-4]", async () => {
    expect(await run("abort")).toMatchObject({ fault: { kind: "crashed" } });
    expect(await run("exit", { input: { code: 7 } })).toMatchObject({
      fault: { kind: "died", message: expect.stringMatching(/code 7.*leaving now/s) },
    });
    expect(await run("garbage", { input: { word: "hello\n\n" } })).toMatchObject({
      fault: { kind: "died", message: expect.stringMatching(/broke the protocol/) },
    });
  });

  it("the deadline holds against a script that never gives up the processor [FR-EXE-05]", async () => {
    const result = await run("loop", { timeoutMs: 5_000 });
    expect(result).toMatchObject({ fault: { kind: "timeout" } });
    expect(result.usage.cpuMs).toBeGreaterThan(300);
  });

  it.each([10, 14, 18, 20, 21, 22])(
    "too few open files (%d) to load the tool are a limit, and no file of the host is named [MCX-7]",
    async (openFiles) => {
      const result = await run("count", limitedTo({ openFiles }));
      if (result.ok) return expect(result.output).toBe(1);
      expect(result.fault).toEqual({
        ...{ kind: "limit", limit: "openFiles", message: "its process could open no more files" },
      });
    },
  );

  it("memory, output and processor time are limited [MCX-7]", async () => {
    const memory = await run("hog", limitedTo({ memoryBytes: 256 * MIB }));
    expect(memory).toMatchObject({ fault: { kind: "limit", limit: "memory" } });
    const output = await run("print", { input: { bytes: 200_000 }, ...limitedTo({ outputBytes: 100_000 }) });
    expect(output).toMatchObject({ fault: { kind: "limit", limit: "output" } });
    const cpu = await run("burn", { input: { ms: 10_000 }, ...limitedTo({ cpuMs: 1_500 }) });
    expect(cpu).toMatchObject({ fault: { kind: "limit", limit: "cpu" } });
  });
});

const pooledHouse = await openSandboxedHouse();

describe.skipIf(!pooledHouse)("warm scripts in the real sandbox", () => {
  if (!pooledHouse) return;
  const { sandbox } = pooledHouse;
  const runner = createScriptRunner({ sandbox, ...nodeRuntime(), pool: {} });
  afterAll(async () => {
    await runner.close();
    await pooledHouse.close();
  });
  const outputOf = async (job: Job) => {
    const result = await runner.run(job);
    if (!result.ok) throw new Error(JSON.stringify(result.fault));
    return result.output;
  };
  const filled = async () => {
    for (let n = 0; runner.counts().ready < 2; n++) {
      if (n > 4_000) throw new Error(`the pool does not fill: ${JSON.stringify(runner.counts())}`);
      await sleep(20);
    }
  };

  it("were there before the call, and cannot be told from fresh ones [L3-EXE-3]", async () => {
    const cold = await outputOf(scriptJob("look"));
    for (let n = 0; n < 4; n++) {
      await filled();
      expect(await outputOf(scriptJob("look"))).toEqual(cold);
    }
    await filled();
    const calledAt = Date.now();
    expect(await outputOf(scriptJob("processStartedAt"))).toBeLessThan(calledAt);
  });

  it("serve one call each [L3-EXE-3]", async () => {
    for (let n = 0; n < 3; n++) {
      await filled();
      expect(await outputOf(scriptJob("count"))).toBe(1);
    }
  });

  it("are not shared between agents [L3-EXE-3]", async () => {
    await outputOf(scriptJob("count"));
    await filled();
    const calledAt = Date.now();
    const other = await outputOf(byAgent("other", scriptJob("processStartedAt")));
    expect(other).toBeGreaterThanOrEqual(calledAt);
  });

  it("have their own deadline and processor time, counted from the claim [FR-EXE-05] [MCX-7]", async () => {
    const limits = limitedTo({ cpuMs: 1_000 });
    const counts = () => runner.counts().ready;
    await runner.run(scriptJob("count", limits));
    const before = counts();
    for (let n = 0; counts() <= before && n < 2_000; n++) await sleep(20);
    const burnt = await runner.run(scriptJob("burn", { input: { ms: 10_000 }, ...limits }));
    expect(burnt).toMatchObject({ fault: { kind: "limit", limit: "cpu" } });
    await filled();
    const startedAt = performance.now();
    expect(await runner.run(scriptJob("loop", { timeoutMs: 400 }))).toMatchObject({
      fault: { kind: "timeout" },
    });
    expect(performance.now() - startedAt).toBeLessThan(30_000);
  });
});
