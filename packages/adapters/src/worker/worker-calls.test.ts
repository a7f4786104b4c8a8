import { createMemoryStore } from "@sallyport/engine";
import type { Store } from "@sallyport/engine/ports";
import { fixtureEngine } from "@sallyport/engine/testing";
import type { ManifestDraft } from "@sallyport/protocol";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { answerTo, sendJson, succeed, WorkerDouble, workerManifest } from "./fixtures/worker-double.ts";
import { createWorkerRunner } from "./worker-runner.ts";

let worker: WorkerDouble;
let store: Store;
beforeEach(async () => {
  worker = await new WorkerDouble().start();
  store = createMemoryStore();
});
afterEach(async () => {
  await expect.poll(() => worker.connections).toBe(0);
  await worker[Symbol.asyncDispose]();
});

const ROOM = { total: 8, perAgent: 8, queue: 1_000, maxWaitMs: 600_000 };

/** An engine that runs workers only. */
async function open(changes?: Partial<ManifestDraft>) {
  const runners = [createWorkerRunner()];
  const retry = { baseDelayMs: 1, maxDelayMs: 1 };
  const fixture = await fixtureEngine({ store, runners, onlyGivenRunners: true, admission: ROOM, retry });
  if (changes) await fixture.engine.tools.register(workerManifest(worker.baseUrl, changes));
  return fixture;
}

describe("workers behind the passage", () => {
  it("1,000 calls at once against a limit of 8 get exactly one answer each [AX-POL-1] [AX-RUN-1]", async () => {
    const { engine, call } = await open({});
    worker.behave = (res, request) => void setTimeout(() => sendJson(res, answerTo(request)), 1);
    const inputs = Array.from({ length: 1_000 }, (_, n) => ({ n }));
    const answers = await Promise.all(inputs.map((input) => call("far", input)));
    expect(answers.map((answer) => answer.status === "success" && answer.result)).toEqual(inputs);
    const runs = worker.received.map(({ request }) => request.meta.tool_run_id);
    expect(new Set(runs).size).toBe(1_000);
    expect(runs).toHaveLength(1_000);
    expect(worker.mostAtOnce).toBeLessThanOrEqual(8);
    await engine.close();
  });

  it("a worker's failure is E3961, with its own word in the details [AX-ENV-1]", async () => {
    const { engine, call } = await open({});
    const error = { code: "TIMEOUT", message: "upstream is slow", retryable: true, details: { after: 30 } };
    worker.behave = (res, request) => sendJson(res, { ...answerTo(request), ok: false, error });
    const { code, retryable, details } = error;
    expect(await call("far", {})).toMatchObject({
      status: "error",
      error: {
        code: "E3961",
        message: error.message,
        retryable,
        details: { worker: { code, retryable, details } },
      },
    });
    await engine.close();
  });

  it.each([
    [true, "success", 2],
    [false, "error", 1],
  ])(
    "idempotent %j: a broken connection is %s after %d requests [R1-7.3]",
    async (idempotent, status, requests) => {
      const { engine, call } = await open({ idempotent });
      worker.behave = (res) => {
        worker.behave = succeed();
        res.socket?.resetAndDestroy();
      };
      expect(await call("far", {})).toMatchObject({ status });
      expect(worker.received).toHaveLength(requests);
      await engine.close();
    },
  );

  it("are found again after a restart, and a late one is a timeout", async () => {
    const before = await open({ limits: { timeoutMs: 3_000 } });
    await before.engine.close();
    const { engine, call } = await open();
    expect(await call("far", { n: 1 })).toMatchObject({ result: { n: 1 }, isolation: { runner: "worker" } });
    worker.behave = () => undefined;
    const late = { code: "E3103", retryable: true, details: { timeoutMs: 3_000 } };
    expect(await call("far", {})).toMatchObject({ status: "timeout", error: late });
    await engine.close();
  });

  it.each<[string, Partial<ManifestDraft>, string[]]>([
    ["no base address", { transport: { type: "http" } }, ["/transport/baseUrl"]],
    ["credentials in it", { transport: { type: "http", baseUrl: "http://a:b@c" } }, ["/transport/baseUrl"]],
    [
      "another scheme",
      { transport: { type: "grpc", baseUrl: "ftp://c" } },
      ["/transport/type", "/transport/baseUrl"],
    ],
    [
      "an endpoint elsewhere",
      { transport: { type: "http", baseUrl: "http://c", endpoint: "@d/run" } },
      ["/transport/endpoint"],
    ],
    [
      "more operations",
      { operations: { stop: { description: "d", inputSchema: {} } } },
      ["/operations/stop"],
    ],
  ])("a manifest with %s is refused (E3008)", async (_, changes, paths) => {
    const { engine } = await open();
    const refused = await engine.tools.register(workerManifest(worker.baseUrl, changes));
    expect(refused).toMatchObject({
      code: "E3008",
      issues: paths.map((path) => expect.objectContaining({ path })),
    });
    await engine.close();
  });
});
