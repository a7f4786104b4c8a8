import { randomUUID } from "node:crypto";
import { connect } from "node:net";
import {
  type Issue,
  type JsonObject,
  type JsonValue,
  parseJsonObject,
  parseUnambiguousJson,
  WORKER_SECRET_HEADER,
  type WorkerAnswer,
  type WorkerErrorCode,
  workerAnswerField,
} from "@sallyport/protocol";
import { type Check, type Expect, type Procedure, runChecks } from "../conformance/check.ts";
import { exchange, type Reply } from "./post.ts";

/** A worker to check, and inputs that its tool takes. */
export interface Subject {
  /** Its base address; `/run` and `/healthz` are below it. */
  url: URL;
  toolId: string | undefined;
  /** An input that succeeds. */
  input: JsonObject;
  /** An input that succeeds only after more than `SLOW_MS`. */
  slowInput: JsonObject | undefined;
  /** What the worker knows its gateway by; undefined when it was not given one. */
  secret: string | undefined;
}

/** A worker must refuse a request as large as this. */
export const OVERSIZE_BYTES = 16 * 1024 * 1024;
/** How far ahead the deadline is that a slow run must not miss. */
export const SLOW_MS = 400;
/** What may lie between a deadline and the answer that it passed: the way here and back. */
const LATE_MS = 5_000;
const AT_ONCE = 32;
const FAR_MS = 60_000;

type WorkerCheck = readonly [id: string, title: string, run: Procedure<Subject>];

/** The envelope's rules (AX-ENV-1), each checked by requests that a gateway could send. */
const CHECKS: readonly WorkerCheck[] = [
  ["health", "GET /healthz is 200 with ok true", checkHealth],
  ["success", "an input that fits gets an output", checkSuccess],
  ["ids", "trace_id and tool_run_id come back as they were sent", checkIds],
  ["unknown-fields", "fields that a worker does not know are ignored", checkUnknownFields],
  ["validation", "a request that does not fit the envelope is VALIDATION_ERROR", checkValidation],
  ["malformed", "a body that is not JSON is VALIDATION_ERROR", checkMalformed],
  ["oversize", "a request of 16 MiB is VALIDATION_ERROR", checkOversize],
  ["timeout", "a deadline that has passed is TIMEOUT, retryable", checkTimeout],
  ["late", "a run that misses its deadline is TIMEOUT, soon after it", checkLate],
  ["cross-site", "what a page in a browser can send runs nothing", checkCrossSite],
  ["secret", "only who knows the secret runs anything", checkSecret],
  ["concurrency", `${AT_ONCE} runs at once, while another sender stalls`, checkConcurrency],
];

/** Makes every check, one after the other. Never rejects: what cannot be asked is a check that did not pass. */
export async function verifyWorker(subject: Subject): Promise<Omit<Check, "section">[]> {
  const checks = await runChecks({ section: "tool", checks: CHECKS }, subject);
  return checks.map(({ section, ...check }) => check);
}

function below({ url }: Subject, path: string): URL {
  return new URL(`${url.pathname.replace(/\/$/, "")}${path}`, url);
}

interface Sent {
  meta: JsonObject & { trace_id: string; tool_run_id: string };
  input: JsonObject;
}

function requestTo({ toolId, input }: Subject, { aheadMs = FAR_MS } = {}): Sent {
  return {
    meta: {
      trace_id: `trace-${randomUUID()}`,
      tool_run_id: randomUUID(),
      domain_id: "verify",
      deadline_ms: Date.now() + aheadMs,
      ...(toolId !== undefined && { tool_id: toolId }),
    },
    input,
  };
}

/** Posts a body and reads the envelope; undefined when it is none, which has been noted then. */
async function run(
  subject: Subject,
  body: JsonValue | Sent,
  expect: Expect,
): Promise<WorkerAnswer | undefined> {
  return await runText(subject, JSON.stringify(body), expect);
}

async function runText(subject: Subject, body: string, expect: Expect): Promise<WorkerAnswer | undefined> {
  const reply = await ask(below(subject, "/run"), body, expect, asGateway(subject));
  return reply && readEnvelope(reply, expect);
}

type Headers = Readonly<Record<string, string>>;

/** The headers of a run as a gateway sends it. */
function asGateway({ secret }: Subject): Headers {
  const json = { "content-type": "application/json" };
  return secret === undefined ? json : { ...json, [WORKER_SECRET_HEADER]: secret };
}

/** Undefined when no whole answer came, which has been noted then. */
async function ask(
  url: URL,
  body: string | undefined,
  expect: Expect,
  headers?: Headers,
): Promise<Reply | undefined> {
  try {
    return await exchange(url, body, headers);
  } catch (error) {
    expect(false, error instanceof Error ? error.message : String(error));
    return undefined;
  }
}

