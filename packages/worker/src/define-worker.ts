import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { answerRun } from "./answer-run.ts";
import { type Gate, gateOf, refusalOf } from "./known-gateway.ts";
import { ToolError } from "./tool-error.ts";
import type { WorkerTool } from "./worker-tool.ts";

export interface WorkerOptions {
  /** By the ids that the domain's manifest gives them. With one tool a request need not name it. */
  tools: Readonly<Record<string, WorkerTool>>;
  /** The largest request that is read; 4 MiB when left out. A larger one is a VALIDATION_ERROR. */
  maxRequestBytes?: number;
  /**
   * What a gateway has to send in `X-Sallyport-Worker`: 16 to 1000 characters without spaces. When left out:
   * `WORKER_SECRET` of the environment, else the contents of the file that `WORKER_SECRET_FILE` names, else nothing.
   */
  secret?: string;
  /** How long `close` waits for runs under way before their signals abort; 8 s when left out. */
  drainMs?: number;
  /** Hears of exceptions that are no `ToolError`; when left out they are printed to stderr. */
  onError?(error: unknown, runId: string): void;
}

export interface ListenOptions {
  /** `PORT` of the environment, else 8080; 0 is any free port. */
  port?: number;
  /** `WORKER_HOST` of the environment, else 127.0.0.1; a container needs 0.0.0.0. */
  host?: string;
}

export interface Listening {
  url: string;
  port: number;
}

/** A server with `POST /run` and `GET /healthz`. */
export interface Worker {
  /** Rejects when the address cannot be had. */
  listen(options?: ListenOptions): Promise<Listening>;
  /** Like `listen`, for a program of its own: SIGTERM and SIGINT drain and end the process. */
  serve(options?: ListenOptions): Promise<Listening>;
  /** Takes no new runs, waits for those under way and resolves when every connection is closed. */
  close(): Promise<void>;
}

/** A slower sender is cut off. */
const REQUEST_TIMEOUT_MS = 30_000;
/** What answers and slow senders get after the runs have been aborted. */
const LAST_WORDS_MS = 500;

interface State {
  tools: ReadonlyMap<string, WorkerTool>;
  maxRequestBytes: number;
  gate: Gate;
  /** Of the runs under way: aborted when a drain has taken too long. */
  running: Set<AbortController>;
  isDraining: boolean;
  onError(error: unknown, runId: string): void;
}

/**
 * Puts tools behind the envelope of workers (AX-ENV-1). Every failure of a run is HTTP 200 with an error envelope; what is
 * no run from the gateway gets another status. Throws when the secret cannot be used.
 */
export function defineWorker(options: WorkerOptions): Worker {
  const { tools, maxRequestBytes, secret, drainMs = 8_000, onError } = options;
  const state: State = {
    gate: gateOf({ ...process.env, ...(secret !== undefined && { WORKER_SECRET: secret }) }),
    tools: new Map(Object.entries(tools)),
    maxRequestBytes: maxRequestBytes ?? 4 * 1024 * 1024,
    running: new Set(),
    isDraining: false,
    onError: onError ?? printError,
  };
  if (state.tools.size === 0) throw new TypeError("A worker needs at least one tool.");
  const server = createServer({ requestTimeout: REQUEST_TIMEOUT_MS }, (request, response) => {
    handle(request, response, state).catch(() => response.destroy());
  });
  const listen = (options: ListenOptions = {}) => startListening(server, options);
  let closed: Promise<void> | undefined;
  const close = () => {
    closed ??= drain(server, state, drainMs);
    return closed;
  };
  const serve = async (options?: ListenOptions) => {
    for (const signal of ["SIGTERM", "SIGINT"])
      process.once(signal, () => close().then(() => process.exit()));
    return await listen(options);
  };
  return { listen, serve, close };
}

function printError(error: unknown, runId: string): void {
  console.error(`Run ${runId} failed unexpectedly:`, error);
}

function startListening(server: Server, { port, host }: ListenOptions): Promise<Listening> {
  const { PORT, WORKER_HOST } = process.env;
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port ?? Number(PORT || 8080), host ?? (WORKER_HOST || "127.0.0.1"), () => {
      const { address, port: own, family } = server.address() as AddressInfo;
      resolve({ url: `http://${family === "IPv6" ? `[${address}]` : address}:${own}`, port: own });
    });
  });
}

async function drain(server: Server, state: State, drainMs: number): Promise<void> {
  state.isDraining = true;
  const stopping = new ToolError("INTERNAL", "The worker is stopping.", { retryable: true });
  const timers = [
    setTimeout(() => {
      for (const run of state.running) run.abort(stopping);
    }, drainMs),
    setTimeout(() => server.closeAllConnections(), drainMs + LAST_WORDS_MS),
  ];
  await new Promise((resolve) => server.close(resolve));
  for (const timer of timers) clearTimeout(timer);
}

async function handle(request: IncomingMessage, response: ServerResponse, state: State): Promise<void> {
  const path = request.url?.split("?", 1)[0];
  if (path === "/healthz" && request.method === "GET") {
    const ok = !state.isDraining;
    return send(response, JSON.stringify({ ok }), { status: ok ? 200 : 503, state });
  }
  if (path !== "/run") return send(response, NO_ROUTE, { status: 404, state });
  if (request.method !== "POST") return send(response, NO_ROUTE, { status: 405, state });
  const refusal = refusalOf(request.headers, state.gate);
  if (refusal) {
    const { status, message } = refusal;
    return send(response, JSON.stringify({ ok: false, message }), { status, state });
  }
  return await handleRun(request, response, state);
}

const NO_ROUTE = JSON.stringify({ ok: false, message: "This worker has POST /run and GET /healthz." });

async function handleRun(request: IncomingMessage, response: ServerResponse, state: State): Promise<void> {
  const abort = new AbortController();
  response.once("close", () => {
    if (!response.writableFinished) abort.abort(new ToolError("INTERNAL", "The caller hung up."));
  });
  state.running.add(abort);
  try {
    const body = await readText(request, state.maxRequestBytes);
    const { tools, onError } = state;
    const answer = await answerRun(body, { tools, abort, traceHeaders: traceHeadersOf(request), onError });
    send(response, answer, { status: 200, state });
  } finally {
    state.running.delete(abort);
  }
}

/** An error when it is too large, or not UTF-8. The rest of a large body is read and dropped: the sender can then read the answer. */
async function readText(request: IncomingMessage, maxBytes: number): Promise<string | ToolError> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    size += chunk.length;
    if (size <= maxBytes) chunks.push(chunk);
    else chunks.length = 0;
  }
  if (size > maxBytes) {
    return new ToolError("VALIDATION_ERROR", `The body is larger than ${maxBytes} bytes.`);
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(chunks));
  } catch {
    return new ToolError("VALIDATION_ERROR", "The body is not UTF-8.");
  }
}

function traceHeadersOf({ headers }: IncomingMessage): Record<string, string> {
  const names = ["traceparent", "tracestate"];
  return Object.fromEntries(
    names.flatMap((name) => (typeof headers[name] === "string" ? [[name, headers[name]]] : [])),
  );
}

function send(
  response: ServerResponse,
  body: string,
  { status, state }: { status: number; state: State },
): void {
  response.writeHead(status, {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(body),
    // Who still has a connection must not send its next request on it.
    ...(state.isDraining && { connection: "close" }),
  });
  response.end(body);
}
