import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { parseJsonObject } from "@sallyport/protocol";
import { defineWorker } from "@sallyport/worker";
import { describe, expect, it } from "vitest";
import { type Subject, verifyWorker } from "./verify-worker.ts";

const SECRET = "known-to-gateway-and-worker";
const SUBJECT: Omit<Subject, "url"> = {
  ...{ toolId: undefined, input: {}, slowInput: { slow: true } },
  secret: SECRET,
};

/** What the checks say that did not pass, by their ids. */
async function missing(url: string, more: Partial<Subject> = {}): Promise<Record<string, string>> {
  const checks = await verifyWorker({ ...SUBJECT, url: new URL(url), ...more });
  const failed = checks.filter(({ passed }) => !passed);
  return Object.fromEntries(failed.map(({ id, evidence }) => [id, evidence]));
}

interface Envelope {
  ok: boolean;
  meta: Record<string, unknown>;
  output?: unknown;
  error?: { code: string; message: string; retryable: boolean };
}

/** The rules that a worker made by hand can break; without any it keeps them all. */
interface Breaks {
  health?: { status: number; body: string };
  status?: (answer: Envelope) => number;
  contentType?: string;
  /** What is sent instead of the answer. */
  answer?: (answer: Envelope) => Envelope | string;
  refusesUnknown?: boolean;
  maxBytes?: number;
  ignoresDeadline?: boolean;
  /** How long after its deadline a slow run ends. */
  lateByMs?: number;
  atOnce?: number;
  /** Runs for whoever asks, whether or not a page does. */
  believes?: "pages" | "everybody";
}

function failed(code: string, retryable = false): Pick<Envelope, "ok" | "error"> {
  return { ok: false, error: { code, message: "no", retryable } };
}

const BUSY = 503;

function byHand(breaks: Breaks) {
  let running = 0;
  return createServer(async (request, response) => {
    if (request.url === "/healthz") {
      const { status, body } = breaks.health ?? { status: 200, body: '{"ok":true}' };
      return response.writeHead(status).end(body);
    }
    running += 1;
    response.once("close", () => {
      running -= 1;
    });
    const { origin, "content-type": type, "x-sallyport-worker": secret } = request.headers;
    const isPage = origin !== undefined || type !== "application/json";
    if (isPage && breaks.believes !== "pages") return response.writeHead(403).end();
    if (secret !== SECRET && breaks.believes !== "everybody") return response.writeHead(401).end();
    if (running > (breaks.atOnce ?? Infinity)) return response.writeHead(BUSY).end();
    await answerByHand(request, response, breaks);
  });
}

async function answerByHand(request: IncomingMessage, response: ServerResponse, breaks: Breaks) {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of request) chunks.push(chunk);
  } catch {
    return response.destroy();
  }
  const text = Buffer.concat(chunks).toString();
  const sent = parseJsonObject(text) ?? {};
  const { trace_id = "unknown", tool_run_id = "unknown" } = (sent.meta ?? {}) as Record<string, unknown>;
  const result =
    text.length > (breaks.maxBytes ?? 1e6) ? failed("VALIDATION_ERROR") : await judged(sent, breaks);
  const answer: Envelope = { meta: { trace_id, tool_run_id, duration_ms: 1 }, ...result };
  const given = breaks.answer?.(answer) ?? answer;
  response.writeHead(breaks.status?.(answer) ?? 200, {
    "content-type": breaks.contentType ?? "application/json",
  });
  response.end(typeof given === "string" ? given : JSON.stringify(given));
}

async function judged(sent: Record<string, unknown>, breaks: Breaks) {
  const { meta, input, ...others } = sent;
  if (typeof meta !== "object" || typeof input !== "object" || Array.isArray(input)) {
    return failed("VALIDATION_ERROR");
  }
  if (breaks.refusesUnknown && Object.keys(others).length > 0) return failed("VALIDATION_ERROR");
  const leftMs = Number((meta as { deadline_ms: unknown }).deadline_ms) - Date.now();
  const needsMs = input && "slow" in input ? 1_000 : 0;
  if (breaks.ignoresDeadline || leftMs > needsMs) {
    await pause(needsMs);
    return { ok: true, output: {} };
  }
  await pause(leftMs > 0 ? leftMs + (breaks.lateByMs ?? 0) : 0);
  return failed("TIMEOUT", true);
}

