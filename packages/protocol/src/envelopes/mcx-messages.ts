import type { JsonObject, JsonValue } from "../json.ts";
import type { CheckpointConfig, DocumentContext } from "./l3-messages.ts";

/** The protocol version Sallyport writes; it reads every 1.x. */
export const MCX_VERSION = "1.0";

export interface McxRequestHeader {
  version: string;
  messageId: string;
  timestamp: string;
  messageType: "request";
  source: string;
  destination: string;
}

export interface McxTool {
  id: string;
  capability: string;
  parameters: JsonObject;
}

/** `request_id` names the larger request; several messages may share it. */
export interface McxContext {
  session_id: string;
  request_id: string;
  user_id?: string | null;
}

/** What the sender brings and asks for; neither grants anything by itself. */
export interface McxSecurity {
  token?: string | null;
  permissions?: string[] | null;
}

/** A request to run one capability of one tool (MCX-4). */
export interface McxRequest {
  header: McxRequestHeader;
  payload: {
    tool: McxTool;
    context: McxContext;
    security?: McxSecurity | null;
    /** These two are L3's, and refused here as there when they ask for anything. */
    document_context?: DocumentContext | null;
    checkpoint_config?: CheckpointConfig | null;
  };
  metadata?: JsonObject | null;
}

export interface McxReplyHeader {
  version: string;
  messageId: string;
  timestamp: string;
  /** The `messageId` of the request this answers. */
  requestId: string;
  source: string;
  destination: string;
}

export const MCX_STATUSES = ["success", "failure", "cancelled", "timeout"] as const;
/** A refusal is a failure too; its error says why. */
export type McxStatus = (typeof MCX_STATUSES)[number];

/** The body of every MCX error (MCX-6); `details.code` is the catalogue's code, `details.pending` says that a person is asked. */
export interface McxErrorBody {
  code: string;
  message: string;
  details: JsonObject;
}

export interface McxExecution {
  status: McxStatus;
  result?: JsonValue;
  error?: McxErrorBody;
  execution_time_ms: number;
  resource_usage: { memory_bytes: number; cpu_time_ms: number };
}

/** How an execution ended, also when it failed (MCX-5). */
export interface McxResponse {
  header: McxReplyHeader & { messageType: "response" };
  payload: { tool: { id: string; capability: string }; execution: McxExecution };
}

/** Says that a message could not be taken as a request at all; an execution that failed is a response. */
export interface McxErrorMessage {
  header: Omit<McxReplyHeader, "requestId" | "destination"> & {
    messageType: "error";
    requestId?: string;
    destination?: string;
  };
  error: McxErrorBody;
}

/** What makes a message unique; the door supplies it, because nothing here reads a clock. */
export interface McxStamp {
  messageId: string;
  /** ISO 8601. */
  timestamp: string;
  source: string;
  destination?: string;
}
