import { CALL_STATUSES } from "../call-status.ts";
import { FILE_CHANGES } from "../effects.ts";
import {
  absentOr,
  anyText,
  count,
  described,
  exactRecord,
  type Field,
  flag,
  listOf,
  named,
  nameText,
  oneOf,
  optional,
  record,
  text,
  timestamp,
  wholeNumber,
} from "../envelopes/field-reader.ts";
import { agentContextField } from "../envelopes/l3-request-fields.ts";
import { checkpointMetadataField, toolErrorField } from "../envelopes/l3-response-fields.ts";
import { LIFECYCLE_STATES } from "../lifecycle.ts";
import { ISOLATION_LEVELS } from "../outcome.ts";
import {
  type ChangedFile,
  INVOCATION_FILTERS,
  type InvocationEffects,
  type InvocationLinks,
  type InvocationListQuery,
  type InvocationListResponse,
  type InvocationReceipt,
  type InvocationRecord,
  type ToolCancelRequest,
  type ToolCancelResponse,
  type ToolStatusResponse,
} from "./invocation-messages.ts";
import { cursorField, limitField, nextCursorField } from "./paging.ts";

/** Which call an address names. */
export const invocationParamsField: Field<{ invocation_id: string }> = exactRecord<{ invocation_id: string }>(
  {
    invocation_id: described(nameText, "The call's id."),
  },
);

export const invocationListQueryField: Field<InvocationListQuery> = exactRecord<InvocationListQuery>({
  tenant: absentOr(described(nameText, "Only calls for this tenant.")),
  agent: absentOr(described(nameText, "Only calls of this agent.")),
  tool: absentOr(described(nameText, "Only calls of this tool.")),
  status: absentOr(
    described(
      oneOf(INVOCATION_FILTERS),
      "Only calls that stand so; `unknown`: the process ended while they ran.",
    ),
  ),
  cursor: cursorField,
  limit: limitField,
});

const facts = {
  invocation_id: anyText,
  status: oneOf(CALL_STATUSES),
  tool_id: anyText,
  tenant_id: anyText,
  agent_did: anyText,
  user_did: absentOr(anyText),
  session_id: absentOr(anyText),
  completed_at: absentOr(timestamp),
};

const receipt: Field<InvocationReceipt> = named(
  "Receipt",
  record<InvocationReceipt>({
    tenant_id: anyText,
    sequence: count,
    hash: anyText,
    input_hash: anyText,
    output_hash: absentOr(anyText),
    effects_hash: absentOr(anyText),
  }),
);

const effects: Field<InvocationEffects> = named(
  "FileEffects",
  record<InvocationEffects>({
    files: listOf(
      record<ChangedFile>({
        path: anyText,
        change: oneOf(FILE_CHANGES),
        from: absentOr(anyText),
        diff: absentOr(described(anyText, "Unified diff, secrets redacted.")),
        note: absentOr(anyText),
      }),
    ),
    omitted: described(count, "How many more there are than listed."),
    digest: anyText,
  }),
);

const links: Field<InvocationLinks> = record<InvocationLinks>({
  self: anyText,
  result: anyText,
  events: anyText,
  cancel: anyText,
  approval: absentOr(anyText),
});

/** How a call stands (L3 §4.1.3). */
export const toolStatusResponseField: Field<ToolStatusResponse> = named(
  "ToolStatusResponse",
  record<ToolStatusResponse>({
    ...facts,
    tool_version: absentOr(anyText),
    operation: absentOr(anyText),
    started_at: absentOr(described(timestamp, "When it was taken in.")),
    progress_percent: absentOr(wholeNumber("a percentage", { minimum: 0, maximum: 100 })),
    current_phase: absentOr(anyText),
    error: absentOr(toolErrorField),
    latest_checkpoint: absentOr(checkpointMetadataField),
    state: absentOr(
      described(oneOf([...LIFECYCLE_STATES, "QUEUED", "WAITING"]), "Where the execution is now."),
    ),
    lifecycle: absentOr(
      described(
        listOf(
          record<{ state: (typeof LIFECYCLE_STATES)[number]; at: string }>({
            state: oneOf(LIFECYCLE_STATES),
            at: timestamp,
          }),
        ),
        "Once it has ended: every state it passed through.",
      ),
    ),
    approval_id: absentOr(described(anyText, "The approval it waits for.")),
    isolation: absentOr(
      record<NonNullable<ToolStatusResponse["isolation"]>>({
        level: oneOf(ISOLATION_LEVELS),
        runner: anyText,
      }),
    ),
    warnings: absentOr(
      listOf(record<{ code: string; message: string }>({ code: anyText, message: anyText })),
    ),
    effects: absentOr(effects),
    rollback: absentOr(
      record<NonNullable<ToolStatusResponse["rollback"]>>({
        verified: flag,
        snapshot_hash: anyText,
        discarded_mutations: count,
      }),
    ),
    receipt: absentOr(receipt),
    links,
  }),
);

export const invocationListResponseField: Field<InvocationListResponse> = named(
  "InvocationListResponse",
  record<InvocationListResponse>({
    invocations: listOf(
      named(
        "InvocationRecord",
        record<InvocationRecord>({
          ...facts,
          tool_version: anyText,
          operation: anyText,
          started_at: described(timestamp, "When it was taken in."),
          error_code: absentOr(described(anyText, "The code of the error catalogue.")),
          status_url: anyText,
        }),
      ),
    ),
    next_cursor: nextCursorField,
  }),
);

/** The body of a cancellation; there need not be one. */
export const toolCancelRequestField: Field<ToolCancelRequest | null | undefined> = optional(
  named(
    "ToolCancelRequest",
    exactRecord<ToolCancelRequest>({
      invocation_id: optional(described(nameText, "As in the path.")),
      agent_context: optional(described(agentContextField, "As in the token.")),
      reason: optional(described(text, "Goes on record.")),
    }),
  ),
);

/** What came of a cancellation (L3 §4.1.4). */
export const toolCancelResponseField: Field<ToolCancelResponse> = named(
  "ToolCancelResponse",
  record<ToolCancelResponse>({
    invocation_id: anyText,
    cancelled: described(flag, "Whether the call has been, or is being, ended by a cancellation."),
    message: anyText,
    status: oneOf(CALL_STATUSES),
  }),
);
