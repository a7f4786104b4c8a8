import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { IsolationRules, Job, Sandbox, SandboxOrder } from "@sallyport/engine/ports";
import { fixtureEngine } from "@sallyport/engine/testing";
import { completeManifest, isFailure, type JsonObject, type ToolManifest } from "@sallyport/protocol";
import { afterAll, describe, expect, it } from "vitest";
import { commandJob, openSandboxedHouse } from "../sandbox-runners/fixtures/sandboxed-house.ts";
import { openWorkspaces } from "../workspace/index.ts";
import { workerManifest } from "./fixtures/worker-double.ts";
import { createJobRunner } from "./job-runner.ts";
import { bindJob } from "./worker-implementation.ts";

const house = await openSandboxedHouse();

function jobManifest(metadata: JsonObject): ToolManifest {
  const source = { type: "native" as const, metadata: { domain_id: "d", ...metadata } };
  return completeManifest({ ...workerManifest("http://unused"), kind: "job_worker", source });
}

/** A worker in a shell: reads the request, and answers with the same ids. */
const worker = (answer: string) =>
  `read -r line; id() { printf %s "$line" | sed "s/.*\\"$1\\":\\"\\([^\\"]*\\)\\".*/\\1/"; };
   meta="{\\"trace_id\\":\\"$(id trace_id)\\",\\"tool_run_id\\":\\"$(id tool_run_id)\\",\\"duration_ms\\":1}"; ${answer}`;
const SUCCESS = `printf '{"ok":true,"meta":%s,"output":{"said":"%s"}}' "$meta" "$WORD"`;

describe.skipIf(!house)("job workers in the real sandbox", () => {
  if (!house) return;
  const runner = createJobRunner({ sandbox: house.sandbox });
  afterAll(async () => {
    await runner.close();
    await house.close();
  });
  const run = (script: string, changes: Partial<Job> = {}) => {
    const implementation = bindJob(jobManifest({ command: ["sh", "-c", script], env: { WORD: "hello" } }));
    if (!implementation || isFailure(implementation)) throw new Error(JSON.stringify(implementation));
    return runner.run(commandJob({}, { implementation, input: {}, ...changes }));
  };

  it("each call is one run of the command, the envelope on stdin and stdout [AX-KIND-1] [AX-ENV-1]", async () => {
    expect(await run(worker(SUCCESS))).toMatchObject({
      ok: true,
      output: { said: "hello" },
      sandbox: { isolation: { level: "LEVEL_2" } },
    });
  });

  it.each([
    ["prints no envelope", "echo '{}'", { kind: "failed", failure: { code: "E3962" } }],
    ["prints no JSON", "echo hello", { kind: "failed", failure: { code: "E3962" } }],
    [
      "answers another run",
      worker(`meta=$(printf %s "$meta" | sed s/call-1/call-2/g); ${SUCCESS}`),
      { kind: "failed", failure: { code: "E3962" } },
    ],
    ["ends with an error", "echo why >&2; exit 3", { kind: "exit", code: 3, stderr: "why" }],
    [
      "reports a failure",
      worker(
        `printf '{"ok":false,"meta":%s,"error":{"code":"INTERNAL","message":"m","retryable":false}}' "$meta"`,
      ),
      {
        kind: "failed",
        failure: { code: "E3961", details: { worker: { code: "INTERNAL", retryable: false } } },
      },
    ],
  ])("one that %s is told as such", async (_, script, fault) => {
    expect(await run(script)).toMatchObject({
      ok: false,
      fault,
      sandbox: { isolation: { level: "LEVEL_2" } },
    });
  });

  it("one that does not answer in time is ended", async () => {
    const result = await run("sleep 60", { timeoutMs: 300 });
    expect(result).toMatchObject({ fault: { kind: "failed", failure: { code: "E3103", retryable: true } } });
  });

  it("may reach the hosts of its allowlist and no others: the sandbox is told so [AX-POL-1]", async () => {
    const folder = mkdtempSync(join(tmpdir(), "sallyport-jobs-"));
    const orders: SandboxOrder[] = [];
    const { sandbox: real } = house;
    const sandbox: Sandbox = {
      isolationFor: (level) => real.isolationFor(level),
      offers: () => real.offers(),
      start: (order) => {
        orders.push(order);
        return real.start({ ...order, egress: [] });
      },
      close: async () => undefined,
    };
    const isolation: IsolationRules = {
      ...{
        sandbox,
        root: folder,
        maxCopyBytes: 0,
        credentials: {},
        workspaces: await openWorkspaces({ folder }),
      },
      ...{ hidden: [], denied: [], weaker: [], privateHosts: [] },
    };
    const { engine, call } = await fixtureEngine({
      ...{ isolation, runners: [createJobRunner({ sandbox })], onlyGivenRunners: true },
    });
    const manifest = jobManifest({ command: ["sh", "-c", worker(SUCCESS)] });
    await engine.tools.register({ ...manifest, egressAllowlist: ["api.example.com:443"] });
    expect(await call("far", {})).toMatchObject({ status: "success", isolation: { level: "LEVEL_2" } });
    expect(orders).toMatchObject([{ egress: [{ host: "api.example.com", port: 443 }] }]);
    await engine.close();
    rmSync(folder, { recursive: true });
  });
});

describe("the manifest of a job worker", () => {
  it("names its command and environment in the metadata of its source, or is refused (E3008)", () => {
    expect(bindJob(jobManifest({ command: ["worker", "--run"] }))).toMatchObject({ kind: "job_worker" });
    for (const wrong of [{}, { command: [] }, { command: ["x", 1] }, { command: ["x"], env: { A: 1 } }])
      expect(bindJob(jobManifest(wrong))).toMatchObject({ code: "E3008" });
  });
});
