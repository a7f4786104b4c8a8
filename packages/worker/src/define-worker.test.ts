import { spawn } from "node:child_process";
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { connect } from "node:net";
import { fileURLToPath } from "node:url";
import { workerAnswerField } from "@sallyport/protocol/worker";
import { afterEach, describe, expect, it, vi } from "vitest";
import { defineWorker, ToolError, type Worker, type WorkerOptions } from "./index.ts";
import { gateOf } from "./known-gateway.ts";

const opened: Worker[] = [];
afterEach(async () => {
  vi.unstubAllEnvs();
  await Promise.all(opened.splice(0).map((worker) => worker.close()));
});

async function start(tools: WorkerOptions["tools"], options: Partial<WorkerOptions> = {}) {
  const worker = defineWorker({ drainMs: 50, onError: () => {}, ...options, tools });
  opened.push(worker);
  const { url } = await worker.listen({ port: 0 });
  return { worker, url };
}

const META = { trace_id: "t-1", tool_run_id: "r-1", domain_id: "d", deadline_ms: Date.now() + 600_000 };

async function post(url: string, body: unknown, headers: Record<string, string> = {}) {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const sent = { "content-type": "application/json", ...headers };
  const response = await fetch(`${url}/run`, { method: "POST", body: text, headers: sent });
  const answer = JSON.parse(await response.text());
  expect([response.status, workerAnswerField(answer, "", [])]).toEqual([200, true]);
  return answer;
}

const echo = { run: (input: object) => input };

describe("a worker", () => {
  it("answers with the output and the ids as they came [AX-ENV-1]", async () => {
    const { url } = await start({ echo });
    const answer = await post(url, { meta: { ...META, later: 1 }, input: { a: "ü" }, later: 1 });
    expect(answer).toMatchObject({
      ok: true,
      meta: { trace_id: "t-1", tool_run_id: "r-1" },
      output: { a: "ü" },
    });
    expect(await (await fetch(`${url}/healthz`)).json()).toEqual({ ok: true });
    expect((await fetch(`${url}/else`)).status).toBe(404);
    expect((await fetch(`${url}/run`)).status).toBe(405);
  });

  it("gives a tool its ids, its deadline and the trace headers", async () => {
    const { url } = await start({ see: { run: (_input, { signal, ...context }) => context } });
    const traceparent = `00-${"a".repeat(32)}-${"b".repeat(16)}-01`;
    const { output } = await post(url, { meta: META, input: {} }, { traceparent });
    expect(output).toEqual({
      deadlineAt: META.deadline_ms,
      toolId: "see",
      runId: "r-1",
      traceId: "t-1",
      domainId: "d",
      traceHeaders: { traceparent },
    });
  });

  it.each<[string, unknown, string]>([
    ["no JSON", "{", "not JSON"],
    ["a member that stands twice", '{"input":{},"input":{}}', "twice"],
    ["no object", "[]", "envelope"],
    ["no input", { meta: META }, "envelope"],
    ["no deadline", { meta: { ...META, deadline_ms: undefined }, input: {} }, "envelope"],
    ["a tool that is not here", { meta: { ...META, tool_id: "other" }, input: {} }, "no tool other"],
    ["too much", { meta: META, input: { pad: "x".repeat(2_000) } }, "larger than 1000 bytes"],
    ["what the tool's validator refuses", { meta: META, input: { bad: 1 } }, "does not fit the tool"],
  ])("refuses %s as VALIDATION_ERROR, and says what was wrong", async (_what, body, words) => {
    const validate = (input: object) => ("bad" in input ? [{ path: "/bad", reason: "is bad" }] : []);
    const { url } = await start({ echo: { ...echo, validate } }, { maxRequestBytes: 1_000 });
    const { error } = await post(url, body);
    expect(error).toMatchObject({ code: "VALIDATION_ERROR", retryable: false });
    expect(error.message).toContain(words);
  });

  it("needs to be told which of several tools, and runs that one", async () => {
    const { url } = await start({ one: { run: () => 1 }, two: { run: () => 2 } });
    expect(await post(url, { meta: META, input: {} })).toMatchObject({ error: { code: "VALIDATION_ERROR" } });
    expect(await post(url, { meta: { ...META, tool_id: "two" }, input: {} })).toMatchObject({ output: 2 });
  });

  it("gives what a ToolError says, and nothing of any other exception", async () => {
    const thrown: unknown[] = [];
    const details = { status: 503 };
    const { url } = await start(
      {
        said: {
          run: () => Promise.reject(new ToolError("UPSTREAM_ERROR", "down", { retryable: true, details })),
        },
        not: { run: () => Promise.reject(new Error("secret-123")) },
        big: { run: () => 1n },
        odd: { run: () => () => 1 },
      },
      { onError: (error, runId) => thrown.push([String(error), runId]) },
    );
    const error = async (tool_id: string) =>
      (await post(url, { meta: { ...META, tool_id }, input: {} })).error;
    expect(await error("said")).toEqual({
      code: "UPSTREAM_ERROR",
      message: "down",
      retryable: true,
      details,
    });
    const internal = { code: "INTERNAL", message: "The tool failed unexpectedly.", retryable: false };
    for (const tool of ["not", "big", "odd"]) expect(await error(tool)).toEqual(internal);
    expect(thrown[0]).toEqual(["Error: secret-123", "r-1"]);
    expect(thrown).toHaveLength(3);
  });

  it("answers TIMEOUT at the deadline, aborts the signal, and does not begin after it", async () => {
    const aborted: boolean[] = [];
    const { url } = await start({
      slow: {
        run: (_input, { signal }) => {
          signal.addEventListener("abort", () => aborted.push(true));
          return new Promise(() => {});
        },
      },
    });
    const timeout = { ok: false, error: { code: "TIMEOUT", retryable: true } };
    const soon = await post(url, { meta: { ...META, deadline_ms: Date.now() + 60 }, input: {} });
    expect([soon, aborted]).toEqual([expect.objectContaining({ ok: false }), [true]]);
    expect(soon).toMatchObject(timeout);
    expect(await post(url, { meta: { ...META, deadline_ms: 1 }, input: {} })).toMatchObject(timeout);
    expect(aborted).toHaveLength(1);
  });

  it("aborts the run when the caller hangs up", async () => {
    const began = Promise.withResolvers<AbortSignal>();
    const run = (_input: object, { signal }: { signal: AbortSignal }) => {
      began.resolve(signal);
      return new Promise(() => {});
    };
    const { url } = await start({ slow: { run } });
    const caller = new AbortController();
    const call = fetch(`${url}/run`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ meta: META, input: {} }),
      signal: caller.signal,
    });
    const signal = await began.promise;
    caller.abort();
    await expect(call).rejects.toThrow("aborted");
    if (!signal.aborted) await once(signal, "abort");
    expect(signal.reason.message).toBe("The caller hung up.");
  });
});

