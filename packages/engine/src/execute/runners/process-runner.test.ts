import { getEventListeners } from "node:events";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { failure } from "@sallyport/protocol";
import { describe, expect, it } from "vitest";
import type { Confinement, Job, ProcessProgram } from "../../ports/runner.ts";
import type { SandboxEnding } from "../../ports/sandbox.ts";
import type { FileStaging, WorkspaceView } from "../../ports/workspace.ts";
import { createFakeSandbox, type FakeProgram, type FakeSandboxOptions } from "../../testing/fake-sandbox.ts";
import { commandJob, createConfinement } from "./fixtures/confined-job.ts";
import { contractTool } from "./fixtures/contract-tool.ts";
import { createProcessRunner } from "./process-runner.ts";

interface Case extends FakeSandboxOptions {
  program?: Partial<ProcessProgram>;
  job?: Partial<Job>;
}

/** Runs a program that is a function, and sees to it that nothing of it is left. */
async function run(fake: FakeProgram, { program = {}, job = {}, ...options }: Case = {}) {
  const sandbox = createFakeSandbox(fake, options);
  const runner = createProcessRunner({ sandbox });
  const result = await runner.run(commandJob(program, job));
  await sandbox.close();
  return { result, sandbox, runner };
}

const hang: FakeProgram = () => new Promise(() => {});
const ends =
  (ending: SandboxEnding): FakeProgram =>
  ({ end }) => {
    end(ending);
    return new Promise(() => {});
  };
const limits = (changes: Partial<Confinement["limits"]>) => {
  const confinement = createConfinement();
  return { ...confinement, limits: { ...confinement.limits, ...changes } };
};

