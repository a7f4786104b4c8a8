import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { decode, runResponseField } from "@sallyport/protocol";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { TlsUpstream } from "../../packages/adapters/src/egress/fixtures/tls-upstream.ts";
import {
  answerTo,
  type Behave,
  sendJson,
  WorkerDouble,
} from "../../packages/adapters/src/worker/fixtures/worker-double.ts";
import { FAULTS } from "../../packages/adapters/src/worker/fixtures/worker-faults.ts";
import { DomainFolder, echoTool } from "../../packages/server/src/gateway/fixtures/domain-folder.ts";
import { type Started, startProcess } from "../fixtures/command-line.ts";
import { ask } from "./http/fixtures/ask.ts";

const LIMIT = 8;
const POLICIES = `concurrency: { max_inflight: ${LIMIT}, per_tool_max_inflight: { demo.echo: ${LIMIT} } }\n`;

let place: string;
let domain: DomainFolder;
let worker: WorkerDouble;
let strange: TlsUpstream;
let gateway: Started;
let url: string;
beforeAll(async () => {
  place = mkdtempSync(join(tmpdir(), "sallyport-gateway-faults-"));
  worker = await new WorkerDouble().start();
  strange = await new TlsUpstream([{ dns: "localhost" }]).start();
  const { baseUrl } = worker;
  const patient = (id: string, at: string) =>
    echoTool(at, { id }).replace(/timeout_sec: \d+/, "timeout_sec: 120");
  const late = echoTool(baseUrl, { id: "demo.late" }).replace(/timeout_sec: \d+/, "timeout_sec: 1");
  domain = new DomainFolder().write("policies.yaml", POLICIES);
  domain.manifest(
    patient("demo.echo", baseUrl) + late + patient("demo.tls", `https://localhost:${strange.port}`),
  );
  gateway = startProcess(["gateway", "--domain", domain.path, "--port", "0", "--json"], { cwd: place });
  url = await vi.waitFor(() => JSON.parse(gateway.ran.stdout).url, { timeout: 60_000 });
  worker.behave = echo;
  expect(await run()).toMatchObject({ ok: true });
});
afterAll(async () => {
  gateway.child.kill("SIGTERM");
  if (gateway.child.exitCode === null) await once(gateway.child, "close");
  await strange[Symbol.asyncDispose]();
  await worker[Symbol.asyncDispose]();
  domain.remove();
  rmSync(place, { recursive: true, force: true });
});
beforeEach(() => {
  worker.behave = echo;
});

const echo: Behave = (res, request) => sendJson(res, answerTo(request, { said: String(request.input.text) }));

/** Sends a run; its answer has to be in the envelope, whatever it says. */
async function run({ tool = "demo.echo", text = "x" } = {}) {
  const { status, headers, body } = await ask(url, {
    path: `/v1/tools/${tool}:run`,
    body: { input: { text } },
  });
  const read = decode(body, runResponseField);
  if (!read.ok) throw new Error(JSON.stringify(read.failure.issues));
  return { ...read.request, status, retryAfter: headers["retry-after"] };
}

async function recorded(id: string) {
  return (await ask(url, { path: `/v1/invocations/${id}` })).body;
}

async function openCalls(): Promise<unknown[]> {
  const lists = ["running", "pending", "unknown"].map(async (status) => {
    const { body } = await ask(url, { path: `/v1/invocations?status=${status}` });
    return body.invocations;
  });
  return (await Promise.all(lists)).flat();
}

/** Descriptors of the gateway; undefined where the system does not tell. */
function descriptors(): number | undefined {
  const folder = `/proc/${gateway.child.pid}/fd`;
  return existsSync(folder) ? readdirSync(folder).length : undefined;
}

const STATUS: Partial<Record<string, [status: number, code: string]>> = {
  E3963: [502, "UPSTREAM_ERROR"],
  E3964: [502, "UPSTREAM_ERROR"],
  E3962: [502, "INTERNAL"],
  E3103: [504, "TIMEOUT"],
};

describe("a gateway whose worker", () => {
  it.each(FAULTS)(
    "%s gives %s, once, and is well [AX-RUN-1] [AX-ENV-1]",
    async (_, code, retryable, behave) => {
      const before = worker.received.length;
      worker.behave = behave;
      const answer = await run({ tool: code === "E3103" ? "demo.late" : "demo.echo" });
      const [status, word] = STATUS[code] ?? [];
      expect(answer).toMatchObject({
        status,
        ok: false,
        error: { code: word, retryable, details: {}, gateway: { code } },
      });
      expect(JSON.stringify(answer)).not.toContain(`${worker.port}`);
      expect(worker.received.slice(before).map(({ request }) => request.meta.tool_run_id)).toEqual([
        answer.tool_run_id,
      ]);
      expect(await recorded(answer.tool_run_id)).toMatchObject({
        status: code === "E3103" ? "timeout" : "error",
      });
      worker.behave = echo;
      expect(await run({ text: "well" })).toMatchObject({ status: 200, output: { said: "well" } });
    },
  );

  it("shows a certificate of an unknown authority is sent nothing [AX-RUN-1]", async () => {
    expect(await run({ tool: "demo.tls" })).toMatchObject({
      status: 502,
      error: { code: "UPSTREAM_ERROR", retryable: true, gateway: { code: "E3963" } },
    });
    expect(strange.requests).toEqual([]);
  });

  it("gets 1,000 runs at once has eight at a time; each has one answer and nothing stays open [AX-POL-1] [AX-RUN-1]", async () => {
    const before = descriptors();
    const sent = worker.received.length;
    worker.mostAtOnce = 0;
    worker.behave = (res, request) => setTimeout(() => echo(res, request), 5);
    const texts = Array.from({ length: 1_000 }, (_, index) => String(index));
    const answers = await Promise.all(texts.map((text) => run({ text })));
    const good = answers.flatMap((answer, index) => (answer.ok ? [{ ...answer, text: texts[index] }] : []));
    expect(good.map(({ output }) => output)).toEqual(good.map(({ text }) => ({ said: text })));
    // On a slow machine some have waited too long for their turn.
    const refused = answers.filter(({ ok }) => !ok);
    for (const { status, error, retryAfter } of refused) {
      expect([status, error?.code, error?.retryable]).toEqual([429, "RATE_LIMITED", true]);
      expect(Number(retryAfter)).toBeGreaterThan(0);
    }
    expect(new Set(answers.map((answer) => answer.tool_run_id)).size).toBe(1_000);
    const ran = worker.received.slice(sent).map(({ request }) => request.meta.tool_run_id);
    expect(ran.toSorted()).toEqual(good.map((answer) => answer.tool_run_id).toSorted());
    expect([worker.mostAtOnce <= LIMIT, good.length >= LIMIT]).toEqual([true, true]);
    await expect.poll(openCalls).toEqual([]);
    // Connections to the worker stay open for its next runs: as many as ran at once, at most.
    expect(worker.connections).toBeLessThanOrEqual(LIMIT + 1);
    await expect.poll(() => (descriptors() ?? 0) - (before ?? 0)).toBeLessThan(LIMIT + 8);
  });
});
