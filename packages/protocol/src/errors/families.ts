import type { CatalogueEntry } from "./vocabulary.ts";

/** What errors of one family share, so that every dialect treats them alike; an entry says only what differs. */
type Family = Omit<CatalogueEntry, "title" | "advice">;

/** Refused before anything ran, because of what was sent. */
export const INVALID = {
  kind: "invalid_parameters",
  failureClass: "ValidationError",
  mcx: "ValidationError",
  ax: "VALIDATION_ERROR",
  srd: "BadArgs",
  status: "error",
  http: 400,
  jsonRpc: -32602,
  retryable: false,
  fixer: "model",
} as const satisfies Family;

/** What was asked for does not exist. */
export const NOT_FOUND = {
  ...INVALID,
  kind: "tool_not_found",
  mcx: "NotFoundError",
  ax: "NOT_FOUND",
  srd: "UnknownTool",
  http: 404,
  jsonRpc: -32601,
} as const satisfies Family;

export const VERSION_NOT_FOUND = {
  ...NOT_FOUND,
  kind: "tool_version_not_found",
  fixer: "caller",
} as const satisfies Family;

/** Refused, whatever was sent, because nothing allows it. */
export const DENIED = {
  kind: "permission_denied",
  failureClass: "AuthorizationError",
  mcx: "SecurityError",
  ax: "VALIDATION_ERROR",
  srd: "SandboxViolation",
  status: "permission_denied",
  http: 403,
  jsonRpc: -32010,
  retryable: false,
  fixer: "operator",
} as const satisfies Family;

/** A limit of Sallyport or of the agent is reached; later there may be room. */
export const EXHAUSTED = {
  kind: "resource_exhausted",
  failureClass: "ResourceError",
  mcx: "ResourceError",
  ax: "INTERNAL",
  srd: "LimitsExceeded",
  status: "error",
  http: 503,
  jsonRpc: -32011,
  retryable: true,
  fixer: "caller",
} as const satisfies Family;

/** Something Sallyport itself needs is down. */
export const UNAVAILABLE = {
  ...EXHAUSTED,
  kind: "internal_error",
  mcx: "SystemError",
  srd: "ExecutionFailed",
  jsonRpc: -32603,
  fixer: "operator",
} as const satisfies Family;

/** The tool ran and did not do its work, or gave back something unusable. */
export const TOOL_FAILED = {
  kind: "tool_execution_error",
  failureClass: "ExecutionError",
  mcx: "ExecutionError",
  ax: "UPSTREAM_ERROR",
  srd: "ExecutionFailed",
  status: "error",
  http: 500,
  jsonRpc: -32012,
  retryable: false,
  fixer: "operator",
} as const satisfies Family;

/** A service the tool depends on did not do its work. */
export const UPSTREAM_FAILED = {
  ...TOOL_FAILED,
  kind: "external_api_error",
  http: 502,
  jsonRpc: -32013,
} as const satisfies Family;

export const TIMED_OUT = {
  kind: "timeout",
  failureClass: "TimeoutError",
  mcx: "TimeoutError",
  ax: "TIMEOUT",
  srd: "Timeout",
  status: "timeout",
  http: 504,
  jsonRpc: -32014,
  retryable: true,
  fixer: "caller",
} as const satisfies Family;

export const BREAKER_OPEN = {
  ...EXHAUSTED,
  kind: "circuit_breaker_open",
  ax: "UPSTREAM_ERROR",
  srd: "ExecutionFailed",
  jsonRpc: -32015,
} as const satisfies Family;

/** The record or the state is not what it must be; no retry can repair that. */
export const STATE_BROKEN = {
  kind: "internal_error",
  failureClass: "StateError",
  mcx: "SystemError",
  ax: "INTERNAL",
  srd: "ExecutionFailed",
  status: "error",
  http: 500,
  jsonRpc: -32603,
  retryable: false,
  fixer: "operator",
} as const satisfies Family;

/** The state is sound, but not the one this call relied on. */
export const STATE_CONFLICT = {
  ...STATE_BROKEN,
  kind: "state_conflict",
  mcx: "ExecutionError",
  http: 409,
  jsonRpc: -32016,
  fixer: "caller",
} as const satisfies Family;

export const CHECKPOINT_FAILED = {
  ...STATE_BROKEN,
  kind: "checkpoint_failed",
  jsonRpc: -32017,
} as const satisfies Family;

export const RESUME_FAILED = {
  ...STATE_BROKEN,
  kind: "resume_failed",
  jsonRpc: -32018,
  fixer: "caller",
} as const satisfies Family;

export const DOCUMENT_UNAVAILABLE = {
  ...UNAVAILABLE,
  kind: "document_unavailable",
  ax: "UPSTREAM_ERROR",
  jsonRpc: -32019,
} as const satisfies Family;

/** The same id or key was used before, for something else. */
export const REPEATED = {
  ...INVALID,
  kind: "idempotency_conflict",
  srd: "DuplicateToolCallId",
  http: 409,
  jsonRpc: -32020,
  fixer: "caller",
} as const satisfies Family;

/** A defect, not a condition. */
export const INTERNAL = {
  ...STATE_BROKEN,
  failureClass: "ExecutionError",
} as const satisfies Family;