describe("process runner: results", () => {
  it("gives exit code, stdout and stderr as text, and the sandbox's report [FR-EXE-06] [L3-EXE-2]", async () => {
    const usage = { cpuMs: 7, memoryPeakBytes: 9, networkBytesSent: 1, networkBytesReceived: 2 };
    const violation = {
      type: "SYSCALL",
      severity: "LOW",
      description: "d",
      subject: "mount",
      times: 1,
      at: 0,
    } as const;
    const { result } = await run(
      ({ stdout, stderr }) => {
        stdout.write("grüezi\n");
        stderr.write("a warning");
        return 0;
      },
      { usage, violations: [violation] },
    );
    expect(result).toEqual({
      ok: true,
      output: { exitCode: 0, stdout: "grüezi\n", stderr: "a warning" },
      usage,
      sandbox: {
        isolation: { level: "LEVEL_2", runner: "fake" },
        enforcement: { wall: "watch" },
        violations: [violation],
      },
    });
  });

  it("hands on what is printed as it comes, and does not mind a listener that fails", async () => {
    const heard: string[] = [];
    const onOutput: Confinement["onOutput"] = (stream, chunk) => {
      heard.push(`${stream} ${Buffer.from(chunk)}`);
      if (stream === "stderr") throw new Error("nobody listens any more");
    };
    const confinement = { ...createConfinement(), onOutput };
    const { result } = await run(
      async ({ stdout, stderr }) => {
        stdout.write("one");
        await sleep(5);
        stderr.write("two");
        await sleep(5);
        stdout.write("three");
        return 0;
      },
      { job: { confinement } },
    );
    expect(heard).toEqual(["stdout one", "stderr two"]);
    expect(result).toMatchObject({ ok: true, output: { stdout: "onethree", stderr: "two" } });
  });

  it("gives binary output in base64 and says so [FR-EXE-06]", async () => {
    const { result } = await run(({ stdout, stderr }) => {
      stdout.write(Buffer.from([0xff, 0x00, 0x80]));
      stderr.write(Buffer.from([0x66, 0xff]));
      return 0;
    });
    const output = { exitCode: 0, stdout: "/wCA", stderr: "f\ufffd", encoding: "base64" };
    expect(result).toMatchObject({ ok: true, output });
  });

  it("passes the input as one line of JSON, or closes stdin [FR-EXE-06]", async () => {
    const echo: FakeProgram = async ({ stdin, stdout }) => {
      stdout.write(JSON.stringify(await text(stdin)));
      return 0;
    };
    const input = { path: "a\nb", n: 1 };
    const json = await run(echo, { program: { stdin: "json", stdout: "json" }, job: { input } });
    expect(json.result).toMatchObject({ ok: true, output: `${JSON.stringify(input)}\n` });
    const none = await run(echo, { program: { stdout: "json" }, job: { input } });
    expect(none.result).toMatchObject({ ok: true, output: "" });
  });

  it("a program that never reads its input is no fault", async () => {
    const input = { text: "x".repeat(500_000) };
    const { result } = await run(() => 0, { program: { stdin: "json" }, job: { input } });
    expect(result).toMatchObject({ ok: true });
  });

  it.each([
    ["", /JSON/],
    ["{", /JSON/],
    ['{"a":1,"a":2}', /twice/],
    ["\u00ff", /no UTF-8/],
  ])("stdout %j is no JSON result", async (printed, message) => {
    const program: FakeProgram = ({ stdout }) => {
      stdout.write(printed, "latin1");
      return 0;
    };
    const { result } = await run(program, { program: { stdout: "json" } });
    expect(result).toMatchObject({ fault: { kind: "not_json", message: expect.stringMatching(message) } });
  });

  it.each<[string, Buffer, RegExp]>([
    ["text", Buffer.from('é\n"'.repeat(500)), /^(?:é\n")+(?:é\n?)?\n\[(\d+) bytes left out\]$/],
    ["binary", Buffer.alloc(2_000, 0xff), /^\/{100,}(?:w==|8=)?$/],
  ])(
    "%s longer than the call may give is cut, and the command has done its work [FR-OUT-04]",
    async (_, printed, shown) => {
      for (const outputBytes of [500, 100_000]) {
        const program: FakeProgram = ({ stdout, stderr }) => {
          stdout.write(printed);
          stderr.write("w".repeat(1_000));
          return 0;
        };
        const job = { maxOutputBytes: 1_000, confinement: limits({ outputBytes }) };
        const { result } = await run(program, { job });
        const output = "output" in result ? result.output : undefined;
        expect(output).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(shown) });
        expect(JSON.stringify(output)).toMatch(/bytes left out/);
        expect(Buffer.byteLength(JSON.stringify(output))).toBeLessThanOrEqual(1_000);
      }
    },
  );

  it("whoever watches is told that no more is shown [FR-OUT-01]", async () => {
    const shown: string[] = [];
    const onOutput = (stream: string, chunk: Uint8Array) =>
      void shown.push(`${stream} ${Buffer.from(chunk)}`);
    const program: FakeProgram = async ({ stdout }) => {
      for (const text of ["12345", "67890", "more"]) {
        stdout.write(text);
        await sleep(1);
      }
      return 0;
    };
    const tight = { ...createConfinement({}).limits, outputBytes: 7 };
    await run(program, { job: { confinement: createConfinement({ onOutput, limits: tight }) } });
    expect(shown.join("|")).toMatch(/^stdout 12345\|stdout 67\|stderr \n\[[^|]*7 bytes is not shown\]\n$/);
  });

  it("data larger than the call may give is refused [MCX-7]", async () => {
    const program: FakeProgram = ({ stdout }) => {
      stdout.write(`"${"x".repeat(2_000)}"`);
      return 0;
    };
    const job = { maxOutputBytes: 1_000 };
    const json = await run(program, { program: { stdout: "json" }, job });
    expect(json.result).toMatchObject({ fault: { kind: "output_too_large", bytes: 2_002 } });
  });
});

