import { isUtf8 } from "node:buffer";
import { cleanText, unfitResult } from "@sallyport/engine/host";
import type { Job, RunFault, RunResult } from "@sallyport/engine/ports";
import {
  decode,
  type Failure,
  failure,
  type Issue,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  namesTwice,
  parseJson,
  type WorkerError,
  type WorkerRequest,
  workerAnswerField,
  workerFailureField,
} from "@sallyport/protocol";
import type { JobImplementation, ServiceImplementation } from "./worker-implementation.ts";

// The envelope from the gateway's side: what is sent for a call, and what the answer means. Every answer that is not
// exactly the envelope is E3962, never a result.

/** `egress_allowlist` is ours: a worker that does not know it ignores it. */
export type SentRequest = {
  meta: WorkerRequest["meta"] & { egress_allowlist: string[] };
  input: JsonObject;
};

const TRACE_PARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}$/;

/** The request for a job; undefined when its input is no object, which the envelope cannot carry. */
export function workerRequest(
  { facts, input, tool }: Job,
  { domainId, egressAllowlist }: ServiceImplementation | JobImplementation,
): SentRequest | undefined {
  if (!isJsonObject(input)) return undefined;
  const { callId, trace, deadlineAt } = facts;
  const [, traceId = callId] = TRACE_PARENT.exec(trace?.traceparent ?? "") ?? [];
  const ids = { trace_id: traceId, tool_run_id: callId, domain_id: domainId, tool_id: tool };
  const meta = { ...ids, deadline_ms: Math.floor(deadlineAt), egress_allowlist: [...egressAllowlist] };
  return { meta, input };
}

/** The trace as headers; one that is malformed is left out, because a header cannot carry everything. */
export function traceHeaders({ trace }: Job["facts"]): Record<string, string> {
  if (!trace || !TRACE_PARENT.test(trace.traceparent)) return {};
  const { traceparent, tracestate = "" } = trace;
  return /^[ -~]{1,512}$/.test(tracestate) ? { traceparent, tracestate } : { traceparent };
}

/** What an answer comes to. */
export type Outcome = { ok: true; output: JsonValue } | { ok: false; fault: RunFault };

export const NO_OBJECT: Outcome = {
  ok: false,
  fault: { kind: "threw", message: "the input of a worker must be an object", invalidInput: true },
};

/** The outcome of a job whose implementation is another runner's. */
export function noWorker({ tool }: Job): Outcome {
  return { ok: false, fault: { kind: "died", message: `${tool} is not a worker of this kind` } };
}

/** Retryable whatever the tool is: so AX has it. The engine itself repeats idempotent tools only. */
export function late({ tool, timeoutMs }: Job): Outcome {
  const message = `The worker of ${tool} did not answer within ${timeoutMs} ms.`;
  return failedWith(failure("E3103", { message, retryable: true, details: { timeoutMs } }));
}

/** The result of a run of whose use of this host nothing is known. */
export function withoutUsage(outcome: Outcome): RunResult {
  return { ...outcome, usage: { cpuMs: 0, memoryPeakBytes: 0 } };
}

/** For which request an answer is read. */
export interface Asked {
  tool: string;
  meta: WorkerRequest["meta"];
}

/** Reads the bytes of an answer. */
export function readAnswer(body: Buffer, asked: Asked): Outcome {
  if (!isUtf8(body)) return broken(asked, "it is no UTF-8");
  const text = body.toString("utf8");
  const value = parseJson(text);
  if (value === undefined) return broken(asked, "it is no JSON");
  if (namesTwice(text, value)) return broken(asked, "it names a member twice");
  return judgeAnswer(value, asked);
}

/** Judges an answer that is JSON. */
export function judgeAnswer(value: JsonValue, asked: Asked): Outcome {
  const isFailed = isJsonObject(value) && value.ok === false;
  const read = decode(value, isFailed ? workerFailureField : workerAnswerField);
  if (!read.ok) return broken(asked, "fields are wrong or missing", read.failure.issues);
  const answer = read.request;
  const issues = (["trace_id", "tool_run_id"] as const)
    .filter((name) => answer.meta[name] !== asked.meta[name])
    .map((name) => ({ path: `/meta/${name}`, reason: "must be the one of the request" }));
  if (issues.length > 0) return broken(asked, "it is about another run", issues);
  return answer.ok ? { ok: true, output: answer.output } : failedWith(reported(answer.error));
}

export function broken({ tool }: Pick<Asked, "tool">, why: string, issues?: Issue[]): Outcome {
  const message = `The answer of ${tool}'s worker breaks the envelope: ${why}.`;
  return failedWith(failure("E3962", { message, ...(issues && { issues }) }));
}

/** Whether the worker kept to the envelope, whatever it says in it. */
export function isSound(outcome: Outcome): boolean {
  return outcome.ok || outcome.fault.kind !== "failed" || outcome.fault.failure.code !== "E3962";
}

export function failedWith(failed: Failure): Outcome {
  return { ok: false, fault: { kind: "failed", failure: failed } };
}

/** Kept with the call, so that a worker's details are bounded. */
const MOST_DETAILS = 32 * 1024;
const DEEPEST_DETAILS = 32;

/** The worker's own word stands in `details.worker`, as it said it. */
function reported({ code, message, retryable, details }: WorkerError): Failure {
  const worker = { code, retryable, ...(details && { details: boundedDetails(details) }) };
  const said = cleanText(message).trim();
  return failure("E3961", { retryable, details: { worker }, ...(said !== "" && { message: said }) });
}

/** What no result could be is left out: whoever reads the record need not expect it. */
function boundedDetails(details: JsonObject): JsonObject {
  const unfit = unfitResult(details, DEEPEST_DETAILS);
  if (unfit) return { left_out: unfit.message };
  const bytes = Buffer.byteLength(JSON.stringify(details));
  return bytes > MOST_DETAILS ? { left_out_bytes: bytes } : details;
}

/** The bytes of an output as JSON; 0 for one that is nested too deep to be written, which the engine refuses. */
export function outputBytes(output: JsonValue): number {
  try {
    return Buffer.byteLength(JSON.stringify(output));
  } catch (error) {
    if (error instanceof RangeError) return 0;
    throw error;
  }
}
