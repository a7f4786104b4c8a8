import {
  absentOr,
  anyText,
  count,
  described,
  exactRecord,
  flag,
  type Infer,
  listOf,
  mapOf,
  named,
  nameText,
  oneOf,
  optional,
  record,
  simple,
  text,
  timestamp,
  wholeNumber,
} from "../fields.ts";
import { agentContextField, checkpointMetadataField, toolErrorField } from "../l3-invoke.ts";
import { CALL_STATUSES, LIFECYCLE_STATES } from "../lifecycle.ts";
import { FILE_CHANGES, ISOLATION_LEVELS, UNSEEN_EFFECTS } from "../outcome.ts";
import { cursorField, limitField, nextCursorField } from "./problem.ts";

/** The statuses that calls can be listed by. `unknown`: the process ended while they ran. */
export const INVOCATION_FILTERS = [...CALL_STATUSES, "unknown"] as const;

/** Which call an address names. */
export const invocationParamsField = exactRecord({ invocation_id: described(nameText, "The call's id.") });

export const invocationListQueryField = exactRecord({
  tenant: absentOr(nameText, "Only calls for this tenant."),
  agent: absentOr(nameText, "Only calls of this agent."),
  tool: absentOr(nameText, "Only calls of this tool."),
  status: absentOr(
    oneOf(INVOCATION_FILTERS),
    "Only calls that stand so; `unknown`: the process ended while they ran.",
  ),
  cursor: cursorField,
  limit: limitField,
});
/** As it stands in the address. */
export type InvocationListQuery = Infer<typeof invocationListQueryField>;

/** What every message about a call says of it. */
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

/** Where the unit of work that ended the call stands in its tenant's audit chain. */
const receipt = named(
  "Receipt",
  record({
    tenant_id: anyText,
    strand: count,
    sequence: count,
    hash: anyText,
    input_hash: anyText,
    output_hash: absentOr(anyText),
    effects_hash: absentOr(anyText),
  }),
);
export type InvocationReceipt = Infer<typeof receipt>;

/** What a call changed in its workspace. */
const effects = named(
  "FileEffects",
  record({
    files: listOf(
      record({
        path: anyText,
        change: oneOf(FILE_CHANGES),
        from: absentOr(anyText),
        diff: absentOr(anyText, "Unified diff, secrets redacted."),
        note: absentOr(anyText),
      }),
    ),
    omitted: described(count, "How many more there are than listed."),
    digest: anyText,
  }),
);
export type InvocationEffects = Infer<typeof effects>;

const milliseconds = simple(
  "a number of at least zero",
  { type: "number", minimum: 0 },
  (value): value is number => typeof value === "number" && value >= 0,
);

/** Where the time of a call went, and what was decided about it. */
const timeline = named(
  "InvocationTimeline",
  record({
    stages: described(
      listOf(record({ stage: anyText, attempt: count, duration_ms: milliseconds })),
      "Stages of the passage in order; those under 0.1 ms are left out. `wait`: between two attempts.",
    ),
    decisions: absentOr(
      listOf(
        record({
          attempt: count,
          outcome: oneOf(["allow", "ask", "deny"] as const),
          reason: anyText,
          rules: listOf(anyText),
          policy_version: anyText,
        }),
      ),
      "What the authority decided; only for those who see every call.",
    ),
  }),
);
export type InvocationTimeline = Infer<typeof timeline>;

const links = record({
  self: anyText,
  result: anyText,
  events: anyText,
  cancel: anyText,
  approval: absentOr(anyText),
});
export type InvocationLinks = Infer<typeof links>;

