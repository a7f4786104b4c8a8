import { CALL_STATUSES } from "../call-status.ts";
import { TOOL_ERROR_KINDS } from "../errors/catalogue.ts";
import {
  absentOr,
  anyObject,
  anyText,
  anyValue,
  count,
  described,
  type Field,
  flag,
  listOf,
  named,
  oneOf,
  record,
  timestamp,
} from "./field-reader.ts";
import type {
  CheckpointMetadata,
  DocumentAccess,
  ExecutionMetadata,
  PollingInfo,
  ToolError,
  ToolInvokeResponse,
} from "./l3-messages.ts";

export const toolErrorField: Field<ToolError> = named(
  "ToolError",
  record<ToolError>({
    code: oneOf(TOOL_ERROR_KINDS),
    message: anyText,
    details: described(
      anyObject,
      "`code` is the code of the error catalogue, `advice` what to do, `issues` the wrong places.",
    ),
    retryable: described(flag, "Whether the same request may succeed later."),
  }),
);

export const checkpointMetadataField: Field<CheckpointMetadata> = named(
  "CheckpointMetadata",
  record<CheckpointMetadata>({
    checkpoint_id: anyText,
    checkpoint_type: oneOf(["micro", "macro", "named"]),
    timestamp,
  }),
);

export const executionMetadataField: Field<ExecutionMetadata> = named(
  "ExecutionMetadata",
  record<ExecutionMetadata>({
    duration_ms: count,
    started_at: timestamp,
    completed_at: absentOr(described(timestamp, "Absent while the call is open.")),
    cpu_used_millicore_seconds: count,
    memory_peak_mb: count,
    network_bytes_sent: count,
    network_bytes_received: count,
    documents_accessed: absentOr(
      listOf(
        named(
          "DocumentAccess",
          record<DocumentAccess>({ document_id: anyText, document_version: anyText, access_count: count }),
        ),
      ),
    ),
    checkpoints_created: absentOr(listOf(checkpointMetadataField)),
  }),
);

export const pollingInfoField: Field<PollingInfo> = named(
  "PollingInfo",
  record<PollingInfo>({
    status_url: described(anyText, "Where to ask how the call stands."),
    estimated_completion_seconds: absentOr(count),
  }),
);

/** The answer of tool.invoke (L3 §4.1.1). */
export const toolInvokeResponseField: Field<ToolInvokeResponse> = named(
  "ToolInvokeResponse",
  record<ToolInvokeResponse>({
    invocation_id: anyText,
    status: oneOf(CALL_STATUSES),
    result: absentOr(described(anyValue, "What the tool gave back; only of a success.")),
    error: absentOr(described(toolErrorField, "Why there is no result.")),
    execution_metadata: executionMetadataField,
    checkpoint_ref: absentOr(anyText),
    polling_info: absentOr(described(pollingInfoField, "Only while the call is open.")),
  }),
);
