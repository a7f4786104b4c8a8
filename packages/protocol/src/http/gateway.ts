import {
  absentOr,
  anyObject,
  anyText,
  anyValue,
  count,
  described,
  exactRecord,
  flag,
  type Infer,
  listOf,
  named,
  oneOf,
  record,
} from "../fields.ts";
import { WORKER_ERROR_CODES } from "../worker-envelope.ts";

/** What a gateway says of a run that failed: the codes of workers, and what only the gateway itself decides. */
export const GATEWAY_ERROR_CODES = [
  ...WORKER_ERROR_CODES,
  "NOT_FOUND",
  "POLICY_DENIED",
  "APPROVAL_PENDING",
  "RATE_LIMITED",
] as const;
export type GatewayErrorCode = (typeof GATEWAY_ERROR_CODES)[number];

/** `GET /v1/domain` (AX-DOM-1). */
export const domainField = named(
  "Domain",
  record({
    domain_id: anyText,
    version: described(anyText, "As the domain package writes it; it changes with the catalogue."),
  }),
);
export type Domain = Infer<typeof domainField>;

export const WORKER_HEALTH = ["up", "degraded", "rate_limited", "down", "unknown"] as const;
export type WorkerHealth = (typeof WORKER_HEALTH)[number];

const kind = oneOf(["service_worker", "job_worker"]);

/** What a catalogue may say of a tool beyond what it has to. */
const mayBeThere = {
  transport_type: absentOr(anyText),
  transport_endpoint: absentOr(anyText),
  input_schema_ref: absentOr(anyText),
  output_schema_ref: absentOr(anyText),
  health: absentOr(oneOf(WORKER_HEALTH), "How the tool's worker answered the last probe."),
};

export const domainToolField = named(
  "DomainTool",
  record({
    tool_id: anyText,
    kind,
    display_name: anyText,
    description: anyText,
    capabilities: listOf(anyText),
    timeout_sec: count,
    egress_allowlist: listOf(anyText),
    ...mayBeThere,
  }),
);
/** One tool of a domain (AX-CAT-1). */
export type DomainTool = Infer<typeof domainToolField>;

/** The same beside the fields of `tool.list`, which only a gateway fills in. */
export const catalogueFields = {
  kind: absentOr(kind, "Of a gateway, as all that follows: how the tool is run."),
  display_name: absentOr(anyText),
  capabilities: absentOr(listOf(anyText)),
  timeout_sec: absentOr(count),
  egress_allowlist: absentOr(listOf(anyText)),
  ...mayBeThere,
};

/** What a client needs of `GET /v1/tools` of a gateway; the answer has the fields of `tool.list` besides. */
export const domainToolsField = record({
  domain_id: anyText,
  version: anyText,
  tools: listOf(domainToolField),
});
export type DomainTools = Infer<typeof domainToolsField>;

/** `POST /v1/tools/{tool_id}:run` (AX-RUN-1). */
export const runRequestField = named(
  "RunRequest",
  exactRecord({ input: described(anyObject, "The tool's input.") }),
);
export type RunRequest = Infer<typeof runRequestField>;

const runMeta = record({ trace_id: anyText, duration_ms: count });

const runErrorField = record({
  code: oneOf(GATEWAY_ERROR_CODES),
  message: anyText,
  retryable: flag,
  details: described(anyObject, "The worker's own details; empty where it said none."),
  gateway: absentOr(
    anyObject,
    "What the gateway says of it: `code` of the error catalogue, `advice`, `issues`, and links of a run that waits.",
  ),
});

/** The answer of a run; `ok` says which of `output` and `error` is there. */
export const runResponseField = named(
  "RunResponse",
  record({
    ok: flag,
    tool_id: anyText,
    tool_run_id: described(anyText, "The id of the call: /v1/invocations/{id} has its record."),
    output: absentOr(anyValue),
    error: absentOr(runErrorField),
    meta: runMeta,
  }),
);
export type RunResponse = Infer<typeof runResponseField>;