/** The status of a run with exactly these headers. */
async function statusOf(url: string, headers: Record<string, string>): Promise<number | undefined> {
  const sent = request(`${url}/run`, { method: "POST", headers });
  sent.end(JSON.stringify({ meta: META, input: {} }));
  const [response]: IncomingMessage[] = await once(sent, "response");
  response?.resume();
  return response?.statusCode;
}

const SECRET = "known-to-gateway-and-worker";
const JSON_TYPE = { "content-type": "application/json" };
const SHOWN = { ...JSON_TYPE, "x-sallyport-worker": SECRET };

describe("a worker runs its tool for its gateway alone", () => {
  it.each<[what: string, status: number, headers: Record<string, string>, options?: { secret: string }]>([
    ["JSON from its gateway", 200, { "content-type": 'application/json; charset="UTF-8"' }],
    ["a name without a dot", 200, { ...JSON_TYPE, host: "tool-hello:8080" }],
    ["an address", 200, { ...JSON_TYPE, host: "[::1]:8080" }],
    ["a name that it was told", 200, { ...JSON_TYPE, host: "hello.cluster.local:8080" }],
    ["a form's content type", 415, { "content-type": "text/plain" }],
    ["no content type", 415, {}],
    ["another JSON", 415, { "content-type": "application/json+x" }],
    ["a page", 403, { ...JSON_TYPE, origin: "https://pages.example" }],
    ["a page without an origin of its own", 403, { ...JSON_TYPE, origin: "null" }],
    ["a name that leads to it", 421, { ...JSON_TYPE, host: "pages.example:8080" }],
    ["the secret, under any name", 200, { ...SHOWN, host: "pages.example" }, { secret: SECRET }],
    ["no secret", 401, JSON_TYPE, { secret: SECRET }],
    ["another secret", 401, { ...SHOWN, "x-sallyport-worker": `${SECRET}x` }, { secret: SECRET }],
    ["a page that has the secret", 403, { ...SHOWN, origin: "null" }, { secret: SECRET }],
  ])("with %s: %i", async (_what, status, headers, options) => {
    vi.stubEnv("WORKER_HOSTS", "other.local, Hello.cluster.local");
    let runs = 0;
    const { url } = await start({ count: { run: () => (runs += 1) } }, options);
    expect([await statusOf(url, headers), runs]).toEqual([status, status === 200 ? 1 : 0]);
  });

  it("has its secret from the environment, and does not start with one that cannot be used", () => {
    const read = (env: NodeJS.ProcessEnv) => gateOf(env).secret;
    const file = fileURLToPath(new URL("../package.json", import.meta.url));
    expect([read({}), read({ WORKER_SECRET: ` ${SECRET}\n` })]).toEqual([undefined, SECRET]);
    for (const env of [{ WORKER_SECRET: "" }, { WORKER_SECRET: "short" }, { WORKER_SECRET_FILE: file }])
      expect(() => read(env)).toThrow(/needs 16 to 1000 characters/);
    expect(() => read({ WORKER_SECRET_FILE: "/no/such/file" })).toThrow("ENOENT");
  });
});

