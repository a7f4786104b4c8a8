import { setTimeout as sleep } from "node:timers/promises";
import { failure } from "@sallyport/protocol";
import { afterAll, describe, expect, it } from "vitest";
import type { Job } from "../../ports/runner.ts";
import type { SandboxEnding } from "../../ports/sandbox.ts";
import { createFakeSandbox, type FakeProgram } from "../../testing/fake-sandbox.ts";
import { createJob, createTestHost } from "./fixtures/job.ts";
import { runnerContract } from "./fixtures/runner-contract.ts";
import { confined, FAKE_NODE, runDesk, script } from "./fixtures/script-job.ts";
import { createScriptRunner } from "./script-runner.ts";

const MIB = 1_048_576;
const contract = script("./contract-tool.ts");

runnerContract("script", () => ({
  runner: createScriptRunner({ sandbox: createFakeSandbox(runDesk), node: FAKE_NODE }),
  implementation: contract,
  changes: confined(),
}));

/** Runs one job where the process is `program`. */
async function run(program: FakeProgram, changes: Partial<Job> = {}) {
  const sandbox = createFakeSandbox(program);
  const runner = createScriptRunner({ sandbox, node: FAKE_NODE });
  const result = await runner.run(createJob(contract, { ...confined(), ...changes }));
  await runner.close();
  expect(sandbox.live).toBe(0);
  return { result, sandbox };
}

const READY = '{"kind":"ready","threadCpuMs":1}\n\n';
const says =
  (...words: string[]): FakeProgram =>
  ({ stdout }) => {
    for (const word of words) stdout.write(word);
    return new Promise(() => {});
  };

describe("script runner: what comes out of the process is an enemy's word", () => {
  const done = (call: number) => `{"kind":"done","call":${call},"threadCpuMs":1,"memoryBytes":1}\n1\n`;
  it.each([
    ["text before anything else", ["hello world\n", "\n"]],
    ["text in between", [READY, "debug: 1\ndebug: 2\n"]],
    ["half a frame with text after it", [READY, '{"kind":"done"', "oops\n\n"]],
    ["an unknown kind", ['{"kind":"hello"}\n\n']],
    ["a wrong shape", [READY, '{"kind":"done","call":1}\nnull\n']],
    ["a call it never had", [READY, done(2)]],
    ["a result before it was ready", [done(1)]],
    ["being ready twice", [READY, READY]],
    ["NUL bytes", ["\0\0\0\0\n\n"]],
    ["a frame without end", ["x".repeat(30 * MIB)]],
    ["a large value where only files are large", [READY, `${ask("put")}\n["k","${"x".repeat(5 * MIB)}"]\n`]],
    ["too long a head", [`{"kind":"ready","threadCpuMs":1,"x":"${"x".repeat(70_000)}"}\n\n`]],
  ])("%s ends it [MCX-7]", async (_name, words) => {
    const { result } = await run(says(...words), { timeoutMs: 3_000 });
    expect(result).toMatchObject({
      fault: { kind: "died", message: expect.stringMatching(/broke the protocol/) },
    });
  });

  it("too many questions end it", async () => {
    const host = { ...createTestHost(), get: () => new Promise<undefined>(() => {}) };
    const questions = Array.from({ length: 129 }, (_, n) => `${ask("get", n)}\n["k"]\n`);
    const { result } = await run(says(READY, ...questions), { host });
    expect(result).toMatchObject({ fault: { kind: "died", message: expect.stringMatching(/too many/) } });
  });

  it("asking for files without reading them ends it [MCX-7]", async () => {
    const host = createTestHost();
    await host.files.write("k", Buffer.alloc(16 * MIB));
    const greedy: FakeProgram = async ({ stdout, signal }) => {
      stdout.write(READY);
      for (let n = 0; !signal.aborted; n++) {
        stdout.write(`${ask("read", n)}\n["k"]\n`);
        await sleep(20);
      }
      return 0;
    };
    const { result } = await run(greedy, { host });
    expect(result).toMatchObject({
      fault: { kind: "died", message: expect.stringMatching(/without reading/) },
    });
  });

  it("an output that is larger than it said, or no JSON, is no result", async () => {
    const head = '{"kind":"done","call":1,"threadCpuMs":1,"memoryBytes":1}\n';
    const large = await run(says(READY, `${head}"${"x".repeat(100)}"\n`), { maxOutputBytes: 50 });
    expect(large.result).toMatchObject({ fault: { kind: "output_too_large", bytes: 102 } });
    const broken = await run(says(READY, `${head}{\n`));
    expect(broken.result).toMatchObject({ fault: { kind: "not_json" } });
  });

  it("frames may come in pieces of any size", async () => {
    const drip: FakeProgram = async ({ stdout }) => {
      for (const byte of Buffer.from(`${READY}${done(1)}`)) {
        stdout.write(Buffer.from([byte]));
        await null;
      }
      return new Promise(() => {});
    };
    expect((await run(drip)).result).toMatchObject({ ok: true, output: 1 });
  });

  it("more printed than allowed ends it [MCX-7]", async () => {
    const chatty: FakeProgram = ({ stderr }) => {
      for (let n = 0; n < 200; n++) stderr.write("x".repeat(10_000));
      return new Promise(() => {});
    };
    expect((await run(chatty)).result).toMatchObject({ fault: { kind: "limit", limit: "output" } });
  });
});