describe("process runner: the order", () => {
  it("is what the confinement says, and nothing else", async () => {
    const view: WorkspaceView = { kind: "copy", root: "/w", copy: "/c" };
    const staging: Partial<FileStaging> = { root: "/w", view: async () => view };
    const confinement = createConfinement({
      level: "LEVEL_1",
      mounts: [{ source: "/a", target: "/a", mode: "ro" }],
      hidden: ["/a/secret"],
      egress: [{ host: "example.com", port: 443 }],
      bounds: { agent: "planner", limits: { wallMs: 20_000 } },
      cwd: "/w",
      staging: staging as FileStaging,
    });
    const program = { command: ["wc", "{path}"], env: { LC_ALL: "C" } };
    const { sandbox } = await run(() => 0, { program, job: { input: { path: "x" }, confinement } });
    const { staging: _staging, ...rest } = confinement;
    const shown = { env: { LC_ALL: "C" }, workspace: view, isOutputCut: true };
    const order = { ...rest, ...shown, id: "execution-1", argv: ["wc", "x"] };
    expect(sandbox.orders).toEqual([order]);
  });

  it("wrong input, an unknown operation or another kind of tool start nothing", async () => {
    const wrong = await run(() => 0, { program: { command: ["p", "{a}"] }, job: { input: { a: [] } } });
    expect(wrong.result).toMatchObject({ fault: { kind: "threw", invalidInput: true } });
    const unknown = await run(() => 0, { job: { operation: "toString" } });
    expect(unknown.result).toMatchObject({
      fault: { kind: "threw", message: 'command has no operation "toString"' },
    });
    const inline = { kind: "inline" as const, operations: contractTool.operations };
    const other = await run(() => 0, { job: { implementation: inline } });
    expect(other.result).toMatchObject({ fault: { kind: "died" } });
    for (const { sandbox } of [wrong, unknown, other]) expect(sandbox.orders).toEqual([]);
  });

  it("tells when the sandbox came and went", async () => {
    const events: string[] = [];
    const confinement = createConfinement({ onEvent: (event) => void events.push(event) });
    await run(() => 0, { job: { confinement } });
    expect(events).toEqual(["SANDBOX_CREATED", "SANDBOX_DESTROYED"]);
  });
});

describe("process runner: faults", () => {
  it("another exit code is told with the ends of what was printed [L3-EXE-4]", async () => {
    const { result } = await run(({ stdout, stderr }) => {
      stdout.write("1 test failed");
      stderr.write(`${"noise\n".repeat(20_000)}\u001b[31mfatal: no such branch\u001b[0m`);
      return 3;
    });
    expect(result).toMatchObject({ fault: { kind: "exit", code: 3, stdout: "1 test failed" } });
    if (result.ok || result.fault.kind !== "exit") throw new Error("no exit");
    expect(result.fault.stderr.endsWith("noise\nfatal: no such branch")).toBe(true);
    expect(result.fault.stderr.startsWith("[")).toBe(true);
    expect(result.fault.stderr.length).toBeLessThan(4_200);
  });

  it("codes that count as done are done", async () => {
    const { result } = await run(() => 1, { program: { success: [0, 1] } });
    expect(result).toMatchObject({ ok: true, output: { exitCode: 1 } });
    expect((await run(() => 0, { program: { success: [1] } })).result).toMatchObject({
      fault: { kind: "exit", code: 0 },
    });
  });

  it.each<[SandboxEnding, object]>([
    [
      { kind: "signalled", signal: "SIGSEGV" },
      { kind: "crashed", message: "it was ended by SIGSEGV" },
    ],
    [{ kind: "timeout" }, { kind: "timeout" }],
    [
      { kind: "limit", limit: "memory", message: "m" },
      { kind: "limit", limit: "memory", message: "m" },
    ],
    [
      { kind: "limit", limit: "output", message: "m" },
      { kind: "limit", limit: "output", message: "m" },
    ],
    [
      { kind: "violation", message: "mount" },
      { kind: "violation", message: "mount" },
    ],
    [
      { kind: "crashed", message: "no bwrap" },
      { kind: "crashed", message: "no bwrap" },
    ],
    [{ kind: "killed" }, { kind: "cancelled" }],
  ])("[L3-EXE-4] [MCX-7] %j", async (ending, fault) => {
    const { result } = await run(ends(ending));
    expect(result).toMatchObject({
      ok: false,
      fault,
      usage: { cpuMs: 1 },
      sandbox: { enforcement: { wall: "watch" } },
    });
  });

  it("a sandbox that cannot be had is refused with its reason [L3-EXE-2]", async () => {
    const refuse = failure("E3101", { message: "no bubblewrap here" });
    const { result } = await run(() => 0, { refuse });
    expect(result).toEqual({
      ok: false,
      fault: { kind: "refused", failure: refuse },
      usage: { cpuMs: 0, memoryPeakBytes: 0 },
    });
  });

  it("a workspace that cannot be shown is a fault, and nothing starts", async () => {
    const view = () => Promise.reject(new Error("disk full"));
    const staging: Partial<FileStaging> = { root: "/w", view };
    const confinement = createConfinement({ staging: staging as FileStaging });
    const { result, sandbox } = await run(() => 0, { job: { confinement } });
    expect(result).toMatchObject({ fault: { kind: "crashed", message: expect.stringMatching(/disk full/) } });
    expect(sandbox.orders).toEqual([]);
  });

  it("more data than allowed ends the process, though its sandbox looked away [MCX-7]", async () => {
    const flood: FakeProgram = async ({ stdout, signal }) => {
      while (!signal.aborted) {
        stdout.write("x".repeat(10_000));
        await sleep(1);
      }
      return 0;
    };
    const job = { confinement: limits({ outputBytes: 50_000 }) };
    const { result, sandbox } = await run(flood, { job, program: { stdout: "json" } });
    expect(result).toMatchObject({ fault: { kind: "limit", limit: "output" } });
    expect(sandbox.live).toBe(0);
  });

  it("more processor time than allowed is a fault, though it came to an end [MCX-7]", async () => {
    const { result } = await run(() => 0, {
      usage: { cpuMs: 501 },
      job: { confinement: limits({ cpuMs: 500 }) },
    });
    expect(result).toMatchObject({ fault: { kind: "limit", limit: "cpu" }, usage: { cpuMs: 501 } });
  });
});

