import { redact } from "@sallyport/engine/host";
import {
  type CallAnswer,
  defined,
  entryOf,
  type Failure,
  type GatewayErrorCode,
  isFailure,
  isJsonObject,
  type JsonObject,
  type RunRequest,
  type RunResponse,
  runRequestField,
  runResponseField,
  SallyportError,
  type ToolManifest,
  toolParamsField,
  WORKER_ERROR_CODES,
} from "@sallyport/protocol";
import { problemHeaders, retryAfter } from "../kernel/problem.ts";
import {
  type AnswerShape,
  defineRoute,
  type Refused,
  type Reply,
  type Route,
  type RouteRequest,
} from "../route.ts";
import { approvalUrl, invocationUrl } from "./addresses.ts";
import { replayedHeader } from "./call-reply.ts";
import { callRequestOf } from "./call-request.ts";
import { hiddenToolError, unknownTool } from "./known-tools.ts";
import type { RouteContext } from "./parts.ts";
import { asGiven } from "./visible-call.ts";

const DESCRIPTION = `Runs a tool and answers in the envelope of workers, refusals included: \`ok\` says which of \`output\` and
\`error\` is there. What a worker itself reports as failed is answered with 200 and the worker's own words; what the
gateway has to say stands in \`error.gateway\`. With an Idempotency-Key the same request is run once, however often it is sent.`;

const answers: Readonly<Record<number, AnswerShape>> = Object.fromEntries(
  (
    [
      [200, "The worker has answered: `ok` says how."],
      [202, "APPROVAL_PENDING: the run goes on by itself once a person has approved it."],
      [400, "VALIDATION_ERROR: the body or the input is wrong."],
      [401, "POLICY_DENIED: a token is needed."],
      [403, "POLICY_DENIED: nothing allows it."],
      [404, "NOT_FOUND: there is no such tool."],
      [409, "VALIDATION_ERROR: the Idempotency-Key was used for another request."],
      [413, "VALIDATION_ERROR: the input is too large."],
      [415, "VALIDATION_ERROR: the body is not JSON."],
      [429, "RATE_LIMITED: too many runs at once."],
      [500, "INTERNAL: the gateway failed."],
      [502, "UPSTREAM_ERROR: the worker failed; or INTERNAL: it broke the envelope or the output schema."],
      [503, "INTERNAL: the gateway cannot take runs now."],
      [504, "TIMEOUT: the worker did not answer in time."],
    ] as const
  ).map(([status, description]) => [
    status,
    { description, schema: runResponseField, ...headersTold(status) },
  ]),
);

function headersTold(status: number): Pick<AnswerShape, "headers"> {
  if (status === 202)
    return { headers: { Location: "Where to ask how it stands.", "Retry-After": "Seconds to wait." } };
  if (status === 401) return { headers: { "WWW-Authenticate": "How to show a credential." } };
  return status === 429 || status === 503 ? { headers: { "Retry-After": "Seconds to wait." } } : {};
}

/** `POST /v1/tools/{tool_id}:run` (AX-RUN-1). */
export function runToolRoutes(parts: RouteContext): Route[] {
  return [
    defineRoute({
      id: "runTool",
      method: "POST",
      path: "/v1/tools/{tool_id}:run",
      tag: "Tools",
      summary: "Run a tool of a domain",
      description: DESCRIPTION,
      access: "caller",
      params: toolParamsField,
      body: runRequestField,
      headers: {
        "Idempotency-Key": "The same key with the same request is answered from the record.",
        traceparent: "W3C trace context; the run becomes a part of the trace.",
      },
      answers,
      refusal: refusedReply,
      handle: (asked) => run(asked, parts),
    }),
  ];
}

async function run(
  asked: RouteRequest<{ tool_id: string }, undefined, RunRequest>,
  parts: RouteContext,
): Promise<Reply> {
  const { params, body, headers, principal, origin } = asked;
  const { gateway } = parts;
  const tool = params.tool_id;
  const own = gateway?.tool(tool);
  if (gateway && !own)
    throw new SallyportError(hiddenToolError(tool, principal, parts) ?? strangeTool(tool, asked, parts));
  const order = { tool, input: body.input, caller: {}, ...(own && versionOf(own, parts)) };
  const answer = await parts.engine.call(callRequestOf(order, asked, parts));
  if (gateway?.domain.policies.logsInput)
    parts.log?.info({ tool, run: answer.callId, input: redact(body.input) }, "A tool was run");
  const about = {
    toolId: tool,
    runId: answer.callId,
    traceId: traceIdOf(headers.traceparent) ?? answer.callId,
  };
  return asGiven(replyOf(answer, about, origin), answer.callId, principal);
}

/** Named only where the registry would choose another one: a repeated request stays the same after a swap. */
function versionOf({ id, version }: ToolManifest, { engine }: RouteContext): { version?: string } {
  const usual = engine.tools.resolve({ tool: id });
  return !isFailure(usual) && usual.manifest.version === version ? {} : { version };
}

/** Names the near ones among those that the asker may know of. */
function strangeTool(
  tool: string,
  { principal }: Pick<RouteRequest, "principal">,
  parts: RouteContext,
): Failure {
  const ids = parts.gateway?.domain.tools.map(({ id }) => id) ?? [];
  return unknownTool(
    tool,
    ids.filter((id) => hiddenToolError(id, principal, parts) === undefined),
  );
}

