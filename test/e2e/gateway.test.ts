import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { decode, domainToolsField, type RunResponse, runResponseField } from "@sallyport/protocol";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { DomainFolder, echoTool } from "../../packages/server/src/gateway/fixtures/domain-folder.ts";
import { runHere, type Started, startProcess } from "../fixtures/command-line.ts";

const WORKER = fileURLToPath(new URL("./fixtures/echo-worker.ts", import.meta.url));

let place: string;
let domain: DomainFolder;
let children: ChildProcess[];
beforeEach(() => {
  place = mkdtempSync(join(tmpdir(), "sallyport-gateway-"));
  children = [];
});
afterEach(async () => {
  for (const child of children.filter(
    ({ exitCode, signalCode }) => exitCode === null && signalCode === null,
  )) {
    child.kill("SIGKILL");
    await once(child, "close");
  }
  domain?.remove();
  rmSync(place, { recursive: true, force: true });
});

/** A worker in a process of its own. */
async function startWorker(port = 0): Promise<{ url: string; child: ChildProcess }> {
  const child = spawn(process.execPath, [WORKER, String(port)], { stdio: ["ignore", "pipe", "inherit"] });
  children.push(child);
  const [line] = await once(child.stdout, "data");
  return { url: `http://127.0.0.1:${JSON.parse(String(line)).port}`, child };
}

interface Open extends Started {
  report: { url: string; curl: string; warnings: { message: string }[]; operatorKeyFile: string };
}

/** A gateway in a process of its own. */
async function open(command = ["gateway", "--domain", domain.path]): Promise<Open> {
  const started = startProcess([...command, "--port", "0", "--json"], {
    cwd: place,
    env: { DOMAIN_ID: "demo" },
  });
  children.push(started.child);
  const report = await new Promise<Open["report"]>((resolve, reject) => {
    started.child.stdout.on("data", () => {
      if (started.ran.stdout.endsWith("}\n")) resolve(JSON.parse(started.ran.stdout));
    });
    started.done.then(({ stderr, stdout }) => reject(new Error(`it ended: ${stdout}${stderr}`)), reject);
  });
  return { ...started, report };
}

type Run = RunResponse & { status: number; headers: Headers };

/** Sends a body to the run route; every answer has to be in its envelope. */
async function send(url: string, tool: string, init: RequestInit): Promise<Run> {
  const response = await fetch(`${url}/v1/tools/${tool}:run`, { method: "POST", ...init });
  const read = decode(await response.json(), runResponseField);
  if (!read.ok) throw new Error(JSON.stringify(read.failure.issues));
  return { ...read.request, status: response.status, headers: response.headers };
}

function run(url: string, text: string, { tool = "demo.echo", headers = {} } = {}): Promise<Run> {
  const body = JSON.stringify({ input: { text } });
  return send(url, tool, { body, headers: { "content-type": "application/json", ...headers } });
}

const json = async (url: string) => (await fetch(url)).json();

async function logged({ ran }: Started, words: RegExp): Promise<string> {
  await expect.poll(() => ran.stderr).toMatch(words);
  return ran.stderr.split("\n").find((line) => words.test(line)) ?? "";
}

