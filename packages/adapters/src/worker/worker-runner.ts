import { cleanText } from "@sallyport/engine/host";
import type { Implementation, Job, Runner, RunResult } from "@sallyport/engine/ports";
import { failure, type JsonObject, WORKER_SECRET_HEADER } from "@sallyport/protocol";
import { readRetryAfter } from "../webhook/retry-after.ts";
import { type ConnectionOptions, Connections, type Order, type Reply, type Whole } from "./connections.ts";
import {
  type Asked,
  broken,
  failedWith,
  isSound,
  late,
  NO_OBJECT,
  noWorker,
  type Outcome,
  outputBytes,
  readAnswer,
  traceHeaders,
  withoutUsage,
  workerRequest,
} from "./envelope.ts";
import { type HealthRules, type Sign, WorkerRecord, type WorkerReport } from "./worker-health.ts";
import { baseName, bindService, type ServiceImplementation, workerUrl } from "./worker-implementation.ts";

export interface WorkerRunnerOptions extends ConnectionOptions, Partial<HealthRules> {
  /** How long a probe may take. */
  probeMs?: number;
  /** What workers know their gateway by: sent with every run, to every worker, and with no probe. */
  secret?: string | undefined;
}

/** A worker that is to be probed. */
export interface ProbedWorker {
  baseUrl: string;
  /** `/healthz` when left out. */
  healthPath?: string;
}

/** Runs the tools of service workers, and knows how their workers stand. */
export interface WorkerRunner extends Runner {
  /** From here on these are the workers that are probed and shown; what is known of others is forgotten. */
  watch(workers: readonly ProbedWorker[]): void;
  /** The workers that are watched or were called, by base address. */
  health(): WorkerReport[];
  /** Asks each watched worker once. To be called now and then; never rejects. */
  probe(): Promise<WorkerReport[]>;
}

/** Room for what is in an answer besides its output. */
const ENVELOPE_BYTES = 64 * 1024;
const PROBE_BYTES = 64 * 1024;
const DEFAULT_HEALTH_PATH = "/healthz";
const DEFAULTS = { probeMs: 2_000, memoryMs: 30_000, retryMs: 1_000, now: Date.now };
/** A worker's rights are its operator's business: nothing of it is confined from here. */
const ISOLATION = Object.freeze({ level: "LEVEL_0", runner: "worker" } as const);

/**
 * The runner of tools of kind `service_worker`: posts each call to its worker, in the standard envelope, over connections
 * that stay open. Whatever the worker does, the call gets one result by its deadline.
 */
export function createWorkerRunner(options: WorkerRunnerOptions = {}): WorkerRunner {
  return new ServiceRunner(options);
}

class ServiceRunner implements WorkerRunner {
  readonly kind = "worker";
  readonly isolation = ISOLATION;
  readonly enforcement = { wall: "watch", output: "watch" } as const;
  readonly bind = bindService;
  readonly #options: typeof DEFAULTS;
  readonly #secret: Record<string, string>;
  readonly #connections: Connections;
  readonly #records = new Map<string, WorkerRecord>();
  #watched: ReadonlyMap<string, URL> = new Map();

  constructor(options: WorkerRunnerOptions) {
    const { secret } = options;
    this.#options = { ...DEFAULTS, ...options };
    this.#secret = secret === undefined ? {} : { [WORKER_SECRET_HEADER]: secret };
    this.#connections = new Connections(options);
  }