function ask(op: string, question = 1): string {
  return `{"kind":"ask","call":1,"question":${question},"op":"${op}"}`;
}

describe("script runner: endings", () => {
  const ends =
    (ending: SandboxEnding, words = ""): FakeProgram =>
    ({ end, stderr }) => {
      stderr.write(words);
      end(ending);
      return new Promise(() => {});
    };
  it.each<[SandboxEnding, string, object]>([
    [{ kind: "exited", code: 7 }, "", { kind: "died", message: "the tool's process ended with code 7" }],
    [
      { kind: "exited", code: 0 },
      "bye",
      { kind: "died", message: "the tool's process ended with code 0; it printed: bye" },
    ],
    [{ kind: "signalled", signal: "SIGSEGV" }, "", { kind: "crashed" }],
    [
      { kind: "signalled", signal: "SIGABRT" },
      "JavaScript heap out of memory",
      { kind: "limit", limit: "memory" },
    ],
    [
      { kind: "signalled", signal: "SIGTRAP" },
      "#\n# Fatal process out of memory: CodeRange\n#\n----- Native stack trace -----\n\n 1: 0xc0ffee node::Abort()",
      {
        kind: "limit",
        message:
          "the tool's process was ended by SIGTRAP; it printed: Fatal process out of memory: CodeRange",
      },
    ],
    [
      { kind: "signalled", signal: "SIGABRT" },
      "assert\n----- Native stack trace -----\n\n 1: 0xc0ffee node::Abort()",
      { kind: "crashed", message: "the tool's process was ended by SIGABRT; it printed: assert" },
    ],
    [{ kind: "timeout" }, "", { kind: "timeout" }],
    [{ kind: "limit", limit: "processes", message: "m" }, "", { kind: "limit", limit: "processes" }],
    [{ kind: "violation", message: "v" }, "", { kind: "violation" }],
    [{ kind: "crashed", message: "c" }, "", { kind: "crashed" }],
    [
      { kind: "crashed", message: "no namespaces", notMade: true },
      "",
      { kind: "refused", failure: { code: "E3101", message: "no namespaces" } },
    ],
  ])("[L3-EXE-4] [MCX-7] %j", async (ending, words, fault) => {
    expect((await run(ends(ending, words))).result).toMatchObject({ fault, usage: { cpuMs: 1 } });
  });

  it("a good result does not stand when the process had broken out or used too much", async () => {
    const outcome = async (killedAs: SandboxEnding) => {
      const runner = createScriptRunner({
        sandbox: createFakeSandbox(runDesk, { killedAs }),
        node: FAKE_NODE,
      });
      return runner.run(createJob(contract, confined()));
    };
    const breach: SandboxEnding = { kind: "violation", message: "ptrace" };
    const limit: SandboxEnding = { kind: "limit", limit: "disk", message: "full" };
    expect(await outcome(breach)).toMatchObject({ ok: false, fault: breach });
    expect(await outcome(limit)).toMatchObject({ ok: false, fault: limit });
    expect(await outcome({ kind: "timeout" })).toMatchObject({ ok: true });
  });

  it("a sandbox that cannot be had is refused with its reason [L3-EXE-2]", async () => {
    const refuse = failure("E3101", { message: "none here" });
    const runner = createScriptRunner({ sandbox: createFakeSandbox(runDesk, { refuse }), node: FAKE_NODE });
    const result = await runner.run(createJob(contract, confined()));
    expect(result).toMatchObject({ fault: { kind: "refused", failure: refuse } });
  });

  it("a module that does not load is a fault", async () => {
    const runner = createScriptRunner({ sandbox: createFakeSandbox(runDesk), node: FAKE_NODE });
    const load = (file: string, tool = "contract") =>
      runner.run(createJob(script(file), { tool, ...confined(), timeoutMs: 500 }));
    expect(await load("./throws-at-import.ts")).toMatchObject({
      fault: { kind: "threw", message: "the tool's module failed to load: not today" },
    });
    expect(await load("./many-tools.ts", "fourth")).toMatchObject({ fault: { kind: "died" } });
    expect(await load("./never-loads.ts")).toMatchObject({ fault: { kind: "timeout" } });
    await runner.close();
  });
});