describe("a gateway without a configuration file", () => {
  it("serves its domain: identity, catalogue and runs [AX-DOM-1] [AX-CAT-1] [AX-RUN-1] [AX-INV-3]", async () => {
    const worker = await startWorker();
    domain = new DomainFolder(worker.url);
    const { report, child, done } = await open();
    const { url } = report;
    expect(report.curl).toContain(`${url}/v1/tools/demo.echo:run`);
    expect(report.warnings[0]?.message).toContain(
      "Every caller on this machine may run the tools of the domain",
    );
    expect(await json(`${url}/v1/domain`)).toEqual({ domain_id: "demo", version: "0.1" });
    await expect.poll(() => json(`${url}/v1/tools`)).toMatchObject({ tools: [{ health: "up" }] });
    const catalogue = await json(`${url}/v1/tools`);
    expect(decode(catalogue, domainToolsField)).toMatchObject({ ok: true });
    expect(catalogue).toMatchObject({
      ...{ domain_id: "demo", version: "0.1", total_count: 1, page: 1 },
      tools: [
        {
          ...{ tool_id: "demo.echo", kind: "service_worker", display_name: "Echo", timeout_sec: 30 },
          ...{ transport_type: "http", transport_endpoint: "/run", capabilities: ["echo"] },
          ...{ egress_allowlist: ["api.example.com:443"], input_schema_ref: "schemas/echo.input.json" },
          ...{ tool_name: "Echo", latest_version: "0.1.0", versions: ["0.1.0"] },
        },
      ],
    });
    const trace = "0af7651916cd43dd8448eb211c80319c";
    const traceparent = `00-${trace}-b7ad6b7169203331-01`;
    const ran = await run(url, "meta", { headers: { traceparent } });
    expect(ran).toMatchObject({ status: 200, ok: true, tool_id: "demo.echo", meta: { trace_id: trace } });
    expect(JSON.parse(String(Object(ran.output).said))).toMatchObject({
      ...{ trace_id: trace, tool_run_id: ran.tool_run_id, domain_id: "demo", tool_id: "demo.echo" },
      deadline_ms: expect.any(Number),
    });
    expect(await json(`${url}/v1/invocations/${ran.tool_run_id}`)).toMatchObject({ status: "success" });
    const key = { headers: { "idempotency-key": "once" } };
    const first = await run(url, "one", key);
    const again = await run(url, "one", key);
    expect([again.tool_run_id, again.headers.get("idempotent-replayed")]).toEqual([
      first.tool_run_id,
      "true",
    ]);
    child.kill("SIGTERM");
    expect(await done).toMatchObject({ code: 0 });
  });

  it("answers every refusal and fault in the envelope, by the table of statuses [AX-RUN-1] [AX-ENV-1]", async () => {
    const worker = await startWorker();
    domain = new DomainFolder(worker.url);
    const late = echoTool(worker.url, { id: "demo.late" }).replace("timeout_sec: 30", "timeout_sec: 1");
    domain.manifest(echoTool(worker.url) + late);
    const { url } = (await open()).report;
    const short = ({ status, ok, error }: Run) => [
      status,
      ok,
      error?.code,
      error?.retryable,
      error?.gateway?.code,
    ];
    const jsonType = { "content-type": "application/json" };
    const asked = {
      fails: await run(url, "fail"),
      redirects: await run(url, "redirect"),
      breaks: await run(url, "garbage"),
      "gives back something else": await run(url, "badly"),
      "is late": await run(url, "hold", { tool: "demo.late" }),
      "is no JSON": await send(url, "demo.echo", { body: '{"input"', headers: jsonType }),
      "has no input": await send(url, "demo.echo", { body: "{}", headers: jsonType }),
      "has a list as input": await send(url, "demo.echo", { body: '{"input":[]}', headers: jsonType }),
      "names its input twice": await send(url, "demo.echo", {
        body: '{"input":{"text":"a"},"input":{"text":"b"}}',
        headers: jsonType,
      }),
      "sets its own deadline": await send(url, "demo.echo", {
        body: '{"input":{"text":"x"},"deadline_ms":1}',
        headers: jsonType,
      }),
      "cannot be decoded": await run(url, "x", { tool: "%zz" }),
      "does not fit": await send(url, "demo.echo", { body: '{"input":{}}', headers: jsonType }),
      "is no JSON type": await send(url, "demo.echo", { body: "x" }),
      "is unknown": await run(url, "x", { tool: "demo.other" }),
      "has colons": await run(url, "x", { tool: "mcp:demo:run:x.y" }),
      dies: await run(url, "die"),
    };
    expect(Object.fromEntries(Object.entries(asked).map(([name, answer]) => [name, short(answer)]))).toEqual({
      fails: [200, false, "UPSTREAM_ERROR", false, "E3961"],
      redirects: [502, false, "UPSTREAM_ERROR", false, "E3964"],
      breaks: [502, false, "INTERNAL", false, "E3962"],
      "gives back something else": [502, false, "INTERNAL", false, "E3501"],
      "is late": [504, false, "TIMEOUT", true, "E3103"],
      "is no JSON": [400, false, "VALIDATION_ERROR", false, "E3903"],
      "has no input": [400, false, "VALIDATION_ERROR", false, "E3903"],
      "has a list as input": [400, false, "VALIDATION_ERROR", false, "E3903"],
      "names its input twice": [400, false, "VALIDATION_ERROR", false, "E3903"],
      "sets its own deadline": [400, false, "VALIDATION_ERROR", false, "E3903"],
      "cannot be decoded": [400, false, "VALIDATION_ERROR", false, "E3903"],
      "does not fit": [400, false, "VALIDATION_ERROR", false, "E3901"],
      "is no JSON type": [415, false, "VALIDATION_ERROR", false, "E3932"],
      "is unknown": [404, false, "NOT_FOUND", false, "E3001"],
      "has colons": [404, false, "NOT_FOUND", false, "E3001"],
      dies: [502, false, "UPSTREAM_ERROR", true, "E3963"],
    });
    expect(asked.fails.error).toMatchObject({ message: "no such page", details: { status: 404 } });
    expect(asked["has colons"].tool_id).toBe("mcp:demo:run:x.y");
    // A dead worker is told of, makes nothing unready, and is used again once it is back.
    await expect
      .poll(() => json(`${url}/readyz`))
      .toMatchObject({ status: "ready", domain: { workers: [{ worker: worker.url, health: "down" }] } });
    expect(await (await fetch(`${url}/metrics`)).text()).toContain(
      `worker_state{worker="${worker.url}",state="down"} 1`,
    );
    expect(short(await run(url, "x"))).toEqual([502, false, "UPSTREAM_ERROR", true, "E3963"]);
    await startWorker(Number(new URL(worker.url).port));
    await expect.poll(async () => (await run(url, "back")).ok).toBe(true);
  });

  it("holds runs to the policies of the domain: concurrency, queue, log [AX-POL-1]", async () => {
    const worker = await startWorker();
    domain = new DomainFolder(worker.url);
    domain.write(
      "policies.yaml",
      "concurrency: { max_inflight: 2, max_queued: 1, per_tool_max_inflight: { demo.two: 2 } }\nlogging: { level: INFO, include_request_body: true }\n",
    );
    const tools = echoTool(worker.url) + echoTool(worker.url, { id: "demo.two" });
    domain.manifest(tools.replaceAll("timeout_sec: 30", "timeout_sec: 60"));
    const opened = await open();
    const { url } = opened.report;
    /** Of four runs at once that the worker holds, how many are refused; the others end well once it lets them. */
    const refusedOf = async (tool: string, expected: number) => {
      const refused: Run[] = [];
      const runs = Array.from({ length: 4 }, async () => {
        const answer = await run(url, "hold", { tool });
        if (!answer.ok) refused.push(answer);
        return answer.ok;
      });
      await expect.poll(() => refused.length).toBe(expected);
      // One that waits begins when another has ended.
      const releasing = setInterval(() => void fetch(`${worker.url}/release`), 50);
      const ok = (await Promise.all(runs)).filter(Boolean).length;
      clearInterval(releasing);
      for (const { status, error, headers } of refused) {
        expect([status, error?.code, error?.retryable]).toEqual([429, "RATE_LIMITED", true]);
        expect(Number(headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
      }
      return [ok, refused.length];
    };
    // One runs and one waits; then two run and one waits.
    expect(await refusedOf("demo.echo", 2)).toEqual([2, 2]);
    expect(await refusedOf("demo.two", 1)).toEqual([3, 1]);
    await run(url, "api_key=sk-live-0123456789abcdef0123456789abcdef");
    const line = await logged(opened, /A tool was run.*api_key|api_key.*A tool was run/);
    expect(line).not.toContain("sk-live-0123456789abcdef");
  });

  it("is swapped for another package without dropping a run; a bad one changes nothing [AX-PKG-1] [AX-INV-4]", async () => {
    const worker = await startWorker();
    domain = new DomainFolder(worker.url);
    const opened = await open();
    const { url, operatorKeyFile } = opened.report;
    const key = { headers: { "idempotency-key": "kept" } };
    const kept = await run(url, "kept", key);
    const slow = run(url, "hold");
    await expect
      .poll(() => json(`${url}/v1/invocations?status=running`))
      .toMatchObject({
        invocations: [{ tool_id: "demo.echo" }],
      });
    domain.manifest(echoTool(worker.url).replace("timeout_sec: 30", "timeout_sec: soon"));
    opened.child.kill("SIGHUP");
    expect(await logged(opened, /What was in force stays/)).toMatch(/manifest.yaml:10.*timeout_sec/);
    const reload = async () => {
      const authorization = `Bearer ${readFileSync(operatorKeyFile, "utf8").trim()}`;
      return await (
        await fetch(`${url}/v1/config:reload`, { method: "POST", headers: { authorization } })
      ).json();
    };
    expect(await reload()).toMatchObject({ code: "E3919", status: 422 });
    domain.manifest(echoTool(worker.url).replace("timeout_sec: 30", "timeout_sec: 6"));
    expect(await reload()).toMatchObject({
      code: "E3011",
      advice: expect.stringContaining("Raise `version`"),
    });
    expect(await json(`${url}/v1/domain`)).toEqual({ domain_id: "demo", version: "0.1" });
    domain.manifest(echoTool(worker.url, { id: "demo.other" }), { version: "0.2" });
    expect(await reload()).toMatchObject({
      domain: { domain_id: "demo", version: "0.2" },
      tools: { added: ["demo.other@0.2.0"], gone: ["demo.echo@0.1.0"] },
    });
    expect(await json(`${url}/v1/domain`)).toEqual({ domain_id: "demo", version: "0.2" });
    expect(await json(`${url}/v1/tools`)).toMatchObject({
      version: "0.2",
      tools: [{ tool_id: "demo.other" }],
    });
    expect(await run(url, "x")).toMatchObject({ status: 404, error: { code: "NOT_FOUND" } });
    expect(await run(url, "new", { tool: "demo.other" })).toMatchObject({
      ok: true,
      output: { said: "new" },
    });
    await fetch(`${worker.url}/release`);
    expect(await slow).toMatchObject({ ok: true, output: { said: "hold" } });
    opened.child.kill("SIGTERM");
    await opened.done;
    // After a restart the tools that left the domain have no code either.
    domain.manifest(echoTool(worker.url).replace("timeout_sec: 30", "timeout_sec: 9"), { version: "0.3" });
    const reopened = await open();
    const { url: next } = reopened.report;
    expect(await run(next, "x", { tool: "demo.other" })).toMatchObject({ status: 404 });
    expect(await run(next, "x")).toMatchObject({ ok: true });
    // The same request is the same run after a swap; and an older version can come back.
    expect((await run(next, "kept", key)).tool_run_id).toBe(kept.tool_run_id);
    domain.manifest(echoTool(worker.url), { version: "0.1" });
    reopened.child.kill("SIGHUP");
    await logged(reopened, /was reloaded.*demo 0\.1|demo 0\.1.*was reloaded/);
    expect(await run(next, "old")).toMatchObject({ ok: true, output: { said: "old" } });
  });

  it("starts a job for each run, in the sandbox and in the folder of its package [AX-KIND-1] [AX-INV-2]", async () => {
    domain = new DomainFolder();
    domain.write("greeting.txt", "Hello from the package");
    domain.write("job.sh", readFileSync(new URL("./fixtures/greeting-job.sh", import.meta.url), "utf8"));
    domain.manifest(
      "  - { tool_id: demo.job, kind: job_worker, command: [/bin/sh, ./job.sh], timeout_sec: 30 }\n",
    );
    const { url } = (await open()).report;
    const ran = await run(url, "x", { tool: "demo.job" });
    expect([ran.error, ran.output]).toEqual([undefined, { said: "Hello from the package" }]);
  });

  it("does not start with a fault in its package, or with a changed tool under the same version [AX-PKG-1]", async () => {
    const worker = await startWorker();
    domain = new DomainFolder(worker.url);
    const { child, done } = await open();
    child.kill("SIGTERM");
    await done;
    domain.manifest(echoTool(worker.url).replace("Says what", "Says exactly what"));
    const args = ["gateway", "--domain", domain.path, "--port", "0"];
    const changed = await runHere(args, { cwd: place });
    expect(changed.code).not.toBe(0);
    expect(changed.stderr).toMatch(
      /E3011[\s\S]*demo\.echo 0\.1\.0[\s\S]*Raise `version` in .*manifest\.yaml/,
    );
    domain.write("policies.yaml", "loging: {}\n");
    const wrong = await runHere(args, { cwd: place });
    expect(wrong).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/policies\.yaml:1:1 unknown key "loging" . Did you mean "logging"\?/),
    });
    const checked = await runHere(["domain", "check", domain.path, "--json"], { cwd: place });
    expect([checked.code, JSON.parse(checked.stdout)]).toMatchObject([2, { ok: false, issues: [{}] }]);
    domain.write("policies.yaml", "");
    const good = await runHere(["domain", "check", domain.path, "--json"], { cwd: place });
    expect([good.code, JSON.parse(good.stdout)]).toMatchObject([
      0,
      { ok: true, tools: [{ tool_id: "demo.echo" }] },
    ]);
  });
});

