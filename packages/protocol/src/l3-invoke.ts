import { type CallOrder, PRIORITIES } from "./call-order.ts";
import { entryOf, type Failure } from "./errors/catalogue.ts";
import { TOOL_ERROR_KINDS } from "./errors/families.ts";
import {
  absentOr,
  anyObject,
  anyText,
  anyValue,
  count,
  described,
  exactRecord,
  exampled,
  type Field,
  fieldOf,
  flag,
  type Infer,
  listOf,
  named,
  nameText,
  oneOf,
  optional,
  positiveInteger,
  record,
  reject,
  text,
  timestamp,
  uuid,
  webAddress,
} from "./fields.ts";
import { defined, type JsonSchema } from "./json.ts";
import { CALL_STATUSES } from "./lifecycle.ts";
import type { ResourceLimits } from "./manifest.ts";
import { megabytes, seconds } from "./manifest-fields.ts";
import type { Accepted, CallAnswer, Caller, ResourceUsage } from "./outcome.ts";

interface Unoffered<T> {
  /** Completes the sentence "This server does not offer …". */
  what: string;
  /** Narrows the field's schema to the values that ask for nothing. */
  nothing: JsonSchema;
  asksForNothing(value: T): boolean;
}

/**
 * A part of L3 that this version does not offer. It takes a value that asks for nothing, as many senders write all of
 * their fields. It refuses a value that would change what the call means: ignoring it would do something else than was
 * asked for.
 */
function unoffered<T>(field: Field<T>, { what, nothing, asksForNothing }: Unoffered<T>): Field<T> {
  const reason = `is not available: this server does not offer ${what}`;
  const judged = fieldOf<T>({ ...field.schema, ...nothing }, (value, path, issues): value is T => {
    if (!field(value, path, issues)) return false;
    return asksForNothing(value) || reject(issues, path, reason, "Leave it out.");
  });
  return described(judged, "Not offered: empty, the default, or left out.");
}

const noText: Pick<Unoffered<string>, "nothing" | "asksForNothing"> = {
  nothing: { maxLength: 0 },
  asksForNothing: (value) => value === "",
};

/** Documents for a call; none are offered. Pinning the versions of no documents changes nothing. */
export const documentContextField = named(
  "DocumentContext",
  exactRecord({
    document_refs: optional(
      unoffered(listOf(text), {
        what: "documents",
        nothing: { maxItems: 0 },
        asksForNothing: (refs) => refs.length === 0,
      }),
    ),
    version_pinning: optional(flag),
    query: optional(unoffered(anyText, { what: "documents", ...noText })),
  }),
);

/** Checkpoints of a call; none are offered, so none can be resumed from. Senders ask for them by default. */
export const checkpointConfigField = named(
  "CheckpointConfig",
  exactRecord({
    enable_checkpointing: optional(flag),
    checkpoint_interval_seconds: optional(positiveInteger),
    resume_from_checkpoint_id: optional(unoffered(anyText, { what: "checkpoints", ...noText })),
  }),
);

/** Who the sender says it acts for; the door checks it. */
export const agentContextField = named(
  "AgentContext",
  exactRecord({
    agent_did: described(nameText, "The agent that calls, such as did:agent:7."),
    tenant_id: described(nameText, "The tenant it calls for."),
    user_did: optional(nameText, "The person it acts for."),
    session_id: optional(anyText, "The session it belongs to."),
  }),
);

/** May only tighten what the tool and the agent are allowed. */
const resourceLimitsField = named(
  "ResourceLimits",
  exactRecord({
    cpu_millicore_limit: optional(positiveInteger),
    memory_mb_limit: optional(positiveInteger),
    timeout_seconds: optional(positiveInteger),
    network_bandwidth_mbps: optional(positiveInteger),
  }),
);