/** Every check, and a worker that it does not let pass. */
const BROKEN: readonly [what: string, breaks: Breaks, ids: readonly string[], words: string][] = [
  ["is not well", { health: { status: 500, body: "{}" } }, ["health"], "the status is 500"],
  ["gives no word of its health", { health: { status: 200, body: "ok" } }, ["health"], "the body is ok"],
  [
    "answers success with 201",
    { status: ({ ok }) => (ok ? 201 : 200) },
    ["success", "ids", "unknown-fields", "oversize", "concurrency"],
    "the status is 201",
  ],
  [
    "answers success as text",
    { answer: (answer) => (answer.ok ? "done" : answer) },
    ["success", "ids", "unknown-fields", "oversize", "concurrency"],
    "not JSON: done",
  ],
  [
    "forgets a field",
    { answer: (answer) => (answer.ok ? { ...answer, output: undefined } : answer) },
    ["success", "ids", "unknown-fields", "oversize", "concurrency"],
    "/output is missing",
  ],
  [
    "gives ids of its own",
    { answer: (answer) => ({ ...answer, meta: { ...answer.meta, tool_run_id: "mine" } }) },
    ["ids", "concurrency"],
    "tool_run_id came back as mine",
  ],
  ["refuses what it does not know", { refusesUnknown: true }, ["unknown-fields"], "VALIDATION_ERROR"],
  [
    "answers mistakes with 400",
    { status: ({ error }) => (error?.code === "VALIDATION_ERROR" ? 400 : 200) },
    ["ids", "validation", "malformed", "oversize"],
    "the status is 400",
  ],
  [
    "calls mistakes internal",
    {
      answer: (answer) =>
        answer.error?.code === "VALIDATION_ERROR" ? { ...answer, ...failed("INTERNAL") } : answer,
    },
    ["validation", "malformed", "oversize"],
    'INTERNAL "no", not VALIDATION_ERROR',
  ],
  [
    "calls mistakes retryable",
    {
      answer: (answer) =>
        answer.error?.code === "VALIDATION_ERROR"
          ? { ...answer, ...failed("VALIDATION_ERROR", true) }
          : answer,
    },
    ["validation", "malformed", "oversize"],
    "has retryable true",
  ],
  ["reads whatever comes", { maxBytes: 1e9 }, ["oversize"], "a success, not VALIDATION_ERROR"],
  ["ignores deadlines", { ignoresDeadline: true }, ["timeout", "late"], "a success, not TIMEOUT"],
  [
    "says that a timeout is final",
    { answer: (answer) => (answer.error?.code === "TIMEOUT" ? { ...answer, ...failed("TIMEOUT") } : answer) },
    ["timeout", "late"],
    "has retryable false",
  ],
  ["ends runs long after their deadline", { lateByMs: 5_500 }, ["late"], "ms after the deadline"],
  [
    "runs what a page sends",
    { believes: "pages" },
    ["cross-site"],
    "a form's content type: the answer is 200, and the tool ran",
  ],
  ["runs without the secret", { believes: "everybody" }, ["secret"], "without it: the answer is 200"],
  ["does one thing at a time", { atOnce: 1 }, ["concurrency"], `the status is ${BUSY}`],
  [
    "sends another content type",
    { contentType: "text/html" },
    [
      "success",
      "ids",
      "unknown-fields",
      "validation",
      "malformed",
      "oversize",
      "timeout",
      "late",
      "concurrency",
    ],
    "the content type is text/html",
  ],
];

async function listening(server: ReturnType<typeof createServer>) {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    [Symbol.dispose]: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

describe("the check of a worker", () => {
  it("lets a worker of the SDK pass, and one made by hand [AX-ENV-1]", async () => {
    const run = (input: object) => pause("slow" in input ? 1_000 : 0);
    for (const secret of [SECRET, undefined]) {
      const worker = defineWorker({ tools: { any: { run } }, ...(secret !== undefined && { secret }) });
      const { url } = await worker.listen({ port: 0 });
      expect(await missing(url, { secret })).toEqual({});
      await worker.close();
    }
    using hand = await listening(byHand({}));
    expect(await missing(`${hand.url}/`)).toEqual({});
  });

  it.concurrent.each(BROKEN)("sees a worker that %s", async (_what, breaks, ids, words) => {
    using broken = await listening(byHand(breaks));
    const found = await missing(broken.url);
    expect(Object.keys(found)).toEqual(ids);
    expect(found[ids[0] ?? ""]).toContain(words);
  });

  it("sees a worker that nobody can reach", async () => {
    const { url, [Symbol.dispose]: close } = await listening(byHand({}));
    close();
    const found = await missing(url);
    expect(Object.keys(found)).toHaveLength(12);
    expect(found.success).toBe("no answer: ECONNREFUSED");
  });
});
