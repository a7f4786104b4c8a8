import type { CallOrder } from "./call-order.ts";
import { type Decoded, decode } from "./decode.ts";
import { entryOf, type Failure } from "./errors/catalogue.ts";
import type { McxErrorType } from "./errors/families.ts";
import {
  absentOr,
  anyObject,
  anyText,
  anyValue,
  count,
  described,
  exampled,
  type Infer,
  listOf,
  matching,
  named,
  oneOf,
  optional,
  record,
  text,
  timestamp,
} from "./fields.ts";
import { defined } from "./json.ts";
import { checkpointConfigField, documentContextField } from "./l3-invoke.ts";
import type { CallAnswer, Unsuccessful } from "./outcome.ts";

/** The protocol version that Sallyport writes; it reads every 1.x. */
const MCX_VERSION = "1.0";

const version = matching(/^1(?:\.\d{1,9}){0,2}$/, "a version 1.x");

/** What makes a message unique. The door supplies it, because nothing here reads a clock. */
export interface McxStamp {
  messageId: string;
  /** ISO 8601. */
  timestamp: string;
  source: string;
  destination?: string;
}

const request = record({
  header: record({
    version,
    messageId: described(text, "The sender's own name for the message; sent again it is the same call."),
    timestamp,
    messageType: oneOf(["request"]),
    source: described(text, "The agent that calls."),
    destination: text,
  }),
  payload: record({
    tool: record({
      id: text,
      capability: described(text, "Which of the tool's operations."),
      parameters: anyObject,
    }),
    // `request_id` names the larger request; several messages may share it.
    context: record({ session_id: text, request_id: text, user_id: optional(text) }),
    security: optional(
      record({
        token: optional(anyText),
        permissions: described(
          optional(listOf(text)),
          "The capabilities that the call may use at most. It is refused when it needs another one; left out: no such bound.",
        ),
      }),
    ),
    // These two are L3's, and refused here as there when they ask for anything.
    document_context: optional(documentContextField),
    checkpoint_config: optional(checkpointConfigField),
  }),
  metadata: optional(anyObject),
});

export const mcxRequestField = named(
  "McxRequest",
  exampled(request, {
    header: {
      version: "1.0",
      messageId: "7c0f2c1e-6f0e-4c57-9d3a-0a1b2c3d4e5f",
      timestamp: "2026-01-02T03:04:05Z",
      messageType: "request",
      source: "http",
      destination: "sallyport",
    },
    payload: {
      tool: { id: "TOOL_ID", capability: "OPERATION", parameters: {} },
      context: { session_id: "s-1", request_id: "r-1" },
    },
  }),
);
/** A request to run one capability of one tool (MCX-4). */
export type McxRequest = Infer<typeof mcxRequestField>;

/** The body of every MCX error (MCX-6). */
const errorBodyField = named(
  "McxErrorBody",
  record({
    code: anyText,
    message: anyText,
    details: described(
      anyObject,
      "`parameter`, `reason`, `suggestion`, and `code` of the error catalogue; `pending` where a person has to be asked first.",
    ),
  }),
);
type McxErrorBody = Infer<typeof errorBodyField>;

const executionField = record({
  // A refusal is a failure too; its error says why.
  status: oneOf(["success", "failure", "cancelled", "timeout"]),
  result: absentOr(anyValue),
  error: absentOr(errorBodyField),
  execution_time_ms: count,
  resource_usage: record({ memory_bytes: count, cpu_time_ms: count }),
});
type McxExecution = Infer<typeof executionField>;

const replyHeader = { version, messageId: anyText, timestamp, source: anyText };

export const mcxResponseField = named(
  "McxResponse",
  record({
    header: record({
      ...replyHeader,
      requestId: anyText,
      destination: anyText,
      messageType: oneOf(["response"]),
    }),
    payload: record({
      tool: record({ id: anyText, capability: anyText }),
      execution: executionField,
    }),
  }),
);
/** How an execution ended, also when it failed (MCX-5). */
type McxResponse = Infer<typeof mcxResponseField>;

export const mcxErrorField = named(
  "McxErrorMessage",
  record({
    header: record({
      ...replyHeader,
      messageType: oneOf(["error"]),
      requestId: absentOr(anyText),
      destination: absentOr(anyText),
    }),
    error: errorBodyField,
  }),
);
/** Says that a message could not be taken as a request at all; an execution that failed is a response. */
type McxErrorMessage = Infer<typeof mcxErrorField>;

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

function statusOf(answer: CallAnswer): McxExecution["status"] {
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
