import type { CallStatus } from "../call-status.ts";
import type { FileChange } from "../effects.ts";
import type { AgentContext, CheckpointMetadata, ToolError } from "../envelopes/l3-messages.ts";
import type { LifecycleState } from "../lifecycle.ts";
import type { IsolationLevel } from "../outcome.ts";

/** What every message about a call says of it. */
interface InvocationFacts {
  invocation_id: string;
  status: CallStatus;
  tool_id: string;
  tenant_id: string;
  agent_did: string;
  user_did?: string;
  session_id?: string;
  completed_at?: string;
}

export interface InvocationLinks {
  self: string;
  result: string;
  events: string;
  cancel: string;
  approval?: string;
}

/** Where the call's last event stands in its tenant's audit chain. */
export interface InvocationReceipt {
  tenant_id: string;
  sequence: number;
  hash: string;
  input_hash: string;
  output_hash?: string;
  effects_hash?: string;
}

export interface ChangedFile {
  path: string;
  change: FileChange;
  from?: string;
  diff?: string;
  note?: string;
}

/** What a call changed in its workspace. */
export interface InvocationEffects {
  files: ChangedFile[];
  omitted: number;
  digest: string;
}

/** How a call stands: tool.status (L3 §4.1.3), and what is on record beside it. */
export interface ToolStatusResponse extends InvocationFacts {
  /** This and the next two are absent only while nothing of the call has to be on record yet. */
  tool_version?: string;
  operation?: string;
  started_at?: string;
  progress_percent?: number;
  current_phase?: string;
  error?: ToolError;
  latest_checkpoint?: CheckpointMetadata;
  /** The state of the execution now, or where it waits. */
  state?: LifecycleState | "QUEUED" | "WAITING";
  /** Of a call that has ended: every state it passed through. */
  lifecycle?: { state: LifecycleState; at: string }[];
  approval_id?: string;
  isolation?: { level: IsolationLevel; runner: string };
  warnings?: { code: string; message: string }[];
  effects?: InvocationEffects;
  rollback?: { verified: boolean; snapshot_hash: string; discarded_mutations: number };
  receipt?: InvocationReceipt;
  links: InvocationLinks;
}

/** One call in a list. */
export interface InvocationRecord extends InvocationFacts {
  tool_version: string;
  operation: string;
  started_at: string;
  /** Of a call that failed: the code of the error catalogue. */
  error_code?: string;
  status_url: string;
}

/** A page of calls, newest first. */
export interface InvocationListResponse {
  invocations: InvocationRecord[];
  next_cursor?: string;
}

export const INVOCATION_FILTERS = [
  "pending",
  "running",
  "success",
  "error",
  "timeout",
  "cancelled",
  "permission_denied",
  "pending_approval",
  "unknown",
] as const;

/** As it stands in the address. */
export interface InvocationListQuery {
  tenant?: string;
  agent?: string;
  tool?: string;
  /** `unknown`: the process ended while the call ran, and a person has to find out what happened. */
  status?: (typeof INVOCATION_FILTERS)[number];
  cursor?: string;
  limit?: string;
}

/** The path and the token say the first two already; said again, they have to say the same (L3 §4.1.4). */
export interface ToolCancelRequest {
  invocation_id?: string | null;
  agent_context?: AgentContext | null;
  reason?: string | null;
}

/** What came of a cancellation (L3 §4.1.4). */
export interface ToolCancelResponse {
  invocation_id: string;
  /** True when the call has been, or is being, ended by a cancellation. */
  cancelled: boolean;
  message: string;
  status: CallStatus;
}
