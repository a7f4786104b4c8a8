import type { IncomingHttpHeaders } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { Job, RunResult } from "@sallyport/engine/ports";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { TlsUpstream } from "../egress/fixtures/tls-upstream.ts";
import {
  answerTo,
  type Behave,
  sendJson,
  succeed,
  WorkerDouble,
  workerJob,
} from "./fixtures/worker-double.ts";
import { edited, FAULTS, HEAD } from "./fixtures/worker-faults.ts";
import { createWorkerRunner, type WorkerRunner, type WorkerRunnerOptions } from "./worker-runner.ts";

let worker: WorkerDouble;
let runner: WorkerRunner;
beforeEach(async () => {
  worker = await new WorkerDouble().start();
  // No connection is closed only because it lay idle.
  runner = createWorkerRunner({ idleMs: 3_600_000 });
});
afterEach(async () => {
  await runner.close();
  await expect.poll(() => worker.connections).toBe(0);
  await worker[Symbol.asyncDispose]();
});

async function run(behave: Behave, changes: Partial<Job> = {}): Promise<RunResult> {
  worker.behave = behave;
  return await runner.run(workerJob(worker.baseUrl, changes));
}

function failureOf(result: RunResult) {
  if (result.ok || result.fault.kind !== "failed") throw new Error(JSON.stringify(result));
  return result.fault.failure;
}

describe("a call of a service worker", () => {
  it("is one POST of the envelope, and its output is the result [AX-ENV-1] [AX-KIND-1]", async () => {
    const traceId = "0af7651916cd43dd8448eb211c80319c";
    const trace = { traceparent: `00-${traceId}-b7ad6b7169203331-01`, tracestate: "a=1" };
    const { facts } = workerJob(worker.baseUrl);
    const result = await run(succeed({ sum: 3 }), { facts: { ...facts, trace } });
    expect(result).toMatchObject({ ok: true, output: { sum: 3 } });
    expect(worker.received).toMatchObject([
      {
        path: "/run",
        headers: { ...trace, "content-type": "application/json" },
        request: {
          meta: {
            trace_id: traceId,
            tool_run_id: "call-1",
            domain_id: "example_domain",
            deadline_ms: facts.deadlineAt,
            tool_id: "far",
            egress_allowlist: [],
          },
          input: { n: 1 },
        },
      },
    ]);
  });

  it("has the call's id where there is no trace, or one that no header can carry", async () => {
    const { facts } = workerJob(worker.baseUrl);
    const trace = { traceparent: "00-x\r\nevil: 1", tracestate: "y" };
    expect(await run(succeed(), { facts: { ...facts, trace } })).toMatchObject({ ok: true });
    expect(worker.received[0]?.request.meta.trace_id).toBe("call-1");
    expect(worker.received[0]?.headers).not.toHaveProperty("traceparent");
  });

  it("shows its secret with every run, and with no probe", async () => {
    await runner.close();
    runner = createWorkerRunner({ secret: "known-to-gateway-and-worker" });
    runner.watch([{ baseUrl: worker.baseUrl }]);
    const probed: IncomingHttpHeaders[] = [];
    worker.onHealth = (res) => {
      probed.push(res.req.headers);
      res.end('{"ok":true}');
    };
    expect(await run(succeed())).toMatchObject({ ok: true });
    expect(worker.received[0]?.headers).toHaveProperty("x-sallyport-worker", "known-to-gateway-and-worker");
    await runner.probe();
    expect(probed).toHaveLength(1);
    expect(probed[0]).not.toHaveProperty("x-sallyport-worker");
  });

  it("hands the worker its egress allowlist [AX-POL-1]", async () => {
    const manifest = { egressAllowlist: ["api.example.com:443"] };
    await runner.run(workerJob(worker.baseUrl, { manifest }));
    expect(worker.received[0]?.request.meta).toMatchObject({ egress_allowlist: ["api.example.com:443"] });
  });

  it("uses a connection again, also when the answer took longer than it may lie idle", async () => {
    await runner.close();
    runner = createWorkerRunner({ idleMs: 20 });
    const slowly: Behave = (res, request) => void setTimeout(() => sendJson(res, answerTo(request)), 100);
    expect(await run(slowly)).toMatchObject({ ok: true });
    await runner.close();
    runner = createWorkerRunner();
    const sockets = new Set<unknown>();
    const noting: Behave = (res, request) => {
      sockets.add(res.socket);
      sendJson(res, answerTo(request));
    };
    for (let call = 0; call < 3; call += 1) expect(await run(noting)).toMatchObject({ ok: true });
    expect(sockets.size).toBe(1);
  });

  it("passes a failure on that the worker reports, word for word [AX-ENV-1]", async () => {
    const error = {
      code: "UPSTREAM_ERROR",
      message: "no such page",
      retryable: true,
      details: { status: 404 },
    };
    const result = await run((res, request) => sendJson(res, { ...answerTo(request), ok: false, error }));
    const { code, retryable, details } = error;
    expect(failureOf(result)).toMatchObject({
      code: "E3961",
      message: "no such page",
      retryable: true,
      details: { worker: { code, retryable, details } },
    });
    const large = { ...error, details: { text: "x".repeat(40_000) } };
    const cut = await run((res, request) => sendJson(res, { ...answerTo(request), ok: false, error: large }));
    expect(failureOf(cut).details).toMatchObject({ worker: { details: { left_out_bytes: 40_011 } } });
  });

  it("leaves out details that no result could be, however deep an answer is", async () => {
    const deep = "[".repeat(20_000) + "]".repeat(20_000);
    const sending: (rest: string) => Behave = (rest) => (res, request) => {
      const meta = JSON.stringify(answerTo(request).meta);
      res.writeHead(200, { "content-type": "application/json" }).end(`{"meta":${meta},${rest}}`);
    };
    const failing = (details: string) =>
      sending(`"ok":false,"error":{"code":"INTERNAL","message":"m","retryable":false,"details":${details}}`);
    for (const details of [`{"a":${deep}}`, '{"__proto__":{}}', '{"a":"\\ud800"}', '{"a":[1e999]}']) {
      const { code, details: told } = failureOf(await run(failing(details)));
      expect({ code, told }, details.slice(0, 20)).toMatchObject({
        ...{ code: "E3961", told: { worker: { details: { left_out: expect.any(String) } } } },
      });
    }
    // Larger than allowed and too deep to be written: the engine refuses it.
    const output = sending(`"ok":true,"output":${deep}`);
    expect(await run(output, { maxOutputBytes: 30_000 })).toMatchObject({ ok: true });
  });

  it("takes an output of the size that is allowed, and none above", async () => {
    expect(await run(succeed("x".repeat(998)), { maxOutputBytes: 1_000 })).toMatchObject({ ok: true });
    const tooLarge = { ok: false, fault: { kind: "output_too_large", bytes: 1_001 } };
    expect(await run(succeed("x".repeat(999)), { maxOutputBytes: 1_000 })).toMatchObject(tooLarge);
  });

  it("needs an object as input", async () => {
    expect(await run(succeed(), { input: [1] })).toMatchObject({
      fault: { kind: "threw", invalidInput: true },
    });
    expect(worker.received).toEqual([]);
  });
});