/** Left out fields: wait for the result, normal priority, no extra approval. */
const executionOptionsField = named(
  "ExecutionOptions",
  exactRecord({
    async_mode: optional(flag, "Answer at once that the call is accepted; its status tells more."),
    priority: optional(oneOf(PRIORITIES), "Who goes first when calls wait for room."),
    idempotency_key: optional(nameText, "The same request with the same key runs once."),
    require_approval: optional(flag, "Ask a person, even where policy would not."),
    callback_url: optional(webAddress, "Told by a signed POST when the call has ended."),
  }),
);

/**
 * The body of tool.invoke (L3-API-1, L3 §4.1.1). Optional fields may be null, as many senders write them. What L3
 * requires and is optional here is filled in by the door: the newest version, a new id, and the agent whose token it is.
 * The capability token is optional here: authorisation says what a call without one may do.
 */
export const toolInvokeRequestField = named(
  "ToolInvokeRequest",
  exampled(
    exactRecord({
      tool_id: described(nameText, "Which tool."),
      tool_version: optional(nameText, "An exact version or a SemVer range; left out: the newest."),
      operation: optional(nameText, "Which of its operations; left out: its only one."),
      invocation_id: optional(uuid, "A new id for this call; left out: one is made."),
      agent_context: optional(
        agentContextField,
        "Who calls; left out: who the token says, or who the door is set to serve.",
      ),
      parameters: described(anyObject, "The input, as the operation's input schema asks for it."),
      resource_limits: optional(resourceLimitsField, "May only tighten what is allowed anyway."),
      document_context: optional(documentContextField),
      checkpoint_config: optional(checkpointConfigField),
      execution_options: optional(executionOptionsField),
      capability_token: optional(anyText, "A capability token, where it does not come as a bearer token."),
    }),
    { tool_id: "TOOL_ID", parameters: {} },
  ),
);
export type ToolInvokeRequest = Infer<typeof toolInvokeRequestField>;

export const toolErrorField = named(
  "ToolError",
  record({
    code: oneOf(TOOL_ERROR_KINDS),
    message: anyText,
    details: described(
      anyObject,
      "`code` is the code of the error catalogue, `advice` what to do, `issues` the wrong places.",
    ),
    retryable: described(flag, "Whether the same request may succeed later."),
  }),
);

export const checkpointMetadataField = named(
  "CheckpointMetadata",
  record({
    checkpoint_id: anyText,
    checkpoint_type: oneOf(["micro", "macro", "named"]),
    timestamp,
  }),
);

const documentAccessField = named(
  "DocumentAccess",
  record({ document_id: anyText, document_version: anyText, access_count: count }),
);

/** What the execution used, in whole numbers. */
const executionMetadataField = named(
  "ExecutionMetadata",
  record({
    duration_ms: count,
    started_at: timestamp,
    completed_at: absentOr(timestamp, "Absent while the call is open."),
    cpu_used_millicore_seconds: count,
    memory_peak_mb: count,
    network_bytes_sent: count,
    network_bytes_received: count,
    documents_accessed: absentOr(listOf(documentAccessField)),
    checkpoints_created: absentOr(listOf(checkpointMetadataField)),
  }),
);

const pollingInfoField = named(
  "PollingInfo",
  record({
    status_url: described(anyText, "Where to ask how the call stands."),
    estimated_completion_seconds: absentOr(count),
  }),
);

/** The answer to a tool.invoke request (L3 §4.1.1). */
export const toolInvokeResponseField = named(
  "ToolInvokeResponse",
  record({
    invocation_id: anyText,
    status: oneOf(CALL_STATUSES),
    result: absentOr(anyValue, "What the tool gave back; only of a success."),
    error: absentOr(toolErrorField, "Why there is no result."),
    execution_metadata: executionMetadataField,
    checkpoint_ref: absentOr(anyText),
    polling_info: absentOr(pollingInfoField, "Only while the call is open."),
  }),
);
export type ToolInvokeResponse = Infer<typeof toolInvokeResponseField>;

