import {
  CATALOGUE,
  type Field,
  type Issue,
  isErrorCode,
  type JsonObject,
  type Problem,
  problemField,
  type RunResponse,
  type ToolInvokeResponse,
} from "@sallyport/protocol";
import { type ClientError, type Result, unusable } from "./client-error.ts";
import type { HttpAnswer } from "./exchange.ts";

const MAX_MESSAGE = 2_000;

type Method = "GET" | "POST";

/** How an answer is read. */
export interface Reading<T> {
  method: Method;
  field: Field<T>;
  /** The error that a well-formed answer reports. */
  errorIn?(value: T, answer: HttpAnswer): ClientError | undefined;
}

/** The answer as this field reads it; else the server's problem, else what is wrong with the answer. */
export function read<T>(answer: HttpAnswer, { method, field, errorIn }: Reading<T>): Result<T> {
  const issues: Issue[] = [];
  const { body, status } = answer;
  if (field(body, "", issues)) {
    // A status that does not fit the body: whether anything was done is not known.
    const contradicted = status >= 400 ? notUnderstood(answer, method, []) : undefined;
    const error = errorIn?.(body, answer) ?? contradicted;
    return error ? { ok: false, error } : { ok: true, value: body };
  }
  if (problemField(body, "", [])) return { ok: false, error: fromProblem(body, answer) };
  return { ok: false, error: notUnderstood(answer, method, issues) };
}

function fromProblem({ code, detail, advice, retryable, details, issues }: Problem, answer: HttpAnswer) {
  return {
    code,
    message: bounded(detail),
    advice: bounded(advice),
    retryable,
    ...(issues && { issues }),
    ...(details && { details }),
    ...placeOf(answer),
  };
}

/** 429 and 503 are said before anything ran. */
function notUnderstood(answer: HttpAnswer, method: Method, issues: Issue[]): ClientError {
  const { status, contentType, body } = answer;
  const what = body === undefined ? `no JSON (${contentType})` : "JSON that does not fit";
  const message = `The server answered ${status} with ${what}.`;
  const wasRefused = status === 429 || status === 503;
  const isDown = wasRefused || status >= 500;
  const error = unusable({ method: wasRefused ? "GET" : method }, isDown ? "E3304" : "E3308", {
    message,
    advice: isDown ? "Try again later." : "Check that the address is that of a Sallyport server.",
    ...(issues.length > 0 && body !== undefined && { issues: issues.slice(0, 20) }),
  });
  return { ...error, ...placeOf(answer) };
}

/** The error in the answer of a run; undefined when the run succeeded. */
export function runError(run: RunResponse, answer: HttpAnswer): ClientError | undefined {
  const { ok, output, error, tool_run_id } = run;
  if (error) return { ...fromRun(error), callId: tool_run_id, ...placeOf(answer) };
  return ok && output !== undefined ? undefined : contradiction(answer);
}

const GOES_ON: readonly string[] = ["success", "pending", "running", "pending_approval"];

/** The error in the answer of tool.invoke; its code is that of the catalogue, where one is named. */
export function invokeError(call: ToolInvokeResponse, answer: HttpAnswer): ClientError | undefined {
  const { error, status, invocation_id } = call;
  if (!error) return GOES_ON.includes(status) ? undefined : contradiction(answer);
  const code = typeof error.details.code === "string" ? error.details.code : error.code;
  return { ...fromEnvelope(error), code, callId: invocation_id, ...placeOf(answer) };
}

/** An answer whose parts do not fit each other is no answer. */
function contradiction({ status }: HttpAnswer): ClientError {
  const message = `The server answered ${status} with neither a result nor an error.`;
  return unusable({ method: "POST" }, "E3308", { message, status });
}

interface EnvelopeError {
  code: string;
  message: string;
  retryable: boolean;
  details: JsonObject;
}

/** The worker's own details stand in `details.worker`, so that none of them passes for the gateway's. */
function fromRun({ gateway, details: worker, ...error }: NonNullable<RunResponse["error"]>) {
  const hasOwn = Object.keys(worker).length > 0;
  return fromEnvelope({ ...error, details: { ...gateway, ...(hasOwn && { worker }) } });
}

function fromEnvelope({ code, message, retryable, details }: EnvelopeError) {
  return { code, message: bounded(message), retryable, advice: adviceIn(details, retryable), details };
}

function adviceIn({ advice, code }: JsonObject, retryable: boolean): string {
  if (typeof advice === "string") return bounded(advice);
  if (isErrorCode(code)) return CATALOGUE[code].advice;
  return retryable ? "Try again later." : "Read the message: it is that of the tool.";
}

function placeOf({ status, retryAfterMs }: HttpAnswer): Pick<ClientError, "status" | "retryAfterMs"> {
  return { status, ...(retryAfterMs !== undefined && { retryAfterMs }) };
}

function bounded(text: string): string {
  return text.length > MAX_MESSAGE ? `${text.slice(0, MAX_MESSAGE)}…` : text;
}