function readEnvelope({ status, contentType, text }: Reply, expect: Expect): WorkerAnswer | undefined {
  const mediaType = contentType.split(";", 1)[0]?.trim().toLowerCase();
  expect(status === 200, `the status is ${status}, not 200 with an envelope`);
  expect(mediaType === "application/json", `the content type is ${contentType || "missing"}`);
  const value = parseUnambiguousJson(text);
  const issues: Issue[] = [];
  if (value !== undefined && workerAnswerField(value, "", issues)) return value;
  const [first] = issues;
  const place = first?.path || "the answer";
  expect(false, first ? `${place} ${first.reason}` : `the answer is not JSON: ${text.slice(0, 80)}`);
  return undefined;
}

function said(answer: WorkerAnswer): string {
  return answer.ok ? "a success" : `${answer.error.code} "${answer.error.message.slice(0, 200)}"`;
}

function expectSuccess(answer: WorkerAnswer | undefined, expect: Expect, what = "the answer"): void {
  if (answer) expect(answer.ok, `${what} is ${said(answer)}; does the input fit the tool?`);
}

interface Wanted {
  code: WorkerErrorCode;
  retryable: boolean;
}

const INVALID: Wanted = { code: "VALIDATION_ERROR", retryable: false };
const LATE: Wanted = { code: "TIMEOUT", retryable: true };

function expectError(
  answer: WorkerAnswer | undefined,
  wanted: Wanted,
  note: (missing: string) => void,
): void {
  if (!answer) return;
  if (answer.ok || answer.error.code !== wanted.code) note(`is ${said(answer)}, not ${wanted.code}`);
  else if (answer.error.retryable !== wanted.retryable) note(`has retryable ${answer.error.retryable}`);
}

async function checkHealth(subject: Subject, expect: Expect): Promise<string> {
  const reply = await ask(below(subject, "/healthz"), undefined, expect);
  if (reply) {
    expect(reply.status === 200, `the status is ${reply.status}`);
    expect(parseJsonObject(reply.text)?.ok === true, `the body is ${reply.text.slice(0, 80)}`);
  }
  return "it is up";
}

async function checkSuccess(subject: Subject, expect: Expect): Promise<string> {
  const answer = await run(subject, requestTo(subject), expect);
  expectSuccess(answer, expect);
  return `answered in ${answer?.meta.duration_ms} ms by its own account`;
}

async function checkIds(subject: Subject, expect: Expect): Promise<string> {
  const request = requestTo(subject);
  request.meta.trace_id = `${"ü".repeat(200)}"\\ ☃`;
  const bodies: [string, JsonValue][] = [
    ["a success", { ...request }],
    ["an error", { meta: request.meta }],
  ];
  for (const [what, body] of bodies) {
    const meta = (await run(subject, body, expect))?.meta;
    if (meta) expectIds(meta, request, (missing) => expect(false, `${what}: ${missing}`));
  }
  return "in a success and in an error, whatever characters they have";
}

function expectIds(given: WorkerAnswer["meta"], { meta }: Sent, note: (missing: string) => void): void {
  for (const name of ["trace_id", "tool_run_id"] as const) {
    if (given[name] !== meta[name]) note(`${name} came back as ${given[name].slice(0, 40)}`);
  }
}

async function checkUnknownFields(subject: Subject, expect: Expect): Promise<string> {
  const { meta, input } = requestTo(subject);
  const later = { of: ["a later version"] };
  expectSuccess(await run(subject, { meta: { ...meta, later }, input, later }, expect), expect);
  return "next to meta and input, and in meta";
}

async function checkValidation(subject: Subject, expect: Expect): Promise<string> {
  const { meta, input } = requestTo(subject);
  const bodies: [string, JsonValue][] = [
    ["a list", []],
    ["no meta", { input }],
    ["no input", { meta }],
    ["an input that is a list", { meta, input: [] }],
  ];
  for (const [what, body] of bodies) {
    const note: Expect = (holds, missing) => expect(holds, `${what}: ${missing}`);
    expectError(await run(subject, body, note), INVALID, (missing) => note(false, `the answer ${missing}`));
  }
  return bodies.map(([what]) => what).join(", ");
}

async function checkMalformed(subject: Subject, expect: Expect): Promise<string> {
  const bodies = ["", "{", "not JSON", `${JSON.stringify(requestTo(subject))}}`];
  for (const body of bodies) {
    const what = `"${body.slice(0, 10)}"`;
    const note: Expect = (holds, missing) => expect(holds, `${what}: ${missing}`);
    const answer = await runText(subject, body, note);
    expectError(answer, INVALID, (missing) => note(false, `the answer ${missing}`));
  }
  return "an empty body, an unfinished one, words, one with something behind it";
}