describe("whatever a worker does, its call gets one result and its connection is closed [AX-ENV-1] [AX-RUN-1]", () => {
  it.each(FAULTS)("a worker that %s is %s", async (_, code, retryable, behave) => {
    const timeoutMs = code === "E3103" ? 150 : 60_000;
    const result = await run(behave, { timeoutMs, maxOutputBytes: 1_000_000 });
    expect(failureOf(result)).toMatchObject({ code, retryable });
    expect(JSON.stringify(result)).not.toContain(`${worker.port}`);
    await expect.poll(() => worker.connections).toBe(0);
    expect(worker.received).toHaveLength(1);
    expect(await run(succeed())).toMatchObject({ ok: true });
  });

  it("says what is wrong with an answer", async () => {
    const wrong = edited((answer) => ({
      ...answer,
      meta: { ...answer.meta, trace_id: "t2", duration_ms: "1" },
    }));
    expect(failureOf(await run(wrong)).issues).toEqual([
      { path: "/meta/duration_ms", reason: "must be milliseconds" },
    ]);
    const error = { code: "INTERNAL", message: 1, retryable: false };
    const failing = edited((answer) => ({ ...answer, ok: false, error }));
    expect(failureOf(await run(failing)).issues).toEqual([
      { path: "/error/message", reason: "must be a string" },
    ]);
  });

  it.each(["at once", "later"])(
    "a second answer, %s, is not taken for that to the next request",
    async (when) => {
      const twice: Behave = (res, request) => {
        const body = JSON.stringify(answerTo(request, "first"));
        const answer = `${HEAD}Content-Length: ${body.length}\r\n\r\n${body}`;
        if (when === "at once") return void res.socket?.write(answer + answer.replace("first", "other"));
        res.socket?.write(answer);
        setTimeout(() => res.socket?.write(answer.replace("first", "other")), 20);
      };
      expect(await run(twice)).toMatchObject({ ok: true, output: "first" });
      if (when === "later") await sleep(40);
      const { facts } = workerJob(worker.baseUrl);
      const second = await run(succeed("mine"), { facts: { ...facts, callId: "call-2" } });
      expect(second.ok ? second.output : failureOf(second).code).toMatch(/^(mine|E3962|E3963)$/);
      expect(await run(succeed("mine"))).toMatchObject({ ok: true, output: "mine" });
    },
  );

  it("a request is not sent again when a connection that was kept turns out to be gone", async () => {
    expect(await run(succeed())).toMatchObject({ ok: true });
    expect(failureOf(await run((res) => res.socket?.resetAndDestroy()))).toMatchObject({ code: "E3963" });
    expect(worker.received).toHaveLength(2);
  });

  it("a call that is cancelled lets go of its worker", async () => {
    const controller = new AbortController();
    const running = run(() => controller.abort(), { signal: controller.signal });
    expect(await running).toMatchObject({ fault: { kind: "cancelled" } });
    await expect.poll(() => worker.connections).toBe(0);
    const beforehand = await run(succeed(), { signal: AbortSignal.abort() });
    expect(beforehand).toMatchObject({ fault: { kind: "cancelled" } });
    expect(worker.received).toHaveLength(1);
  });

  it("closing the runner cancels what runs, and later calls", async () => {
    const running = run(() => undefined);
    await expect.poll(() => worker.received.length).toBe(1);
    await runner.close();
    expect(await running).toMatchObject({ fault: { kind: "cancelled" } });
    expect(await run(succeed())).toMatchObject({ fault: { kind: "cancelled" } });
  });
});

