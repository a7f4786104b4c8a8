import { type CallOrder, type CheckpointOrder, type DocumentOrder, PRIORITIES } from "../call-order.ts";
import { defined } from "../defined.ts";
import { entryOf, type Failure } from "../errors/failure.ts";
import type { ResourceLimits } from "../manifest.ts";
import type { CallAnswer, Caller } from "../outcome.ts";
import { inMegabytes, megabytes, seconds } from "../units.ts";
import {
  anyObject,
  anyText,
  type Decoded,
  decode,
  exactRecord,
  flag,
  listOf,
  matching,
  oneOf,
  optional,
  positiveInteger,
  text,
} from "./field-reader.ts";
import type {
  AgentContext,
  CheckpointConfig,
  DocumentContext,
  ExecutionMetadata,
  ExecutionOptions,
  InvokeResourceLimits,
  ToolError,
  ToolInvokeRequest,
  ToolInvokeResponse,
} from "./l3-messages.ts";

export * from "./l3-messages.ts";

const UUID = matching(/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i, "a UUID");

const REQUEST = exactRecord<ToolInvokeRequest>({
  tool_id: text,
  tool_version: text,
  invocation_id: UUID,
  agent_context: exactRecord<AgentContext>({
    agent_did: text,
    tenant_id: text,
    user_did: optional(text),
    session_id: optional(anyText),
  }),
  parameters: anyObject,
  resource_limits: optional(
    exactRecord<InvokeResourceLimits>({
      cpu_millicore_limit: optional(positiveInteger),
      memory_mb_limit: optional(positiveInteger),
      timeout_seconds: optional(positiveInteger),
      network_bandwidth_mbps: optional(positiveInteger),
    }),
  ),
  document_context: optional(
    exactRecord<DocumentContext>({
      document_refs: optional(listOf(text)),
      version_pinning: optional(flag),
      query: optional(anyText),
    }),
  ),
  checkpoint_config: optional(
    exactRecord<CheckpointConfig>({
      enable_checkpointing: optional(flag),
      checkpoint_interval_seconds: optional(positiveInteger),
      resume_from_checkpoint_id: optional(text),
    }),
  ),
  execution_options: optional(
    exactRecord<ExecutionOptions>({
      async_mode: optional(flag),
      priority: optional(oneOf(PRIORITIES)),
      idempotency_key: optional(text),
      require_approval: optional(flag),
    }),
  ),
  capability_token: optional(anyText),
});

/** Reads a request; what is wrong with it comes back as an E3903 that names every wrong field. */
export function decodeInvokeRequest(value: unknown): Decoded<ToolInvokeRequest> {
  return decode(value, REQUEST);
}

/** The order a request stands for. Nothing in it is trusted yet: the door checks who the agent really is. */
export function callFromInvoke(request: ToolInvokeRequest): CallOrder {
  const { resource_limits, document_context, checkpoint_config } = request;
  const options = request.execution_options;
  return {
    tool: request.tool_id,
    version: request.tool_version,
    input: request.parameters,
    caller: callerFrom(request.agent_context),
    callId: request.invocation_id,
    ...defined({
      token: request.capability_token,
      idempotencyKey: options?.idempotency_key,
      priority: options?.priority,
      requireApproval: options?.require_approval,
      asyncMode: options?.async_mode,
      limits: resource_limits && limitsFrom(resource_limits),
      documents: document_context && documentsFrom(document_context),
      checkpoints: checkpoint_config && checkpointsFrom(checkpoint_config),
      resumeFrom: checkpoint_config?.resume_from_checkpoint_id,
    }),
  };
}

function callerFrom(context: AgentContext): Caller {
  return {
    tenant: context.tenant_id,
    agent: context.agent_did,
    ...defined({ user: context.user_did, session: context.session_id || undefined }),
  };
}

function limitsFrom(limits: InvokeResourceLimits): Partial<ResourceLimits> {
  return defined({
    timeoutMs: seconds(limits.timeout_seconds),
    memoryBytes: megabytes(limits.memory_mb_limit),
    cpuMillicores: limits.cpu_millicore_limit,
    networkMbps: limits.network_bandwidth_mbps,
  });
}

function documentsFrom(context: DocumentContext): DocumentOrder {
  return {
    refs: context.document_refs ?? [],
    pinVersions: context.version_pinning ?? false,
    ...defined({ query: context.query }),
  };
}

function checkpointsFrom(config: CheckpointConfig): CheckpointOrder {
  return {
    enabled: config.enable_checkpointing ?? true,
    intervalMs: seconds(config.checkpoint_interval_seconds) ?? 30_000,
  };
}

/** The answer in L3's words; the status words are the same, so nothing is lost. */
export function invokeResponse(answer: CallAnswer): ToolInvokeResponse {
  return {
    invocation_id: answer.callId,
    status: answer.status,
    ...(answer.status === "success" ? { result: answer.result } : { error: toolError(answer.error) }),
    execution_metadata: metadataOf(answer),
  };
}

/** A failure as L3 reports it, also for one that happens before there is a call to answer. */
export function toolError(failed: Failure): ToolError {
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

function metadataOf(answer: CallAnswer): ExecutionMetadata {
  const { usage } = answer;
  return {
    duration_ms: Math.round(usage.durationMs),
    started_at: iso(answer.startedAt),
    ...(!OPEN.includes(answer.status) && { completed_at: iso(answer.completedAt) }),
    // One processor is 1000 millicores, so a millisecond of it is one millicore-second.
    cpu_used_millicore_seconds: Math.round(usage.cpuMs),
    memory_peak_mb: inMegabytes(usage.memoryPeakBytes),
    network_bytes_sent: usage.networkBytesSent,
    network_bytes_received: usage.networkBytesReceived,
  };
}

function iso(at: number): string {
  return new Date(at).toISOString();
}
