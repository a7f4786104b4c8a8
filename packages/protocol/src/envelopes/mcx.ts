import type { CallOrder } from "../call-order.ts";
import { defined } from "../defined.ts";
import type { McxErrorType } from "../errors/catalogue.ts";
import { entryOf, type Failure } from "../errors/failure.ts";
import type { CallAnswer, Unsuccessful } from "../outcome.ts";
import { type Decoded, decode } from "./field-reader.ts";
import { mcxRequestField } from "./mcx-fields.ts";
import {
  MCX_VERSION,
  type McxErrorBody,
  type McxErrorMessage,
  type McxExecution,
  type McxRequest,
  type McxResponse,
  type McxStamp,
  type McxStatus,
} from "./mcx-messages.ts";

export * from "./mcx-fields.ts";
export * from "./mcx-messages.ts";

/** Reads a request; what is wrong with it comes back as an E3903 that names every wrong field (MCX-4). */
export function decodeMcxRequest(value: unknown): Decoded<McxRequest> {
  return decode(value, mcxRequestField);
}

/** The order a request stands for. The tenant is not in the message: the door knows it. */
export function callFromMcx(request: McxRequest): CallOrder {
  const { tool, context, security } = request.payload;
  return {
    tool: tool.id,
    operation: tool.capability,
    input: tool.parameters,
    caller: {
      agent: request.header.source,
      session: context.session_id,
      ...defined({ user: context.user_id }),
    },
    callId: request.header.messageId,
    correlationId: context.request_id,
    ...defined({ token: security?.token || undefined, permissions: security?.permissions }),
  };
}

/**
 * The response to `to`. A failed execution is a response too, with its error inside (MCX-5). MCX has no word for one that
 * waits for a person: it is a failure whose details say `pending`.
 */
export function mcxResponse(answer: CallAnswer, to: McxRequest, stamp: McxStamp): McxResponse {
  const { id, capability } = to.payload.tool;
  return {
    header: {
      version: MCX_VERSION,
      destination: to.header.source,
      ...stamp,
      messageType: "response",
      requestId: to.header.messageId,
    },
    payload: { tool: { id, capability }, execution: executionOf(answer) },
  };
}

function executionOf(answer: CallAnswer): McxExecution {
  return {
    status: statusOf(answer),
    ...(answer.status === "success" ? { result: answer.result } : { error: executionError(answer) }),
    execution_time_ms: Math.round(answer.usage.durationMs),
    resource_usage: {
      memory_bytes: Math.ceil(answer.usage.memoryPeakBytes),
      cpu_time_ms: Math.round(answer.usage.cpuMs),
    },
  };
}

function executionError({ status, error }: Unsuccessful): McxErrorBody {
  const body = errorBody(error);
  return status === "pending_approval" ? { ...body, details: { ...body.details, pending: true } } : body;
}

function statusOf(answer: CallAnswer): McxStatus {
  const { status } = answer;
  return status === "success" || status === "timeout" || status === "cancelled" ? status : "failure";
}

/** An error message, for what never became an execution. Give `requestId` when the request's id could be read. */
export function mcxError(failed: Failure, stamp: McxStamp, requestId?: string): McxErrorMessage {
  return {
    header: { version: MCX_VERSION, ...stamp, messageType: "error", ...defined({ requestId }) },
    error: errorBody(failed),
  };
}

const ERROR_CODES: Record<McxErrorType, string> = {
  ValidationError: "VALIDATION_ERROR",
  SecurityError: "SECURITY_ERROR",
  ExecutionError: "EXECUTION_ERROR",
  ResourceError: "RESOURCE_ERROR",
  TimeoutError: "TIMEOUT_ERROR",
  NotFoundError: "NOT_FOUND_ERROR",
  SystemError: "SYSTEM_ERROR",
};

function errorBody(failed: Failure): McxErrorBody {
  const type = entryOf(failed).mcx;
  const first = failed.issues?.[0];
  return {
    code: ERROR_CODES[type],
    message: failed.message,
    details: {
      ...failed.details,
      ...defined({ parameter: first?.path.replace(/^\//, "") }),
      reason: first?.reason ?? failed.message,
      suggestion: first?.suggestion ?? failed.advice,
      code: failed.code,
      type,
      retryable: failed.retryable,
      ...defined({ issues: failed.issues?.map((issue) => ({ ...issue })) }),
    },
  };
}