describe("a worker that runs for long", () => {
  it("keeps nothing of the runs that have ended", async () => {
    const index = fileURLToPath(new URL("./index.ts", import.meta.url));
    // A leak of one signal a run was 7 MB in a round.
    const program = `import { Agent, request } from "node:http";
      import { defineWorker } from ${JSON.stringify(index)};
      const run = (_input, { signal }) => void signal.addEventListener("abort", () => {});
      const { port } = await defineWorker({ tools: { any: { run } } }).listen({ port: 0 });
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      const body = '${JSON.stringify({ meta: META, input: {} })}';
      const call = () => new Promise((resolve, reject) => {
        const headers = { "content-type": "application/json" };
        const sent = request({ port, agent, method: "POST", path: "/run", headers }, (got) => got.resume().on("end", resolve));
        sent.on("error", reject).end(body);
      });
      const heapAfter = async (runs) => {
        for (let done = 0; done < runs; done++) await call();
        gc();
        return process.memoryUsage().heapUsed;
      };
      const before = await heapAfter(2_000);
      console.log((await heapAfter(2_000)) - before);
      process.exit();`;
    const child = spawn(process.execPath, ["--expose-gc", "--input-type=module-typescript", "-e", program]);
    const [grown] = await once(child.stdout, "data");
    expect(Number(grown)).toBeLessThan(2_000_000);
  });
});

describe("a worker that stops", () => {
  it("lets runs under way finish and takes no new ones", async () => {
    const [began, go] = [Promise.withResolvers<void>(), Promise.withResolvers<string>()];
    const run = () => {
      began.resolve();
      return go.promise;
    };
    const { worker, url } = await start({ slow: { run } }, { drainMs: 60_000 });
    const call = post(url, { meta: META, input: {} });
    await began.promise;
    const closed = worker.close();
    await expect(fetch(`${url}/healthz`)).rejects.toThrow();
    go.resolve("done");
    expect((await call).output).toBe("done");
    await closed;
  });

  it("aborts what takes too long, and drops a sender that never ends its body", async () => {
    const began = Promise.withResolvers<void>();
    const run = () => {
      began.resolve();
      return new Promise(() => {});
    };
    const { worker, url } = await start({ endless: { run } });
    const stalled = connect(Number(new URL(url).port), "127.0.0.1");
    stalled.on("error", () => {});
    const type = "content-type: application/json";
    stalled.write(`POST /run HTTP/1.1\r\nhost: x\r\n${type}\r\ncontent-length: 99\r\n\r\n{`);
    const call = post(url, { meta: META, input: {} });
    await began.promise;
    await worker.close();
    expect((await call).error).toMatchObject({ code: "INTERNAL", retryable: true });
  });

  it("ends its process on SIGTERM", async () => {
    const index = fileURLToPath(new URL("./index.ts", import.meta.url));
    const program = `import { defineWorker } from ${JSON.stringify(index)};
      const { url } = await defineWorker({ tools: { a: { run: () => 1 } } }).serve({ port: 0 });
      console.log(url);`;
    const child = spawn(process.execPath, ["--input-type=module-typescript", "-e", program]);
    const [url] = await once(child.stdout, "data");
    expect((await post(String(url).trim(), { meta: META, input: {} })).output).toBe(1);
    child.kill("SIGTERM");
    expect(await once(child, "exit")).toEqual([0, null]);
  });
});