describe("script runner: the order", () => {
  const entryUrl = "file:///opt/entry.js";
  const node = { path: "/opt/node", mounts: [{ source: "/opt", target: "/opt", mode: "ro" as const }] };

  async function orderOf(changes: Partial<Job>) {
    const sandbox = createFakeSandbox(runDesk);
    const runner = createScriptRunner({ sandbox, node, entryUrl });
    const result = await runner.run(createJob(contract, changes));
    await runner.close();
    return { order: sandbox.orders[0], result };
  }

  it("shows Node, the runtime and the tool's package, and nothing of the host's environment", async () => {
    const { order } = await orderOf(confined({ cwd: "/somewhere" }));
    const targets = order?.mounts.map(({ target, mode }) => [target, mode]);
    const packageFolder = new URL("../../..", import.meta.url).pathname.replace(/\/$/, "");
    expect(targets).toEqual([
      ["/opt", "ro"],
      [packageFolder, "ro"],
    ]);
    expect(order).toMatchObject({
      id: "execution-1",
      level: "LEVEL_2",
      env: {},
      cwd: "/somewhere",
    });
    expect(order?.argv).toEqual(["/opt/node", "--max-old-space-size=512", "/opt/entry.js"]);
  });

  it("does not cover what the call's own bounds show already", async () => {
    const all = { source: "/", target: "/", mode: "ro" as const };
    const { order, result } = await orderOf(confined({ mounts: [all] }));
    expect(order?.mounts).toEqual([all]);
    expect(result).toMatchObject({ ok: true });
  });

  it("keeps the agent's bounds, to which the runtime's own folders do not count [L3-EXE-1]", async () => {
    const bounds = {
      agent: "planner",
      limits: { wallMs: 20_000, outputBytes: 2_000_000 },
      filesystem: [{ path: "/data", mode: "ro" as const }],
    };
    const { order } = await orderOf(confined({ bounds }));
    expect(order?.bounds?.limits).toEqual({ wallMs: 20_000 });
    expect(order?.bounds?.filesystem?.map(({ path }) => path)).toEqual([
      "/data",
      ...(order?.mounts ?? []).map(({ source }) => source),
    ]);
    const tight = { ...bounds, limits: { outputBytes: 10 } };
    const refused = await orderOf(confined({ bounds: tight }));
    expect(refused).toMatchObject({
      order: undefined,
      result: { fault: { kind: "refused", failure: { code: "E3102" } } },
    });
  });
});

describe("script runner: one process, one call", () => {
  const sandbox = createFakeSandbox(runDesk);
  const runner = createScriptRunner({ sandbox, node: FAKE_NODE });
  afterAll(() => runner.close());

  it("is started for each call and gone before its result is out [L3-EXE-2]", async () => {
    const run = () => runner.run(createJob(contract, confined()));
    expect(await run()).toMatchObject({ ok: true, output: { sum: 3 } });
    expect(sandbox.live).toBe(0);
    await Promise.all([run(), run()]);
    expect(sandbox.orders).toHaveLength(3);
    expect(sandbox.live).toBe(0);
  });

  it("leaves no timer behind", async () => {
    const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length;
    const before = timers();
    await runner.run(createJob(contract, confined()));
    await sleep(5);
    expect(timers()).toBeLessThanOrEqual(before);
  });
});