describe("a gateway with a configuration file", () => {
  const config = (text: string) => writeFileSync(join(place, "sallyport.yaml"), text);

  it("denies what no grant allows, and asks people where a tool demands it [AX-RUN-1]", async () => {
    const worker = await startWorker();
    domain = new DomainFolder(worker.url);
    const asking = echoTool(worker.url, { id: "demo.asks", more: "    requires_approval: true\n" });
    domain.manifest(echoTool(worker.url) + asking);
    config("grants: [{ id: g, tools: [demo.asks] }]\n");
    const { url, operatorKeyFile } = (await open()).report;
    expect(await run(url, "x")).toMatchObject({
      status: 403,
      error: { code: "POLICY_DENIED", retryable: false },
    });
    const pending = await run(url, "asked", { tool: "demo.asks" });
    expect(pending).toMatchObject({
      status: 202,
      error: {
        code: "APPROVAL_PENDING",
        gateway: {
          approval_url: expect.stringContaining("/v1/approvals/"),
          invocation_url: expect.any(String),
        },
      },
    });
    const authorization = `Bearer ${readFileSync(operatorKeyFile, "utf8").trim()}`;
    const approve = `${pending.error?.gateway?.approval_url}:approve`;
    const headers = { authorization, "content-type": "application/json" };
    expect((await fetch(approve, { method: "POST", headers, body: "{}" })).status).toBe(200);
    const result = `${pending.error?.gateway?.invocation_url}/result`;
    await expect.poll(() => json(result)).toMatchObject({ status: "success", result: { said: "asked" } });
  });

  it("takes another domain from its file, and stays a gateway until it ends [AX-PKG-1] [AX-INV-4] [D-9]", async () => {
    const worker = await startWorker();
    domain = new DomainFolder(worker.url);
    const other = new DomainFolder(worker.url);
    try {
      other.manifest(echoTool(worker.url, { id: "demo.next" }), { version: "7" });
      const grants = 'grants: [{ id: g, tools: ["demo.*"] }]\n';
      config(`domain: ${domain.path}\n${grants}`);
      const opened = await open(["serve"]);
      const { url } = opened.report;
      expect(await run(url, "x")).toMatchObject({ ok: true });
      config(`domain: ${other.path}\n${grants}`);
      opened.child.kill("SIGHUP");
      expect(await logged(opened, /was reloaded/)).toMatch(/"applied":\["domain"\].*demo 7/);
      expect(await run(url, "x", { tool: "demo.next" })).toMatchObject({ ok: true });
      expect(await run(url, "x")).toMatchObject({ status: 404 });
      config(grants);
      opened.child.kill("SIGHUP");
      expect(await logged(opened, /What was in force stays/)).toContain("`domain` was taken away");
      expect(await run(url, "x", { tool: "demo.next" })).toMatchObject({ ok: true });
    } finally {
      other.remove();
    }
  });

  it("asks for a token in the envelope, too [AX-RUN-1]", async () => {
    const worker = await startWorker();
    domain = new DomainFolder(worker.url);
    config("http: { callers: token }\n");
    const { url } = (await open()).report;
    const answer = await run(url, "x");
    expect(answer).toMatchObject({ status: 401, ok: false, error: { code: "POLICY_DENIED" } });
    expect(answer.headers.get("www-authenticate")).toContain("Bearer");
  });

  it("runs no code of tools: modules, run, chat and tools add are refused [AX-INV-1] [AX-INV-2] [AX-INV-4] [D-9]", async () => {
    domain = new DomainFolder();
    writeFileSync(join(place, "tool.mjs"), 'throw new Error("this code was reached")');
    config(`domain: ${domain.path}\ntools: [./tool.mjs]\n`);
    const both = await runHere(["serve", "--port", "0"], { cwd: place });
    expect(both).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("tools cannot be combined with domain"),
    });
    config(`domain: ${domain.path}\n`);
    for (const args of [
      ["run", "--", "true"],
      ["chat", "--print", "hello", "--model", "ollama/none"],
      ["tools", "add", "./tool.mjs"],
    ]) {
      const { code, stdout, stderr } = await runHere(args, { cwd: place });
      expect([args[0], code, stdout + stderr]).toEqual([
        args[0],
        2,
        expect.stringContaining("is not for a gateway"),
      ]);
      expect(stdout + stderr).not.toContain("reached");
    }
    const without = await runHere(["gateway", "--config", "none.yaml"], { cwd: place });
    expect(without.code).toBe(2);
  });
});

