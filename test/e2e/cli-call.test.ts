import { execFileSync } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { Shell } from "./shell.ts";

const INSTALLED = fileURLToPath(new URL("../../node_modules/.bin/sallyport", import.meta.url));

async function until(condition: () => boolean): Promise<void> {
  for (let turn = 0; turn < 3_000 && !condition(); turn += 1)
    await new Promise((resolve) => setTimeout(resolve, 20));
}

/** Call `c-1`, which is running and would for long. */
async function startSleeping(shell: Shell) {
  const trace = shell.path("trace");
  const input = JSON.stringify({ trace, ms: 40_000 });
  const started = shell.start(["call", "actor", "--operation", "sleep", input, "--call-id", "c-1"]);
  await until(() => existsSync(trace));
  return started;
}

describe("sallyport call", () => {
  it("runs the worked example and prints nothing but the result on stdout [MCX-10]", async () => {
    using shell = new Shell();
    const { code, stdout, stderr } = await shell.runAlone([
      "call",
      "calculator",
      "--operation",
      "add",
      '{"a":2,"b":3}',
    ]);
    expect(JSON.parse(stdout)).toEqual({ result: 5 });
    expect(stderr).toContain("receipt local#1");
    expect(stderr).not.toContain("Warning");
    expect(code).toBe(0);
  });

  it("prints the whole response with --json: lifecycle, isolation and receipt too [L3-API-1]", async () => {
    using shell = new Shell();
    const answer = await shell.json([
      "call",
      "calculator",
      "--operation",
      "multiply",
      '{"a":4,"b":5}',
      "--call-id",
      "01890000-0000-7000-8000-000000000001",
    ]);
    expect(answer).toMatchObject({
      invocation_id: "01890000-0000-7000-8000-000000000001",
      status: "success",
      result: { result: 20 },
      tool_id: "calculator",
      tool_version: "1.0.0",
      isolation: { level: "LEVEL_0", runner: "thread" },
      receipt: { tenant: "local", sequence: 1 },
      exitCode: 0,
    });
    expect((answer.lifecycle as { state: string }[]).map(({ state }) => state)).toEqual([
      "DECLARED",
      "VALIDATED",
      "AUTHORIZED",
      "EXECUTING",
      "COMPLETED",
    ]);
    expect(answer.execution_metadata).toMatchObject({
      duration_ms: expect.any(Number),
      started_at: expect.stringMatching(/^20.*Z$/),
    });
  });

  it("reads its input from a file and from standard input", async () => {
    using shell = new Shell();
    writeFileSync(shell.path("in.json"), '{"a":1,"b":2}');
    expect((await shell.run(["call", "calculator", "--operation", "add", "@in.json"])).stdout).toContain("3");
    expect(
      (await shell.run(["call", "calculator", "--operation", "add", "-"], { stdin: '{"a":2,"b":2}' })).stdout,
    ).toContain("4");
  });

  it.each([
    ["a tool that fails", ["call", "actor", "--operation", "fail", "{}"], 1, "E3907"],
    ["a tool that ends its thread", ["call", "actor", "--operation", "exit", "{}"], 1, "E3107"],
    ["an input that is not JSON", ["call", "calculator", "--operation", "add", "{a:1}"], 2, "E3921"],
    [
      "an input file that is not there",
      ["call", "calculator", "--operation", "add", "@nope.json"],
      2,
      "E3921",
    ],
    ["an input against the schema", ["call", "calculator", "--operation", "add", '{"a":1}'], 2, "E3901"],
    ["an unknown tool", ["call", "calculater", "{}"], 2, "E3001"],
    ["an unknown operation", ["call", "calculator", "--operation", "root", "{}"], 2, "E3010"],
    [
      "an unknown version",
      ["call", "calculator", "--operation", "add", "--tool-version", "^7", "{}"],
      2,
      "E3006",
    ],
    ["a tool nobody grants", ["call", "locked", "{}"], 3, "E3209"],
    ["a tool that never ends", ["call", "actor", "--operation", "loop", "{}"], 5, "E3103"],
  ])("exits with the documented code for %s", async (_, args, code, errorCode) => {
    using shell = new Shell();
    const ran = await shell.run(args);
    expect(ran.stderr).toContain(errorCode);
    expect(ran.stderr).toContain("→");
    expect([ran.code, ran.stdout]).toEqual([code, ""]);
  });

  // A process takes its exit code from bin/sallyport.js. Code 4 (interrupted while it waits) is in approvals.test.ts, 6 below.
  it.each([
    ["bad usage", ["cal"], 2],
    ["a tool that fails", ["call", "actor", "--operation", "fail", "{}"], 1],
    ["a tool nobody grants", ["call", "locked", "{}"], 3],
    ["a tool that never ends", ["call", "actor", "--operation", "loop", "{}"], 5],
    ["a state folder that is a file", ["call", "locked", "{}", "--state-dir", "sallyport.yaml"], 70],
  ])("exits, as a process, with that code for %s", async (_, args, code) => {
    using shell = new Shell();
    expect(await shell.runAlone(args)).toMatchObject({ code, signal: null, stdout: "" });
  });

  it("is found by its name where the package is installed", () => {
    const env = { ...process.env, PATH: `${dirname(process.execPath)}:${process.env.PATH}` };
    expect(execFileSync(INSTALLED, ["--version"], { env, encoding: "utf8" })).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  it("stops listening for signals when it ends", async () => {
    using shell = new Shell();
    const listeners = () => ["SIGINT", "SIGTERM", "SIGHUP"].map((name) => process.listenerCount(name));
    const before = listeners();
    expect(await shell.run(["call", "locked", "{}"])).toMatchObject({ code: 3 });
    expect(listeners()).toEqual(before);
  });

  it("exits with 2 and a hint for bad usage", async () => {
    using shell = new Shell();
    for (const args of [
      ["cal"],
      ["call"],
      ["call", "calculator", "--operatoin", "add"],
      ["call", "x", "--timeout-ms", "soon"],
    ]) {
      const ran = await shell.run(args);
      expect([args, ran.code]).toEqual([args, 2]);
      expect(ran.stderr).toMatch(/--help|Did you mean|error:/);
    }
  });

  it("prints nothing that could play with a terminal, whatever a tool says", async () => {
    using shell = new Shell();
    const hostile = { text: "\u001b[2J\u009b31m\u202egnp.exe" };
    const echoed = await shell.run(["call", "actor", "--operation", "echo", JSON.stringify(hostile)]);
    expect(JSON.parse(echoed.stdout)).toEqual(hostile);
    const failed = await shell.run(["call", "\u001b[2Jno-such-tool", "{}", "--agent", "\u009b31m"]);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there
    const dangerous = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202e]/;
    for (const text of [echoed.stdout, echoed.stderr, failed.stdout, failed.stderr])
      expect(text).not.toMatch(dangerous);
  });

  it("prints one JSON document with --json also for bad usage, and refuses endless input", async () => {
    using shell = new Shell();
    expect(await shell.json(["call"])).toMatchObject({
      status: "error",
      error: { code: "E3921" },
      exitCode: 2,
    });
    const endless = await shell.run(["call", "calculator", "--operation", "add", "@/dev/zero"]);
    expect([endless.code, endless.stderr.includes("more than")]).toEqual([2, true]);
    const folder = await shell.run(["call", "calculator", "--operation", "add", "@."]);
    expect(folder.code).toBe(2);
  });

  it("is cancelled by an interrupt, on record, with exit code 6", async () => {
    using shell = new Shell();
    const { child, done } = await startSleeping(shell);
    child.kill("SIGINT");
    expect((await done).code).toBe(6);
    expect(await shell.json(["calls", "show", "c-1"])).toMatchObject({
      phase: "closed",
      outcome: { status: "cancelled" },
    });
  });

  it("answers a repeated key from the record, also in another process [L3-API-1]", async () => {
    using shell = new Shell();
    const args = ["call", "counter", "--operation", "increment", '{"name":"n"}', "--idempotency-key", "k"];
    const first = await shell.json(args);
    const again = JSON.parse((await shell.runAlone([...args, "--json"])).stdout);
    expect(again).toMatchObject({
      result: { value: 1 },
      replayed: true,
      invocation_id: first.invocation_id,
      receipt: first.receipt,
    });
    const other = await shell.json(args.map((word) => word.replace('"n"', '"m"')));
    expect(other).toMatchObject({ exitCode: 2, error: { code: "idempotency_conflict" } });
  });

  it("killed while an external tool runs has an unknown outcome that a person closes, and runs nothing again [D-4]", async () => {
    using shell = new Shell();
    const { child, done } = await startSleeping(shell);
    child.kill("SIGKILL");
    await done;
    const verdicts = await shell.json<{ callId: string; verdict: string }[]>(["calls", "recover"]);
    expect([...verdicts]).toMatchObject([{ callId: "c-1", verdict: "outcome_unknown" }]);
    expect((await shell.run(["calls", "recover", "c-1"])).code).toBe(2);
    const closed = await shell.json([
      "calls",
      "recover",
      "c-1",
      "--as",
      "completed",
      "--note",
      "saw the trace",
    ]);
    expect(closed).toMatchObject({ status: "success", exitCode: 0 });
    expect([...(await shell.json<unknown[]>(["calls", "recover"]))]).toEqual([]);
    expect(
      (await shell.run(["calls", "recover", "c-1", "--as", "completed", "--note", "again"])).code,
    ).not.toBe(0);
    expect(await shell.json(["audit", "verify"])).toMatchObject({ intact: true });
  });

  it("in two processes on one folder: both get through, one after the other, and nothing is lost", async () => {
    using shell = new Shell();
    const increment = ["call", "counter", "--operation", "increment", '{"name":"n"}'];
    const counted = async (): Promise<number | null> => {
      const { code, stderr } = await shell.runAlone(increment);
      // A command waits for the folder for five seconds, which may be too short on a busy machine.
      return code === 70 && stderr.includes("E3915") ? await counted() : code;
    };
    expect(await Promise.all([counted(), counted()])).toEqual([0, 0]);
    const read = await shell.run(["call", "counter", "--operation", "read", '{"name":"n"}']);
    expect(JSON.parse(read.stdout)).toEqual({ value: 2 });
    expect(await shell.json(["audit", "verify"])).toMatchObject({ intact: true });
  });
});
