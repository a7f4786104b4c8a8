import { setTimeout as sleep } from "node:timers/promises";
import { failure } from "@sallyport/protocol";
import { afterEach, describe, expect, it } from "vitest";
import type { Confinement, Job } from "../../ports/runner.ts";
import {
  createFakeSandbox,
  type FakeProgram,
  type FakeSandbox,
  type FakeSandboxOptions,
} from "../../testing/fake-sandbox.ts";
import { createConfinement } from "./fixtures/confined-job.ts";
import { createJob } from "./fixtures/job.ts";
import { confined, FAKE_NODE, runDesk, script } from "./fixtures/script-job.ts";
import type { PoolOptions } from "./sandbox-pool.ts";
import { createScriptRunner, type ScriptRunner } from "./script-runner.ts";

interface House {
  runner: ScriptRunner;
  sandbox: FakeSandbox;
  call(changes?: Partial<Job>): Promise<{ ok: boolean; warm: boolean }>;
}

const open: House[] = [];
afterEach(async () => {
  for (const { runner, sandbox } of open.splice(0)) {
    await runner.close();
    expect(sandbox.live).toBe(0);
    expect(runner.counts()).toEqual({ live: 0, ready: 0 });
  }
});

function createHouse(pool: PoolOptions = {}, sandbox: FakeSandbox = createFakeSandbox(runDesk)): House {
  const runner = createScriptRunner({ sandbox, node: FAKE_NODE, pool });
  const coldStarts = () => sandbox.orders.filter(({ id }) => !id.startsWith("warm-")).length;
  const call = async (changes: Partial<Job> = {}) => {
    const before = coldStarts();
    const { ok } = await runner.run(createJob(script("./contract-tool.ts"), { ...confined(), ...changes }));
    return { ok, warm: coldStarts() === before };
  };
  const house = { runner, sandbox, call };
  open.push(house);
  return house;
}

async function until(holds: () => boolean): Promise<void> {
  const giveUpAt = performance.now() + 30_000;
  while (!holds()) {
    if (performance.now() > giveUpAt) throw new Error("it never came to hold");
    await sleep(2);
  }
}

const ready = ({ runner }: House, count: number) => until(() => runner.counts().ready >= count);