/** The order that a request stands for. Nothing in it is trusted yet: the door checks who the agent really is. */
export function callFromInvoke(request: ToolInvokeRequest): CallOrder {
  const options = request.execution_options;
  return {
    tool: request.tool_id,
    input: request.parameters,
    caller: callerFrom(request.agent_context),
    ...defined({
      version: request.tool_version,
      operation: request.operation,
      callId: request.invocation_id,
      token: request.capability_token || undefined,
      idempotencyKey: options?.idempotency_key,
      priority: options?.priority,
      requireApproval: options?.require_approval,
      asyncMode: options?.async_mode,
      callbackUrl: options?.callback_url,
      limits: request.resource_limits && limitsFrom(request.resource_limits),
    }),
  };
}

function callerFrom(context: ToolInvokeRequest["agent_context"]): Partial<Caller> {
  if (!context) return {};
  return defined({
    tenant: context.tenant_id,
    agent: context.agent_did,
    user: context.user_did,
    session: context.session_id || undefined,
  });
}

function limitsFrom(limits: Infer<typeof resourceLimitsField>): Partial<ResourceLimits> {
  return defined({
    timeoutMs: seconds(limits.timeout_seconds),
    memoryBytes: megabytes(limits.memory_mb_limit),
    cpuMillicores: limits.cpu_millicore_limit,
    networkMbps: limits.network_bandwidth_mbps,
  });
}

/** What a door knows of a call beside its answer. */
export interface ResponseContext {
  /** Where to ask about a call that is still open. */
  statusUrl?: string | undefined;
}

/** The answer in L3's words; the status words are the same, so nothing is lost. */
export function invokeResponse(answer: CallAnswer, context: ResponseContext = {}): ToolInvokeResponse {
  return {
    invocation_id: answer.callId,
    status: answer.status,
    ...(answer.status === "success" ? { result: answer.result } : { error: toolError(answer.error) }),
    execution_metadata: metadataOf(answer),
    ...pollingInfo(answer.status, context),
  };
}

/** Says that a call is on record and its answer comes later. */
export function acceptedResponse(accepted: Accepted, context: ResponseContext): ToolInvokeResponse {
  return {
    invocation_id: accepted.callId,
    status: accepted.status,
    execution_metadata: metadataOf({ ...accepted, usage: NOTHING_USED, startedAt: accepted.acceptedAt }),
    ...pollingInfo(accepted.status, context),
  };
}

/** A failure as L3 reports it, also for one that happens before there is a call to answer. */
export function toolError(failed: Failure): Infer<typeof toolErrorField> {
  return {
    code: entryOf(failed).kind,
    message: failed.message,
    details: {
      ...failed.details,
      code: failed.code,
      advice: failed.advice,
      ...defined({ issues: failed.issues?.map((issue) => ({ ...issue })) }),
    },
    retryable: failed.retryable,
  };
}

const OPEN = ["pending", "running", "pending_approval"];

function pollingInfo(status: string, { statusUrl }: ResponseContext) {
  return OPEN.includes(status) && statusUrl !== undefined ? { polling_info: { status_url: statusUrl } } : {};
}

const NOTHING_USED: ResourceUsage = {
  durationMs: 0,
  cpuMs: 0,
  memoryPeakBytes: 0,
  networkBytesSent: 0,
  networkBytesReceived: 0,
};

interface Timed {
  status: string;
  usage: ResourceUsage;
  startedAt: number;
  completedAt?: number;
}

function metadataOf(call: Timed): Infer<typeof executionMetadataField> {
  const { status, usage, startedAt, completedAt } = call;
  const isOver = completedAt !== undefined && !OPEN.includes(status);
  return {
    duration_ms: Math.round(usage.durationMs),
    started_at: new Date(startedAt).toISOString(),
    ...(isOver && { completed_at: new Date(completedAt).toISOString() }),
    // One processor is 1000 millicores, so a millisecond of it is one millicore-second.
    cpu_used_millicore_seconds: Math.round(usage.cpuMs),
    // Rounded up, so that a little is never reported as nothing.
    memory_peak_mb: Math.ceil(usage.memoryPeakBytes / (1024 * 1024)),
    network_bytes_sent: usage.networkBytesSent,
    network_bytes_received: usage.networkBytesReceived,
  };
}