  async run(job: Job): Promise<RunResult> {
    const { implementation, tool } = job;
    if (!isService(implementation)) return withoutUsage(noWorker(job));
    const request = workerRequest(job, implementation);
    if (!request) return withoutUsage(NO_OBJECT);
    const record = this.#recordOf(implementation.baseUrl);
    const retryAfterMs = record.claimTry();
    if (retryAfterMs > 0) return withoutUsage(unavailable(job, "is down", { reason: "down", retryAfterMs }));
    const asked = { tool, meta: request.meta };
    const body = Buffer.from(JSON.stringify(request));
    const order = postOrder(job, { url: new URL(implementation.url), body, headers: this.#secret });
    const reply = await this.#connections.exchange(order, (whole) => readWhole(whole, job, asked));
    const sign = signOf(reply, this.#options.now());
    if (sign) record.note(sign);
    return withoutUsage(outcomeOf(reply, job, this.#options.now()));
  }

  watch(workers: readonly ProbedWorker[]): void {
    const named = workers.flatMap(({ baseUrl, healthPath = DEFAULT_HEALTH_PATH }) => {
      const url = workerUrl(baseUrl, healthPath);
      return url ? [[baseName(baseUrl), url] as const] : [];
    });
    this.#watched = new Map(named);
    for (const name of this.#records.keys()) if (!this.#watched.has(name)) this.#records.delete(name);
    for (const name of this.#watched.keys()) this.#recordOf(name);
  }

  health(): WorkerReport[] {
    return [...this.#records].map(([baseUrl, record]) => record.report(baseUrl));
  }

  async probe(): Promise<WorkerReport[]> {
    await Promise.all([...this.#watched].map(([name, url]) => this.#probeOne(name, url)));
    return this.health();
  }

  close(): Promise<void> {
    return this.#connections.close();
  }

  async #probeOne(name: string, url: URL): Promise<void> {
    const { probeMs: timeoutMs, now } = this.#options;
    const headers = { accept: "application/json" };
    const order = { url, method: "GET", headers, timeoutMs, maxBytes: PROBE_BYTES } as const;
    const reply = await this.#connections.exchange(order, () => ({ isSound: true }));
    const sign = probeSign(signOf(reply, now()), reply);
    if (sign) this.#records.get(name)?.note(sign);
  }

  #recordOf(name: string): WorkerRecord {
    const record = this.#records.get(name) ?? new WorkerRecord(this.#options);
    this.#records.set(name, record);
    return record;
  }
}

function isService(implementation: Implementation): implementation is ServiceImplementation {
  return implementation.kind === "worker" && typeof implementation.url === "string";
}

function postOrder(
  { facts, timeoutMs, maxOutputBytes, signal }: Job,
  { url, body, headers: own }: Required<Pick<Order, "url" | "body" | "headers">>,
): Order {
  const headers = {
    ...own,
    "content-type": "application/json",
    "content-length": body.length,
    accept: "application/json",
    "accept-encoding": "identity",
    ...traceHeaders(facts),
  };
  const maxBytes = maxOutputBytes + ENVELOPE_BYTES;
  return { url, method: "POST", headers, body, timeoutMs, signal, maxBytes };
}

/** An answer that was read, and whether its connection can be used again. */
interface Judged {
  outcome: Outcome;
  isSound: boolean;
}

function readWhole(whole: Whole, { maxOutputBytes }: Job, asked: Asked): Judged {
  const outcome = unfitHeaders(whole, asked) ?? readAnswer(whole.body, asked);
  if (!outcome.ok || whole.body.length <= maxOutputBytes) return { outcome, isSound: isSound(outcome) };
  const bytes = outputBytes(outcome.output);
  if (bytes <= maxOutputBytes) return { outcome, isSound: true };
  return { outcome: { ok: false, fault: { kind: "output_too_large", bytes } }, isSound: true };
}

const JSON_TYPE = /^application\/(?:[\w.-]+\+)?json\s*(?:;\s*charset="?utf-8"?\s*)?$/i;

function unfitHeaders({ headers }: Whole, asked: Asked): Outcome | undefined {
  const { "content-type": type = "nothing", "content-encoding": coding = "identity" } = headers;
  if (!JSON_TYPE.test(type)) return broken(asked, `it is ${cleanText(type, 100)}, not JSON`);
  return coding === "identity" ? undefined : broken(asked, "it is compressed, which was not asked for");
}

/** What a reply means for the call. */
function outcomeOf(reply: Reply<Judged>, job: Job, now: number): Outcome {
  switch (reply.kind) {
    case "answered":
      return reply.read.outcome;
    case "status":
      return wrongStatus(reply, job, now);
    case "too_large":
      return broken(job, `it is larger than ${job.maxOutputBytes} bytes and an envelope`);
    case "garbage":
      return broken(job, `it is no HTTP (${reply.why})`);
    case "unreached":
      return unavailable(job, `cannot be reached (${reply.why})`, { reason: "unreached" });
    case "broken_off":
      return unavailable(job, `broke the connection off (${reply.why})`, { reason: "broken_off" });
    case "timeout":
      return late(job);
    case "cancelled":
      return { ok: false, fault: { kind: "cancelled" } };
  }
}

type StatusReply = Extract<Reply<never>, { kind: "status" }>;

function wrongStatus({ status, retryAfter }: StatusReply, job: Job, now: number): Outcome {
  if (status >= 300 && status < 400) {
    const message = `The worker of ${job.tool} redirected the request (${status}).`;
    return failedWith(failure("E3964", { message, details: { status } }));
  }
  const retryAfterMs = readRetryAfter(retryAfter, now);
  const wait = retryAfterMs !== undefined && { retryAfterMs };
  return unavailable(job, `answered ${status}`, { reason: "status", status, ...wait });
}

/** No address stands in it: callers do not learn where workers are. */
function unavailable({ tool }: Job, what: string, details: JsonObject): Outcome {
  return failedWith(failure("E3963", { message: `The worker of ${tool} ${what}.`, details }));
}

/** What an exchange has shown of its worker; undefined when nothing. */
function signOf(reply: Reply<{ isSound: boolean }>, now: number): Sign | undefined {
  switch (reply.kind) {
    case "answered":
      return reply.read.isSound ? { kind: "good" } : BROKEN;
    case "status":
      if (reply.status === 429) return { kind: "limited", forMs: readRetryAfter(reply.retryAfter, now) };
      return { kind: "bad", why: `it answered ${reply.status}` };
    case "too_large":
    case "garbage":
      return BROKEN;
    case "unreached":
      return { kind: "unreached", why: reply.why };
    case "timeout":
      return { kind: reply.connected ? "bad" : "unreached", why: "it did not answer in time" };
    case "broken_off":
      return { kind: "bad", why: `it broke the connection off (${reply.why})` };
    case "cancelled":
      return undefined;
  }
}

const BROKEN: Sign = { kind: "bad", why: "it broke the envelope" };

/** A probe asks for little: a worker that does not even give that is down. A status below 500 is an answer of some kind. */
function probeSign(sign: Sign | undefined, reply: Reply<unknown>): Sign | undefined {
  const isAnswer = reply.kind === "status" && reply.status < 500;
  return sign?.kind === "bad" && !isAnswer ? { kind: "unreached", why: sign.why } : sign;
}