describe("warm pool", () => {
  it("serves the second call of a kind from a process that waited [L3-EXE-3]", async () => {
    const house = createHouse();
    expect(await house.call()).toEqual({ ok: true, warm: false });
    await ready(house, 2);
    expect(await house.call()).toEqual({ ok: true, warm: true });
    await ready(house, 2);
    expect(house.runner.counts()).toEqual({ live: 2, ready: 2 });
  });

  it("never uses a process for a second call [L3-EXE-3]", async () => {
    const served = new Map<object, number>();
    const counting: FakeProgram = (process) => {
      process.stdin.on("data", (chunk: Buffer) => {
        if (chunk.includes('"kind":"run"')) served.set(process, (served.get(process) ?? 0) + 1);
      });
      return runDesk(process);
    };
    const house = createHouse({}, createFakeSandbox(counting));
    for (let n = 0; n < 6; n++) {
      await house.call();
      if (n % 2) await ready(house, 2);
    }
    expect([...served.values()]).toEqual([1, 1, 1, 1, 1, 1]);
  });

  it.each<[string, Partial<Job>]>([
    ["another agent", { facts: { ...createJob(script("./contract-tool.ts")).facts, agent: "other" } }],
    ["another tenant", { facts: { ...createJob(script("./contract-tool.ts")).facts, tenant: "other" } }],
    ["another level", confined({ level: "LEVEL_1" })],
    ["another mount", confined({ mounts: [{ source: "/a", target: "/a", mode: "ro" }] })],
    ["another hidden path", confined({ hidden: ["/a"] })],
    ["another host", confined({ egress: [{ host: "a.example" }] })],
    ["another limit", { confinement: limited({ memoryBytes: 256 * 1_048_576 }) }],
    ["other bounds", confined({ bounds: { agent: "planner", limits: { wallMs: 99_000 } } })],
    ["another folder", confined({ cwd: "/" })],
    ["another module", { implementation: script("./many-tools.ts"), tool: "first", operation: "name" }],
  ])("is not shared with a call of %s [L3-EXE-3]", async (_name, changes) => {
    const house = createHouse();
    await house.call();
    await ready(house, 2);
    expect(await house.call(changes)).toEqual({ ok: true, warm: false });
    expect(await house.call()).toEqual({ ok: true, warm: true });
  });

  it("a process that waits was ordered like one that is started, but for its time [L3-EXE-3]", async () => {
    const house = createHouse({ idleMs: 1_000 });
    const bounds = { agent: "planner", limits: { wallMs: 20_000, cpuMs: 500, processes: 64 } };
    await house.call({ confinement: { ...limited({ cpuMs: 500 }), bounds } });
    await ready(house, 1);
    const [cold, warm] = house.sandbox.orders;
    if (!cold || !warm) throw new Error("two were expected");
    expect(warm.limits.wallMs).toBeGreaterThan(20_000);
    expect(warm.limits.cpuMs).toBeGreaterThan(500);
    const { wallMs, cpuMs } = cold.limits;
    const again = { ...warm, id: cold.id, bounds: cold.bounds, limits: { ...warm.limits, wallMs, cpuMs } };
    expect(again).toEqual(cold);
    expect(warm.bounds?.limits).toEqual({ processes: 64 });
  });

  it("counts a call's own time from the claim [FR-EXE-05] [MCX-7]", async () => {
    const house = createHouse(
      { perKey: 1 },
      createFakeSandbox(runDesk, { startMs: 20, usage: { cpuMs: 12 } }),
    );
    await house.call();
    await ready(house, 1);
    const job = createJob(script("./contract-tool.ts"), {
      ...confined(),
      operation: "sleep",
      input: { ms: 60_000 },
    });
    const startedAt = performance.now();
    const result = await house.runner.run({ ...job, timeoutMs: 100 });
    expect(result).toMatchObject({ fault: { kind: "timeout" }, usage: { cpuMs: 7 } });
    expect(performance.now() - startedAt).toBeLessThan(15_000);
  });

  it("more processor time than allowed since the claim is a fault [MCX-7]", async () => {
    const house = createHouse(
      { perKey: 1 },
      createFakeSandbox(runDesk, { startMs: 20, usage: { cpuMs: 12 } }),
    );
    const changes = { confinement: limited({ cpuMs: 6 }) };
    await house.call(changes);
    await ready(house, 1);
    const job = createJob(script("./contract-tool.ts"), changes);
    expect(await house.runner.run(job)).toMatchObject({
      fault: { kind: "limit", limit: "cpu" },
      usage: { cpuMs: 7 },
    });
  });
});