describe("a worker behind TLS", () => {
  async function runAt(host: string, certified: string, trusts: boolean): Promise<RunResult> {
    const answer = (chunk: string) => answerTo(JSON.parse(chunk));
    await using upstream = await new TlsUpstream([{ dns: certified }], (req, res) => {
      req.on("data", (chunk: Buffer) => sendJson(res, answer(chunk.toString())));
    }).start();
    const options: WorkerRunnerOptions = trusts ? { tls: { ca: upstream.ca } } : {};
    const own = createWorkerRunner(options);
    const result = await own.run(workerJob(`https://${host}:${upstream.port}`));
    await own.close();
    return result;
  }

  it("is called when its certificate is good", async () => {
    expect(await runAt("localhost", "localhost", true)).toMatchObject({ ok: true });
  });

  it.each([
    ["an unknown authority", "localhost", false],
    ["another name", "other.test", true],
  ] as const)("is not sent anything when its certificate is of %s", async (_, name, trusts) => {
    expect(failureOf(await runAt("localhost", name, trusts))).toMatchObject({
      code: "E3963",
      retryable: true,
      details: { reason: "unreached" },
    });
  });
});

describe("how a worker stands", () => {
  const stateOf = () => runner.health().map(({ state }) => state);

  it("is seen by calls and probes, and a dead one fails fast until it is back", async () => {
    let now = 0;
    await runner.close();
    runner = createWorkerRunner({ now: () => now, probeMs: 60_000 });
    const { baseUrl, port } = worker;
    runner.watch([{ baseUrl }, { baseUrl: `${baseUrl}/` }]);
    expect(stateOf()).toEqual(["unknown"]);
    expect(await runner.probe()).toMatchObject([{ baseUrl, state: "up" }]);
    worker.onHealth = (res) => res.writeHead(429, { "retry-after": "30" }).end();
    expect(await runner.probe()).toMatchObject([{ state: "rate_limited" }]);
    await run(succeed());
    expect(stateOf()).toEqual(["up"]);
    await run((res) => res.writeHead(500).end());
    expect(runner.health()).toMatchObject([{ state: "degraded", why: "it answered 500" }]);
    await worker[Symbol.asyncDispose]();
    expect(failureOf(await run(succeed())).details).toMatchObject({ reason: "unreached" });
    expect(stateOf()).toEqual(["down"]);
    worker = await new WorkerDouble().start(port);
    worker.port = port;
    const fast = failureOf(await run(succeed()));
    expect(fast).toMatchObject({
      code: "E3963",
      retryable: true,
      details: { reason: "down", retryAfterMs: 1_000 },
    });
    expect(worker.received).toEqual([]);
    now = 1_000;
    expect(await run(succeed())).toMatchObject({ ok: true });
    expect(stateOf()).toEqual(["up"]);
  });

  it("is down when its health path fails, and up again with the next probe", async () => {
    runner.watch([{ baseUrl: worker.baseUrl, healthPath: "/alive" }]);
    worker.onHealth = (res) => res.writeHead(503).end();
    expect(await runner.probe()).toMatchObject([{ state: "down", why: "it answered 503" }]);
    worker.onHealth = (res) => res.end("fine");
    expect(await runner.probe()).toMatchObject([{ state: "up" }]);
    worker.onHealth = (res) => res.writeHead(404).end();
    expect(await runner.probe()).toMatchObject([{ state: "degraded" }]);
    runner.watch([]);
    expect(runner.health()).toEqual([]);
  });

  it("is not held to be down because a call of it was cancelled or timed out", async () => {
    await run(() => undefined, { timeoutMs: 30 });
    expect(stateOf()).toEqual(["degraded"]);
    await run(succeed(), { signal: AbortSignal.timeout(0) });
    await sleep(1);
    expect(stateOf()).toEqual(["degraded"]);
  });
});
