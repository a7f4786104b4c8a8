import type { CallFilter, CallIdentity, CallPhase } from "@sallyport/engine/ports";
import type { CallStatus } from "@sallyport/protocol";
import type { Row } from "./rows.ts";

/** A call as a list shows it: everything but what it was given and gave back, which can be large. */
export interface CallOutline extends CallIdentity {
  startedAt: number;
  phase: CallPhase;
  /** Once it has ended. */
  closing?: OutlinedEnd;
}

/** How a call ended, as a list shows it. */
export interface OutlinedEnd {
  status: CallStatus;
  closedAt: number;
  errorCode?: string;
}

/** What a store can do beside the port: lists that cost nothing for the size of results. */
export interface OutlineReader {
  /** Newest first, as `list`. */
  outlines(filter: CallFilter): Promise<CallOutline[]>;
}

/** The outline in a row that has a column for each of its members. */
export function outlineOf(row: Row): CallOutline {
  const outline: CallOutline = {
    callId: String(row.invocation_id),
    tenant: String(row.tenant_id),
    agent: String(row.agent_did),
    tool: String(row.tool_id),
    version: String(row.tool_version),
    operation: String(row.operation),
    startedAt: Number(row.started_at),
    phase: String(row.phase) as CallPhase,
  };
  if (typeof row.user_id === "string") outline.user = row.user_id;
  if (typeof row.session_id === "string") outline.session = row.session_id;
  if (typeof row.status === "string") outline.closing = closingOf(row, row.status as CallStatus);
  return outline;
}

function closingOf(row: Row, status: CallStatus): OutlinedEnd {
  const closing = { status, closedAt: Number(row.completed_at) };
  return typeof row.error_code === "string" ? { ...closing, errorCode: row.error_code } : closing;
}