async function checkOversize(subject: Subject, expect: Expect): Promise<string> {
  // In a field that no worker knows, so that only its size is wrong.
  const body = { ...requestTo(subject), padding: "x".repeat(OVERSIZE_BYTES) };
  expectError(await run(subject, { ...body }, expect), INVALID, (missing) =>
    expect(false, `the answer ${missing}`),
  );
  expectSuccess(await run(subject, requestTo(subject), expect), expect, "the run after it");
  return "and the run after it succeeds";
}

async function checkTimeout(subject: Subject, expect: Expect): Promise<string> {
  const answer = await run(subject, requestTo(subject, { aheadMs: -1_000 }), expect);
  expectError(answer, LATE, (missing) => expect(false, `the answer ${missing}`));
  return "the tool was not waited for";
}

async function checkLate(subject: Subject, expect: Expect): Promise<string> {
  const { slowInput } = subject;
  const request = requestTo({ ...subject, input: slowInput ?? subject.input }, { aheadMs: SLOW_MS });
  const startedAt = performance.now();
  const answer = await run(subject, request, expect);
  const lateMs = Math.round(performance.now() - startedAt) - SLOW_MS;
  expect(lateMs <= LATE_MS, `the answer came ${lateMs} ms after the deadline`);
  if (answer && (slowInput || !answer.ok)) {
    expectError(answer, LATE, (missing) => expect(false, `the answer ${missing}`));
  }
  if (slowInput) return "the slow run was cut off";
  return `answered in time; --slow-input, with one that takes more than ${SLOW_MS} ms, tries a run that is late`;
}

/** Whether each of these is refused; what a page can send is refused also where it knows the secret. */
async function expectRefused(
  subject: Subject,
  requests: Readonly<Record<string, Headers>>,
  expect: Expect,
): Promise<void> {
  for (const [what, headers] of Object.entries(requests)) {
    const body = JSON.stringify(requestTo(subject));
    const say = (isRight: boolean, missing: string) => expect(isRight, `${what}: ${missing}`);
    const reply = await ask(below(subject, "/run"), body, say, headers);
    const hasRun = reply && reply.status < 400 && parseJsonObject(reply.text)?.ok !== false;
    if (hasRun) say(false, `the answer is ${reply.status}, and the tool ran`);
  }
}

async function checkCrossSite(subject: Subject, expect: Expect): Promise<string> {
  const gateway = asGateway(subject);
  const { "content-type": _type, ...untyped } = gateway;
  const requests = {
    "a form's content type": { ...gateway, "content-type": "text/plain" },
    "no content type": untyped,
    "an Origin": { ...gateway, origin: "https://pages.example" },
    // A worker that has a secret knows its gateway by it, under whatever name.
    ...(subject.secret === undefined && { "a Host of others": { ...gateway, host: "pages.example" } }),
  };
  await expectRefused(subject, requests, expect);
  return Object.keys(requests).join(", ");
}

async function checkSecret(subject: Subject, expect: Expect): Promise<string> {
  const { secret } = subject;
  if (secret === undefined) return "not tried: give worker and check the same WORKER_SECRET";
  const requests = {
    "without it": asGateway({ ...subject, secret: undefined }),
    "with another": asGateway({ ...subject, secret: `${secret}x` }),
  };
  await expectRefused(subject, requests, expect);
  return "without it and with another, nothing runs";
}

async function checkConcurrency(subject: Subject, expect: Expect): Promise<string> {
  const stalled = stalledSender(below(subject, "/run"));
  try {
    const requests = Array.from({ length: AT_ONCE }, () => requestTo(subject));
    const answers = await Promise.all(requests.map((request) => run(subject, request, expect)));
    for (const [index, request] of requests.entries()) {
      const answer = answers[index];
      expectSuccess(answer, expect, `run ${index + 1}`);
      if (answer) expectIds(answer.meta, request, (missing) => expect(false, `run ${index + 1}: ${missing}`));
    }
  } finally {
    stalled.destroy();
  }
  return "each with its own ids";
}

/** A connection that has begun a request and never ends it. A worker behind TLS sees one that says nothing. */
function stalledSender(url: URL) {
  const port = url.port || (url.protocol === "https:" ? 443 : 80);
  const socket = connect(Number(port), url.hostname.replace(/^\[|\]$/g, ""));
  // That the worker closes it is its right.
  socket.on("error", () => socket.destroy());
  socket.write(`POST ${url.pathname} HTTP/1.1\r\nhost: ${url.host}\r\ncontent-length: 100\r\n\r\n{`);
  return socket;
}