/** What an answer says besides what came of the run. */
interface About {
  toolId: string;
  runId: string;
  traceId: string;
}

function replyOf(answer: CallAnswer, about: About, origin: string): Reply {
  const durationMs = Math.max(0, answer.completedAt - answer.startedAt);
  const replayed = replayedHeader(answer);
  if (answer.status === "success") {
    const body = { ok: true, ...envelope(about, durationMs), output: answer.result };
    return { status: 200, ...(answer.replayed && { headers: replayed }), body };
  }
  const { callId, approval, status, error } = answer;
  const isPending = status === "pending_approval";
  const location = invocationUrl(origin, callId);
  const links = {
    invocation_url: location,
    ...(approval && {
      approval_id: approval.approvalId,
      approval_url: approvalUrl(origin, approval.approvalId),
    }),
  };
  const reply = failureReply(error, about, { durationMs, more: isPending ? links : {}, isPending });
  const headers = { ...reply.headers, ...replayed, ...(isPending && { location, "retry-after": "5" }) };
  return { ...reply, ...(Object.keys(headers).length > 0 && { headers }) };
}

function envelope({ toolId, runId, traceId }: About, durationMs: number) {
  const meta = { trace_id: traceId, duration_ms: Math.round(durationMs) };
  return { tool_id: toolId, tool_run_id: runId, meta };
}

interface Around {
  durationMs?: number;
  /** For the gateway's words. */
  more?: JsonObject;
  isPending?: boolean;
}

function failureReply(
  error: Failure,
  about: About,
  { durationMs = 0, more = {}, isPending }: Around = {},
): Reply {
  const verdict = isPending ? PENDING : verdictOf(error);
  const { status, code, retryable, details } = verdict;
  const gateway = {
    ...(details === undefined && error.details),
    ...(error.issues && { issues: issuesOf(error) }),
    ...more,
    code: error.code,
    advice: error.advice,
  };
  const body: RunResponse = {
    ok: false,
    ...envelope(about, durationMs),
    error: { code, message: messageOf(error), retryable, details: details ?? {}, gateway },
  };
  const headers =
    status === 429 ? { "retry-after": retryAfter(error) } : status < 400 ? {} : problemHeaders(error);
  return { status, code: error.code, ...(Object.keys(headers).length > 0 && { headers }), body };
}

function messageOf({ code, message }: Failure): string {
  if (code !== "E3010") return message;
  return `${message}. This route names no operation: use POST /v1/tools/invoke.`;
}

function issuesOf({ issues = [] }: Failure): JsonObject[] {
  return issues.map(({ path, reason, suggestion }) => ({ path, reason, ...defined({ suggestion }) }));
}

/** A failure in the words of the envelope. */
interface Verdict {
  status: number;
  code: GatewayErrorCode;
  retryable: boolean;
  /** Of a worker's own report: word for word. */
  details?: JsonObject;
}

const PENDING: Verdict = { status: 202, code: "APPROVAL_PENDING", retryable: true };

function verdictOf(error: Failure): Verdict {
  const { http, ax, failureClass } = entryOf(error);
  const { code, retryable } = error;
  const worker = code === "E3961" ? error.details?.worker : undefined;
  if (isJsonObject(worker)) return workersOwn(worker);
  if (failureClass === "AuthorizationError" && http < 500)
    return http === 429 ? LIMITED : { status: http, code: "POLICY_DENIED", retryable };
  if (http === 429 || code === "E3910") return LIMITED;
  if (code === "E3010") return { status: 400, code: "VALIDATION_ERROR", retryable: false };
  if (ax === "NOT_FOUND" || code === "E3014" || code === "E3920")
    return { status: 404, code: "NOT_FOUND", retryable: false };
  if (failureClass === "TimeoutError") return { status: http, code: "TIMEOUT", retryable: true };
  // What a worker gave back is not what its output schema promises, or too much: as if it had broken the envelope.
  if (code.startsWith("E35") || code === "E3102") return { status: 502, code: "INTERNAL", retryable: false };
  // A job that was ended by a signal.
  if (code === "E3107") return { status: 502, code: "UPSTREAM_ERROR", retryable };
  if (ax === "UPSTREAM_ERROR") return { status: http === 500 ? 502 : http, code: ax, retryable };
  return { status: http, code: ax, retryable };
}

const LIMITED: Verdict = { status: 429, code: "RATE_LIMITED", retryable: true };

function workersOwn({ code, retryable, details }: JsonObject): Verdict {
  return {
    status: 200,
    code: WORKER_ERROR_CODES.find((known) => known === code) ?? "INTERNAL",
    retryable: retryable === true,
    details: isJsonObject(details) ? details : {},
  };
}

const TOOL_IN_PATH = /^\/v1\/tools\/([^/?#]+):run(?:[?#]|$)/;

/** A request that never became a run is refused in the same envelope; its id is the request's. */
function refusedReply(failed: Failure, { url, requestId, traceparent }: Refused): Reply {
  const written = TOOL_IN_PATH.exec(url)?.[1] ?? "";
  const toolId = decoded(written);
  return failureReply(failed, { toolId, runId: requestId, traceId: traceIdOf(traceparent) ?? requestId });
}

function decoded(written: string): string {
  try {
    return decodeURIComponent(written);
  } catch {
    return written;
  }
}

/** The kernel lets only a well-formed one pass. */
function traceIdOf(traceparent: string | undefined): string | undefined {
  return traceparent?.split("-")[1];
}
