import { defined } from "../defined.ts";
import { entryOf, type Failure } from "../errors/failure.ts";
import type { Accepted, CallAnswer, ResourceUsage } from "../outcome.ts";
import { inMegabytes } from "../units.ts";
import type { ExecutionMetadata, ToolError, ToolInvokeResponse } from "./l3-messages.ts";

/** What a door knows of a call beside its answer. */
export interface ResponseContext {
  /** Where to ask about a call that is still open. */
  statusUrl?: string | undefined;
  /** The checkpoint to go on from. */
  checkpointRef?: string | undefined;
}

/** The answer in L3's words; the status words are the same, so nothing is lost. */
export function invokeResponse(answer: CallAnswer, context: ResponseContext = {}): ToolInvokeResponse {
  return {
    invocation_id: answer.callId,
    status: answer.status,
    ...(answer.status === "success" ? { result: answer.result } : { error: toolError(answer.error) }),
    execution_metadata: metadataOf(answer),
    ...afterwards(answer.status, context),
  };
}

/** Says that a call is on record and its answer comes later. */
export function acceptedResponse(accepted: Accepted, context: ResponseContext): ToolInvokeResponse {
  return {
    invocation_id: accepted.callId,
    status: accepted.status,
    execution_metadata: metadataOf({ ...accepted, usage: NOTHING_USED, startedAt: accepted.acceptedAt }),
    ...afterwards(accepted.status, context),
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

function afterwards(status: string, { statusUrl, checkpointRef }: ResponseContext) {
  const polled = OPEN.includes(status) ? statusUrl : undefined;
  return defined({
    checkpoint_ref: checkpointRef,
    polling_info: polled === undefined ? undefined : { status_url: polled },
  });
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

function metadataOf({ status, usage, startedAt, completedAt }: Timed): ExecutionMetadata {
  const isOver = completedAt !== undefined && !OPEN.includes(status);
  return {
    duration_ms: Math.round(usage.durationMs),
    started_at: iso(startedAt),
    ...(isOver && { completed_at: iso(completedAt) }),
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
