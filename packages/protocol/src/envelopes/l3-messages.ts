import type { Priority } from "../call-order.ts";
import type { CallStatus } from "../call-status.ts";
import type { ToolErrorKind } from "../errors/catalogue.ts";
import type { JsonObject, JsonValue } from "../json.ts";

/** Who the sender says it acts for; the door checks it. */
export interface AgentContext {
  agent_did: string;
  tenant_id: string;
  user_did?: string | null;
  session_id?: string | null;
}

/** May only tighten what the tool and the agent are allowed. */
export interface InvokeResourceLimits {
  cpu_millicore_limit?: number | null;
  memory_mb_limit?: number | null;
  timeout_seconds?: number | null;
  network_bandwidth_mbps?: number | null;
}

/** Not offered by this version: only what asks for no document is taken. */
export interface DocumentContext {
  document_refs?: string[] | null;
  version_pinning?: boolean | null;
  query?: string | null;
}

/** Not offered by this version: only what asks for no checkpoint is taken. */
export interface CheckpointConfig {
  enable_checkpointing?: boolean | null;
  checkpoint_interval_seconds?: number | null;
  resume_from_checkpoint_id?: string | null;
}

/** Left out fields: wait for the result, normal priority, no extra approval. */
export interface ExecutionOptions {
  async_mode?: boolean | null;
  priority?: Priority | null;
  idempotency_key?: string | null;
  require_approval?: boolean | null;
  /** Told by an HTTP request when the call has ended. */
  callback_url?: string | null;
}

/**
 * A tool.invoke request (L3-API-1). Optional fields may be null, as many senders write them. What L3 asks for and is
 * optional here is filled in by the door: the newest version, a new id, and the agent whose token it is.
 */
export interface ToolInvokeRequest {
  tool_id: string;
  /** An exact version or a SemVer range. */
  tool_version?: string | null;
  /** Which of the tool's operations; left out: its only one. */
  operation?: string | null;
  invocation_id?: string | null;
  agent_context?: AgentContext | null;
  parameters: JsonObject;
  resource_limits?: InvokeResourceLimits | null;
  document_context?: DocumentContext | null;
  checkpoint_config?: CheckpointConfig | null;
  execution_options?: ExecutionOptions | null;
  /** Not asked for here: authorisation says what a call without one may do. */
  capability_token?: string | null;
}

/** An L3 error; `details.code` is the catalogue's code, `details.advice` what to do. */
export interface ToolError {
  code: ToolErrorKind;
  message: string;
  details: JsonObject;
  retryable: boolean;
}

export interface DocumentAccess {
  document_id: string;
  document_version: string;
  access_count: number;
}

export interface CheckpointMetadata {
  checkpoint_id: string;
  checkpoint_type: "micro" | "macro" | "named";
  /** ISO 8601, like every time here. */
  timestamp: string;
}

/** What the execution took, in whole numbers. */
export interface ExecutionMetadata {
  duration_ms: number;
  started_at: string;
  /** Absent while the call is still open. */
  completed_at?: string;
  cpu_used_millicore_seconds: number;
  memory_peak_mb: number;
  network_bytes_sent: number;
  network_bytes_received: number;
  documents_accessed?: DocumentAccess[];
  checkpoints_created?: CheckpointMetadata[];
}

/** Where an asynchronous call can be asked about. */
export interface PollingInfo {
  status_url: string;
  estimated_completion_seconds?: number;
}

/** The answer to a tool.invoke request (L3-API-1). */
export interface ToolInvokeResponse {
  invocation_id: string;
  status: CallStatus;
  result?: JsonValue;
  error?: ToolError;
  execution_metadata: ExecutionMetadata;
  checkpoint_ref?: string;
  polling_info?: PollingInfo;
}
