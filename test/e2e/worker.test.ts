import { execFile, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { parseDocument } from "yaml";
import { LANGUAGES, type Language } from "../../packages/server/src/worker-kit/scaffold.ts";
import { Shell } from "./shell.ts";

const shell = new Shell();
afterAll(() => shell[Symbol.dispose]());

/** What has to be there for each language, and the program that serves; `go run` would not pass signals on. */
const PROGRAMS: Record<Language, { needs: string; serve: readonly [string, ...string[]] }> = {
  ts: { needs: "node", serve: [process.execPath, "main.ts"] },
  python: { needs: "python3", serve: ["python3", "tool.py"] },
  go: { needs: "go", serve: ["./worker"] },
};

function isThere(program: string): boolean {
  const found = spawnSync(program, [program === "go" ? "version" : "--version"]).status === 0;
  if (!found) console.error(`Left out: ${program} is not installed.`);
  return found || process.env.SALLYPORT_REQUIRE_SERVICES === "1";
}

async function runIn(folder: string, command: string): Promise<void> {
  const [program = "", ...args] = command.split(" ");
  await promisify(execFile)(program, args, { cwd: folder });
}

async function served(
  folder: string,
  [program, ...args]: readonly [string, ...string[]],
  env: Record<string, string> = {},
) {
  const child = spawn(program, args, { cwd: folder, env: { ...process.env, ...env, PORT: "0" } });
  const [line] = await once(child.stdout, "data");
  return { child, url: String(line).match(/POST (\S+)\/run/)?.[1] ?? "" };
}

interface Verified {
  passed: number;
  total: number;
  checks: { id: string; passed: boolean; evidence: string }[];
}

describe.each(Object.keys(LANGUAGES) as Language[])("sallyport worker new --lang %s", (lang) => {
  const name = `count-${lang}`;
  const folder = join(shell.folder, name);
  const { needs, serve } = PROGRAMS[lang];

  it.skipIf(!isThere(needs))(
    "makes a worker whose test passes and that keeps the envelope [AX-ONB-1]",
    async () => {
      const { code, stdout } = await shell.run(["worker", "new", name, "--lang", lang]);
      expect([code, stdout]).toEqual([0, expect.stringContaining(LANGUAGES[lang].start)]);
      await runIn(folder, LANGUAGES[lang].test);
      if (lang === "go") await runIn(folder, "go build -o worker .");
      const { child, url } = await served(folder, serve);
      const answer = await shell.json<Verified>([
        ...["worker", "verify", url, "--input", '{"text":"two words"}'],
        ...["--slow-input", '{"text":"two words","pause_ms":5000}'],
      ]);
      expect(answer.checks.filter((check) => !check.passed)).toEqual([]);
      expect([answer.exitCode, answer.passed, answer.total]).toEqual([0, 12, 12]);
      const headers = { "content-type": "application/json" };
      const answered = async (body: string | Buffer) =>
        (await fetch(`${url}/run`, { method: "POST", headers, body })).json();
      const twice = { error: { message: expect.stringMatching(/twice/) } };
      expect(await answered('{"input":{},"input":{}}')).toMatchObject(twice);
      const ids = { trace_id: "t", tool_run_id: "r", domain_id: "d" };
      const asked = (more: string) =>
        `{"meta":{${JSON.stringify(ids).slice(1, -1)},${more}},"input":{"text":"two words"}}`;
      const later = Date.now() + 60_000;
      for (const body of [
        Buffer.from(asked(`"deadline_ms":${later}`), "utf16le"),
        asked('"deadline_ms":Infinity'),
        asked(`"deadline_ms":1${"0".repeat(400)}`),
        asked(`"deadline_ms":${later},"tool_id":[]`),
      ])
        expect(await answered(body)).toMatchObject({ ok: false, error: { code: "VALIDATION_ERROR" } });
      child.kill("SIGTERM");
      expect(await once(child, "exit")).toEqual([0, null]);
    },
  );

  it.skipIf(!isThere(needs))("makes a worker that knows its gateway by the secret [AX-ENV-1]", async () => {
    const file = shell.path(`${name}.secret`);
    writeFileSync(file, "known-to-gateway-and-worker\n");
    const { child, url } = await served(folder, serve, { WORKER_SECRET_FILE: file });
    const verify = ["worker", "verify", url, "--input", '{"text":"two words"}'];
    const without = await shell.json<Verified>(verify);
    expect(without.checks.find(({ id }) => id === "success")?.evidence).toContain("the status is 401");
    vi.stubEnv("WORKER_SECRET", "known-to-gateway-and-worker");
    const answer = await shell.json<Verified>(verify);
    vi.unstubAllEnvs();
    expect(answer.checks.filter((check) => !check.passed)).toEqual([]);
    expect(answer.checks.find(({ id }) => id === "secret")?.evidence).toContain("nothing runs");
    child.kill("SIGTERM");
    await once(child, "exit");
    const short = spawnSync(serve[0], serve.slice(1), {
      cwd: folder,
      env: { ...process.env, WORKER_SECRET: "short" },
    });
    expect([short.status === 0, `${short.stderr}`]).toEqual([
      false,
      expect.stringContaining("needs 16 to 1000"),
    ]);
  });

  it("gives every file the worker's name, and overwrites nothing", async () => {
    await shell.run(["worker", "new", `${name}-2`, "--lang", lang]);
    const again = await shell.json<{ error: { code: string } }>([
      "worker",
      "new",
      `${name}-2`,
      "--lang",
      lang,
    ]);
    expect([again.exitCode, again.error.code]).toEqual([2, "E3921"]);
    const made = join(shell.folder, `${name}-2`);
    const [entry] = parseDocument(readFileSync(join(made, "manifest-entry.yaml"), "utf8")).toJS();
    expect(entry).toMatchObject({ tool_id: `${name}-2`, kind: "service_worker" });
    expect(existsSync(join(made, entry.input_schema_ref))).toBe(true);
  });
});

describe("sallyport worker", () => {
  it("says what is wrong with a name or an address", async () => {
    for (const words of [
      ["new", "Not_a_name"],
      ["new", "../out"],
      ["verify", "ftp://127.0.0.1"],
    ]) {
      expect((await shell.run(["worker", ...words])).code).toBe(2);
    }
    const nobody = await shell.run(["worker", "verify", "http://127.0.0.1:1"]);
    expect([nobody.code, nobody.stderr]).toEqual([2, expect.stringContaining("Nothing answers")]);
  });

  describe.skipIf(!isThere("python3"))("new --lang python", () => {
    const small = (tool: string) =>
      `import envelope; envelope.REQUEST_SECONDS = 1; envelope.MAX_THREADS = 2; envelope.serve({"t": ${tool}})`;

    async function started(name: string, tool: string) {
      await shell.run(["worker", "new", name, "--lang", "python"]);
      const { child, url } = await served(join(shell.folder, name), ["python3", "-c", small(tool)]);
      onTestFinished(async () => {
        child.kill("SIGTERM");
        await once(child, "exit");
      });
      const run = async (leftMs: number) => {
        const ids = { trace_id: "t", tool_run_id: "r", domain_id: "d" };
        const body = JSON.stringify({ meta: { ...ids, deadline_ms: Date.now() + leftMs }, input: {} });
        const headers = { "content-type": "application/json", connection: "close" };
        return await (await fetch(`${url}/run`, { method: "POST", headers, body })).json();
      };
      return { url, run };
    }

    it("has a time for a whole request, and a number of connections; others wait", async () => {
      const { url, run } = await started("bounded", "lambda given, context: {}");
      const slow: boolean[] = [];
      for (const at of [0, 1]) {
        const socket = connect(Number(new URL(url).port), "127.0.0.1");
        await once(socket, "connect");
        slow[at] = true;
        const drip = setInterval(() => socket.write("P"), 50);
        socket.on("error", () => undefined).resume();
        socket.once("close", () => {
          clearInterval(drip);
          slow[at] = false;
        });
      }
      expect(await run(60_000)).toMatchObject({ ok: true });
      expect(slow[0]).toBe(false);
    });

    it("starts no tool beside as many that go on after their deadline", async () => {
      const { run } = await started("stuck", "lambda given, context: envelope.threading.Event().wait()");
      const told = async () => (await run(300)) as object;
      await expect
        .poll(told, { timeout: 20_000 })
        .toMatchObject({ error: { code: "UPSTREAM_ERROR", retryable: true } });
    });
  });

  it("leaves a folder alone that has something in it", async () => {
    await shell.run(["worker", "new", "taken"]);
    const file = join(shell.folder, "taken/tool.ts");
    writeFileSync(file, "mine");
    expect((await shell.run(["worker", "new", "taken", "--lang", "go"])).code).toBe(2);
    expect(readFileSync(file, "utf8")).toBe("mine");
  });

  it("prints a table with what was wrong, and ends with 1", async () => {
    await shell.run(["worker", "new", "shown"]);
    const { child, url } = await served(join(shell.folder, "shown"), PROGRAMS.ts.serve);
    const { code, stdout } = await shell.run(["worker", "verify", url, "--input", '{"text":1}']);
    child.kill("SIGTERM");
    await once(child, "exit");
    expect(code).toBe(1);
    expect(stdout).toMatch(/^✓ {2}health/m);
    expect(stdout).toMatch(/^✗ {2}success .*text must be a string/m);
  });
});
