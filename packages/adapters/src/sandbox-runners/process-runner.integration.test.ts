import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createProcessRunner } from "@sallyport/engine";
import type { Job, ProcessProgram } from "@sallyport/engine/ports";
import { afterAll, describe, expect, it } from "vitest";
import { commandJob, createBounds, limitedTo, openSandboxedHouse } from "./fixtures/sandboxed-house.ts";

const house = await openSandboxedHouse();

function commandLines(): string[] {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids.map((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
    } catch {
      return "";
    }
  });
}

describe.skipIf(!house)("commands in the real sandbox", () => {
  if (!house) return;
  const runner = createProcessRunner({ sandbox: house.sandbox });
  afterAll(async () => {
    await runner.close();
    await house.close();
  });
  const run = (program: Partial<ProcessProgram>, changes: Partial<Job> = {}) =>
    runner.run(commandJob(program, changes));
  const shell = (script: string, changes: Partial<Job> = {}) =>
    run({ command: ["sh", "-c", script] }, changes);

  it("a command gives its exit code and output, at LEVEL_2, with usage and enforcement [L3-EXE-2] [FR-EXE-06]", async () => {
    const result = await shell("echo out; echo err >&2");
    expect(result).toMatchObject({
      ok: true,
      output: { exitCode: 0, stdout: "out\n", stderr: "err\n" },
      sandbox: { isolation: { level: "LEVEL_2" }, violations: [] },
    });
    expect(result.usage.memoryPeakBytes).toBeGreaterThan(100_000);
    expect(Object.values(result.sandbox?.enforcement ?? {}).length).toBeGreaterThan(3);
  });

  it("arguments reach the program as they are, and never a shell", async () => {
    const what = "$(id) ; `id` * \"'\\ ü";
    const program = { command: ["printf", "%s|", "{what}", "{more...}", "{left}"] };
    const result = await run(program, { input: { what, more: ["a b", 7] } });
    expect(result).toMatchObject({ output: { stdout: `${what}|a b|7|` } });
  });

  it("stdin is the input as JSON, or closed; the environment is clean; cwd is the given one [FR-EXE-06]", async () => {
    const echo = await run({ command: ["cat"], stdin: "json", stdout: "json" }, { input: { a: [1, "ü"] } });
    expect(echo).toMatchObject({ ok: true, output: { a: [1, "ü"] } });
    expect(await run({ command: ["cat"] })).toMatchObject({ output: { stdout: "" } });
    process.env.SALLYPORT_TEST_SECRET = "leaked";
    const env = await run({ command: ["env"], env: { MINE: "1" } });
    delete process.env.SALLYPORT_TEST_SECRET;
    expect(env).toMatchObject({ output: { stdout: expect.stringMatching(/^MINE=1$/m) } });
    expect(env).toMatchObject({ output: { stdout: expect.not.stringMatching(/leaked/) } });
    const cwd = await run({ command: ["pwd"] }, { confinement: createBounds({ cwd: "/usr" }) });
    expect(cwd).toMatchObject({ output: { stdout: "/usr\n" } });
  });

  it("binary output comes in base64 [FR-EXE-06]", async () => {
    const result = await shell("printf '\\377\\000'");
    expect(result).toMatchObject({ output: { stdout: "/wA=", encoding: "base64" } });
  });

  it("sees what is mounted, and cannot write there", async () => {
    const folder = mkdtempSync(join(tmpdir(), "sallyport-seen-"));
    chmodSync(folder, 0o755);
    writeFileSync(join(folder, "file"), "content");
    const confinement = createBounds({
      mounts: [{ source: folder, target: folder, mode: "ro" }],
      cwd: folder,
    });
    const result = await shell("cat file; echo x > file", { confinement });
    expect(result).toMatchObject({ fault: { kind: "exit" } });
    expect(readFileSync(join(folder, "file"), "utf8")).toBe("content");
    rmSync(folder, { recursive: true });
  });

  it("another exit code is told with stderr, a signal as a crash [L3-EXE-4]", async () => {
    expect(await shell("echo no such branch >&2; exit 3")).toMatchObject({
      fault: { kind: "exit", code: 3, stderr: "no such branch" },
    });
    expect(await run({ command: ["grep", "x"], success: [0, 1] })).toMatchObject({ output: { exitCode: 1 } });
    const crashed = await shell("kill -SEGV $$");
    expect(crashed).toMatchObject({ fault: { kind: expect.stringMatching(/^(crashed|exit)$/) } });
  });

  it("a program that is not there is told [L3-EXE-4]", async () => {
    const result = await run({ command: ["no-such-program-anywhere"] });
    expect(result).toMatchObject({ ok: false, fault: { kind: expect.stringMatching(/^(exit|crashed)$/) } });
  });

  it("on timeout the whole tree is gone, daemons too [FR-EXE-05]", async () => {
    const startedAt = performance.now();
    const script = "trap '' TERM; (setsid sleep 4711.1 &) ; sleep 4711.2";
    const result = await shell(script, { timeoutMs: 1_000, ...limitedTo({ wallMs: 1_000 }) });
    expect(result).toMatchObject({
      fault: { kind: "timeout" },
      sandbox: { isolation: { level: "LEVEL_2" } },
    });
    expect(performance.now() - startedAt).toBeLessThan(30_000);
    expect(commandLines().filter((line) => line.includes("4711."))).toEqual([]);
  });

  it("a cancel does the same [FR-EXE-05]", async () => {
    const result = await shell("sleep 4712.1", { signal: AbortSignal.timeout(500) });
    expect(result).toMatchObject({ fault: { kind: "cancelled" } });
    expect(commandLines().filter((line) => line.includes("4712."))).toEqual([]);
  });

  it("more data than allowed ends it [MCX-7]", async () => {
    const yes = { command: ["yes"], stdout: "json" } as const;
    const result = await run(yes, limitedTo({ outputBytes: 100_000 }));
    expect(result).toMatchObject({ fault: { kind: "limit", limit: "output" } });
  });

  it("more text than allowed is cut, and the command goes on to its end [FR-OUT-04]", async () => {
    const script = "yes | head -c 3000000; echo last >&2";
    const result = await shell(script, limitedTo({ outputBytes: 100_000 }));
    const stdout = expect.stringMatching(/^(?:y\n){50000}\n\[2900000 bytes left out\]$/);
    expect(result).toMatchObject({ ok: true, output: { exitCode: 0, stdout, stderr: "last\n" } });
  });

  it("more memory than allowed ends it [MCX-7]", async () => {
    const hog = "x=x; while :; do x=$x$x; done";
    const result = await shell(hog, limitedTo({ memoryBytes: 64 * 1_048_576 }));
    expect(result).toMatchObject({
      ok: false,
      fault: { kind: expect.stringMatching(/^(limit|exit|crashed)$/) },
    });
  });
});