describe("warm pool: bounds", () => {
  it("holds at most so many in all; the old make room, the young do not", async () => {
    const house = createHouse({ perKey: 2, total: 3, idleMs: 4_000 });
    const agent = (name: string) => ({
      facts: { ...createJob(script("./contract-tool.ts")).facts, agent: name },
    });
    for (const name of ["a", "b", "c"]) await house.call(agent(name));
    await ready(house, 3);
    await sleep(20);
    expect(house.runner.counts().live).toBe(3);
    await sleep(1_100);
    await house.call(agent("c"));
    await until(() => house.sandbox.orders.length >= 8);
    expect(house.runner.counts().live).toBeLessThanOrEqual(3);
    await ready(house, 3);
    expect(await house.call(agent("c"))).toMatchObject({ warm: true });
  });

  it("ends what waits too long", async () => {
    const house = createHouse({ idleMs: 50 });
    await house.call();
    await until(() => house.sandbox.orders.length === 3);
    await until(() => house.sandbox.live === 0);
    expect(await house.call()).toEqual({ ok: true, warm: false });
  });

  it("a burst of calls does not become a burst of starts", async () => {
    let starting = 0;
    let most = 0;
    const slow: FakeProgram = async (process) => {
      starting += process.order.id.startsWith("warm-") ? 1 : 0;
      most = Math.max(most, starting);
      await sleep(20);
      starting -= process.order.id.startsWith("warm-") ? 1 : 0;
      return runDesk(process);
    };
    const house = createHouse({ perKey: 4 }, createFakeSandbox(slow));
    await Promise.all(Array.from({ length: 10 }, () => house.call()));
    await ready(house, 4);
    expect(most).toBe(1);
    expect(house.sandbox.orders).toHaveLength(14);
  });

  it("a start that fails is not tried again until the next call", async () => {
    const refuse = failure("E3101");
    const options: FakeSandboxOptions = {};
    const house = createHouse({}, createFakeSandbox(runDesk, options));
    const first = house.call();
    await sleep(2);
    options.refuse = refuse;
    expect(await first).toEqual({ ok: true, warm: false });
    await sleep(50);
    expect(house.runner.counts().live).toBe(0);
    delete options.refuse;
    await house.call();
    await ready(house, 2);
  });

  it("a call that was refused leaves nothing warm behind", async () => {
    const bounds = { agent: "planner", limits: { outputBytes: 1 } };
    const house = createHouse();
    expect(await house.call(confined({ bounds }))).toMatchObject({ ok: false });
    await sleep(40);
    expect(house.sandbox.orders).toEqual([]);
  });

  it("a tool that is retired leaves nothing warm behind", async () => {
    const house = createHouse();
    await house.call();
    await ready(house, 2);
    await house.runner.retire("another");
    expect(house.runner.counts().ready).toBe(2);
    await house.runner.retire("contract");
    expect(house.sandbox.live).toBe(0);
  });

  it("a call that began before its tool was retired leaves nothing warm behind", async () => {
    const house = createHouse();
    const running = house.call();
    await house.runner.retire("contract");
    expect(await running).toMatchObject({ ok: true });
    await sleep(50);
    expect(house.sandbox.live).toBe(0);
    expect(house.sandbox.orders).toHaveLength(1);
  });
});

describe("warm pool: what waits is watched", () => {
  it("a process that died is noticed and skipped [L3-EXE-3]", async () => {
    const die: (() => void)[] = [];
    const mortal: FakeProgram = (process) => {
      die.push(() => process.end({ kind: "signalled", signal: "SIGKILL" }));
      return runDesk(process);
    };
    const house = createHouse({ perKey: 1 }, createFakeSandbox(mortal));
    await house.call();
    await ready(house, 1);
    die.at(-1)?.();
    await sleep(2);
    expect(await house.call()).toEqual({ ok: true, warm: false });
    await ready(house, 1);
    expect(await house.call()).toEqual({ ok: true, warm: true });
  });

  it.each([
    ["asks before it has a call", '{"kind":"ask","call":1,"question":1,"op":"get"}\n["k"]\n'],
    ["says it is ready twice", '{"kind":"ready","threadCpuMs":0}\n\n'],
    ["prints into the protocol", "hello\n\n"],
  ])("one that %s is ended", async (_name, words) => {
    const warm: Parameters<FakeProgram>[0][] = [];
    const forward: FakeProgram = (process) => {
      if (process.order.id.startsWith("warm-")) warm.push(process);
      return runDesk(process);
    };
    const house = createHouse({ perKey: 1 }, createFakeSandbox(forward));
    await house.call();
    await ready(house, 1);
    for (const process of warm) process.stdout.write(words);
    await until(() => house.sandbox.live === 0);
  });

  it("a module that does not load is not kept", async () => {
    const house = createHouse();
    await house.call({ implementation: script("./throws-at-import.ts") });
    await sleep(50);
    expect(house.runner.counts()).toEqual({ live: 0, ready: 0 });
    expect(house.sandbox.orders).toHaveLength(2);
  });
});

function limited(changes: Partial<Confinement["limits"]>): Confinement {
  const confinement = createConfinement();
  return { ...confinement, limits: { ...confinement.limits, ...changes } };
}