describe("tool code and a gateway", () => {
  it("never meet: what an earlier server registered in the same folder has no code [AX-INV-1] [AX-INV-5]", async () => {
    const worker = await startWorker();
    domain = new DomainFolder(worker.url);
    const calculator = fileURLToPath(new URL("../../examples/calculator/calculator.ts", import.meta.url));
    expect((await runHere(["tools", "add", calculator], { cwd: place })).code).toBe(0);
    const { url } = (await open()).report;
    expect(await run(url, "x", { tool: "calculator" })).toMatchObject({ status: 404 });
    const body = JSON.stringify({ tool_id: "calculator", operation: "add", parameters: { a: 1, b: 2 } });
    const invoked = await fetch(`${url}/v1/tools/invoke`, {
      ...{ method: "POST", headers: { "content-type": "application/json" }, body },
    });
    expect(await invoked.json()).toMatchObject({
      error: { code: "tool_not_found", message: expect.stringContaining("switched off") },
    });
    expect(await json(`${url}/v1/tools`)).toMatchObject({
      total_count: 1,
      tools: [{ tool_id: "demo.echo" }],
    });
  });

  it("has no domain to tell of where it is an ordinary server [AX-DOM-1]", async () => {
    domain = new DomainFolder();
    const started = startProcess(["serve", "--port", "0", "--json"], { cwd: place });
    children.push(started.child);
    await expect.poll(() => started.ran.stdout).toMatch(/\}\n$/);
    const { url } = JSON.parse(started.ran.stdout);
    expect(await json(`${url}/v1/domain`)).toMatchObject({
      code: "E3930",
      detail: expect.stringContaining("not a gateway"),
    });
  });
});
