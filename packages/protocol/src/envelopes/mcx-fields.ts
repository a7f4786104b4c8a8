import {
  absentOr,
  anyObject,
  anyText,
  anyValue,
  count,
  described,
  exampled,
  type Field,
  listOf,
  matching,
  named,
  oneOf,
  optional,
  record,
  text,
  timestamp,
} from "./field-reader.ts";
import {
  MCX_STATUSES,
  type McxContext,
  type McxErrorBody,
  type McxErrorMessage,
  type McxExecution,
  type McxRequest,
  type McxRequestHeader,
  type McxResponse,
  type McxSecurity,
  type McxTool,
} from "./mcx-messages.ts";
import { checkpointConfigField, documentContextField } from "./unoffered-fields.ts";

const version = matching(/^1(?:\.\d{1,9}){0,2}$/, "a version 1.x");

const request: Field<McxRequest> = record<McxRequest>({
  header: record<McxRequestHeader>({
    version,
    messageId: described(text, "The sender's own name for the message; sent again it is the same call."),
    timestamp,
    messageType: oneOf(["request"]),
    source: described(text, "The agent that calls."),
    destination: text,
  }),
  payload: record<McxRequest["payload"]>({
    tool: record<McxTool>({
      id: text,
      capability: described(text, "Which of the tool's operations."),
      parameters: anyObject,
    }),
    context: record<McxContext>({ session_id: text, request_id: text, user_id: optional(text) }),
    security: optional(
      record<McxSecurity>({ token: optional(anyText), permissions: optional(listOf(text)) }),
    ),
    document_context: optional(documentContextField),
    checkpoint_config: optional(checkpointConfigField),
  }),
  metadata: optional(anyObject),
});

/** A request to run one capability of one tool (MCX-4). */
export const mcxRequestField: Field<McxRequest> = named(
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

const errorBody: Field<McxErrorBody> = named(
  "McxErrorBody",
  record<McxErrorBody>({
    code: anyText,
    message: anyText,
    details: described(
      anyObject,
      "`parameter`, `reason`, `suggestion`, and `code` of the error catalogue; `pending` where a person has to be asked first.",
    ),
  }),
);

const replyHeader = { version, messageId: anyText, timestamp, source: anyText };

/** How an execution ended (MCX-5). */
export const mcxResponseField: Field<McxResponse> = named(
  "McxResponse",
  record<McxResponse>({
    header: record<McxResponse["header"]>({
      ...replyHeader,
      requestId: anyText,
      destination: anyText,
      messageType: oneOf(["response"]),
    }),
    payload: record<McxResponse["payload"]>({
      tool: record<McxResponse["payload"]["tool"]>({ id: anyText, capability: anyText }),
      execution: record<McxExecution>({
        status: oneOf(MCX_STATUSES),
        result: absentOr(anyValue),
        error: absentOr(errorBody),
        execution_time_ms: count,
        resource_usage: record<McxExecution["resource_usage"]>({ memory_bytes: count, cpu_time_ms: count }),
      }),
    }),
  }),
);

/** Says that a message could not be taken as a request (MCX-6). */
export const mcxErrorField: Field<McxErrorMessage> = named(
  "McxErrorMessage",
  record<McxErrorMessage>({
    header: record<McxErrorMessage["header"]>({
      ...replyHeader,
      messageType: oneOf(["error"]),
      requestId: absentOr(anyText),
      destination: absentOr(anyText),
    }),
    error: errorBody,
  }),
);