describe("process runner: the end", () => {
  it("the deadline holds by itself [FR-EXE-05]", async () => {
    const { result, sandbox } = await run(hang, { job: { timeoutMs: 50 } });
    expect(result).toMatchObject({ fault: { kind: "timeout" }, usage: { cpuMs: 1 } });
    expect(sandbox.live).toBe(0);
  });

  it("a cancel kills at once [FR-EXE-05]", async () => {
    const startedAt = performance.now();
    const { result } = await run(hang, { job: { signal: AbortSignal.timeout(30) } });
    expect(result).toMatchObject({ fault: { kind: "cancelled" } });
    expect(performance.now() - startedAt).toBeLessThan(15_000);
    const before = await run(() => 0, { job: { signal: AbortSignal.abort() } });
    expect(before.result).toMatchObject({ fault: { kind: "cancelled" } });
    expect(before.sandbox.orders).toEqual([]);
  });

  it("a call decided while its sandbox is made does not run on", async () => {
    const { result, sandbox } = await run(hang, { startMs: 60, job: { timeoutMs: 20 } });
    expect(result).toMatchObject({
      fault: { kind: "timeout" },
      sandbox: { isolation: { level: "LEVEL_2" } },
    });
    expect(sandbox.live).toBe(0);
  });

  it("a breach counts more than a deadline", async () => {
    const killedAs = { kind: "violation", message: "ptrace" } as const;
    const { result } = await run(hang, { killedAs, job: { timeoutMs: 20 } });
    expect(result).toMatchObject({ fault: killedAs });
  });

  it("a process that cannot be ended holds the result back only so long [FR-EXE-05]", async () => {
    const sandbox = createFakeSandbox(hang, { endMs: 4_000 });
    const result = await createProcessRunner({ sandbox, patienceMs: 50 }).run(
      commandJob({}, { timeoutMs: 50 }),
    );
    expect(result).toMatchObject({
      fault: { kind: "timeout" },
      sandbox: { enforcement: {}, violations: [] },
    });
    expect(sandbox.live).toBe(1);
    await sandbox.close();
  });

  it("closing cancels what runs and what comes", async () => {
    const sandbox = createFakeSandbox(hang);
    const runner = createProcessRunner({ sandbox });
    const running = runner.run(commandJob({}));
    await sleep(10);
    await runner.close();
    expect(await running).toMatchObject({ fault: { kind: "cancelled" } });
    expect(await runner.run(commandJob({}))).toMatchObject({ fault: { kind: "cancelled" } });
    expect(sandbox.live).toBe(0);
  });

  it("leaves no listener and no timer behind", async () => {
    const { signal } = new AbortController();
    const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length;
    const before = timers();
    await run(() => 0, { job: { signal } });
    expect(getEventListeners(signal, "abort")).toEqual([]);
    expect(timers()).toBe(before);
  });
});