export const toolStatusResponseField = named(
  "ToolStatusResponse",
  record({
    ...facts,
    // These three are absent only while nothing of the call has to be on record yet.
    tool_version: absentOr(anyText),
    operation: absentOr(anyText),
    started_at: absentOr(timestamp, "When it was taken in."),
    progress_percent: absentOr(wholeNumber("a percentage", { minimum: 0, maximum: 100 })),
    current_phase: absentOr(anyText),
    error: absentOr(toolErrorField),
    latest_checkpoint: absentOr(checkpointMetadataField),
    state: absentOr(oneOf([...LIFECYCLE_STATES, "QUEUED", "WAITING"]), "Where the execution is now."),
    lifecycle: absentOr(
      listOf(record({ state: oneOf(LIFECYCLE_STATES), at: timestamp })),
      "Once it has ended: every state it passed through.",
    ),
    approval_id: absentOr(anyText, "The approval it waits for."),
    isolation: absentOr(record({ level: oneOf(ISOLATION_LEVELS), runner: anyText })),
    enforcement: absentOr(
      mapOf(anyText),
      "What held each limit of the run: a mechanism, `watch` (measured), or `none`.",
    ),
    warnings: absentOr(listOf(record({ code: anyText, message: anyText }))),
    timeline: absentOr(timeline, "Once it has ended: where its time went."),
    effects: absentOr(effects),
    rollback: absentOr(
      record({
        verified: flag,
        snapshot_hash: anyText,
        discarded_mutations: count,
        covers: absentOr(
          listOf(oneOf(["state", "files"] as const)),
          "What the proof is about: state, staged files.",
        ),
        unseen: absentOr(
          listOf(oneOf(UNSEEN_EFFECTS)),
          "What else the tool could have changed, because its isolation does not show it.",
        ),
      }),
    ),
    receipt: absentOr(receipt),
    links,
  }),
);
/** How a call stands: tool.status (L3 §4.1.3), and what is on record beside it. */
export type ToolStatusResponse = Infer<typeof toolStatusResponseField>;

const invocationRecord = named(
  "InvocationRecord",
  record({
    ...facts,
    tool_version: anyText,
    operation: anyText,
    started_at: described(timestamp, "When it was taken in."),
    error_code: absentOr(anyText, "The code of the error catalogue."),
    status_url: anyText,
  }),
);
export type InvocationRecord = Infer<typeof invocationRecord>;

export const invocationListResponseField = named(
  "InvocationListResponse",
  record({ invocations: listOf(invocationRecord), next_cursor: nextCursorField }),
);
/** A page of calls, newest first. */
export type InvocationListResponse = Infer<typeof invocationListResponseField>;

/** The body is optional. Its first two fields must agree with the path and the token, which say the same. */
export const toolCancelRequestField = optional(
  named(
    "ToolCancelRequest",
    exactRecord({
      invocation_id: optional(nameText, "As in the path."),
      agent_context: optional(agentContextField, "As in the token."),
      reason: optional(text, "Goes on record."),
    }),
  ),
);
export type ToolCancelRequest = NonNullable<Infer<typeof toolCancelRequestField>>;

export const toolCancelResponseField = named(
  "ToolCancelResponse",
  record({
    invocation_id: anyText,
    cancelled: described(flag, "Whether the call has been, or is being, ended by a cancellation."),
    message: anyText,
    status: oneOf(CALL_STATUSES),
  }),
);
/** What came of a cancellation (L3 §4.1.4). */
export type ToolCancelResponse = Infer<typeof toolCancelResponseField>;

const output = named(
  "OutputEvent",
  record({
    chunk: anyText,
    encoding: absentOr(oneOf(["base64"]), "Present when it is no text."),
    at: timestamp,
  }),
);

/** What the data of each event looks like. */
export const invocationEventFields = {
  // The call reached another state.
  state: named(
    "StateEvent",
    record({ state: oneOf([...LIFECYCLE_STATES, "QUEUED", "WAITING"]), at: timestamp }),
  ),
  progress: named(
    "ProgressEvent",
    record({
      percent: wholeNumber("a percentage", { minimum: 0, maximum: 100 }),
      phase: absentOr(anyText),
      at: timestamp,
    }),
  ),
  // What the tool wrote.
  stdout: output,
  stderr: output,
  // The answer is on record; nothing follows.
  ended: named("EndedEvent", record({ status: oneOf(CALL_STATUSES), at: timestamp, result_url: anyText })),
  // The position of the client is no longer known: what follows starts from the beginning.
  reset: named("ResetEvent", record({ reason: anyText })),
  // Events that the client fetched too late: they are no longer kept.
  omitted: named("OmittedEvent", record({ count })),
};

/** By the name of the event; the data of each, as JSON. */
export type InvocationEvents = {
  [Name in keyof typeof invocationEventFields]: Infer<(typeof invocationEventFields)[Name]>;
};
