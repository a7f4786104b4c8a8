import type { CallStatus } from "../lifecycle.ts";

export const TOOL_ERROR_KINDS = [
  "invalid_parameters",
  "tool_not_found",
  "tool_version_not_found",
  "permission_denied",
  "rate_limit_exceeded",
  "idempotency_conflict",
  "tool_execution_error",
  "sandbox_failure",
  "external_api_error",
  "circuit_breaker_open",
  "timeout",
  "resource_exhausted",
  "document_not_found",
  "document_unavailable",
  "document_version_conflict",
  "checkpoint_failed",
  "resume_failed",
  "state_conflict",
  "internal_error",
] as const;

/** The class decides the recovery (R1-7.1): what is rolled back, and what the runtime may retry. */
export type FailureClass =
  | "ValidationError"
  | "AuthorizationError"
  | "ResourceError"
  | "ExecutionError"
  | "TimeoutError"
  | "StateError";

/** The type of an error in an MCX message. */
export type McxErrorType =
  | "ValidationError"
  | "SecurityError"
  | "ExecutionError"
  | "ResourceError"
  | "TimeoutError"
  | "NotFoundError"
  | "SystemError";

/** The word for an error in a tool loop. */
type LoopErrorKind =
  | "BadArgs"
  | "Timeout"
  | "SandboxViolation"
  | "ExecutionFailed"
  | "Cancelled"
  | "UnknownTool"
  | "DuplicateTool"
  | "DuplicateToolCallId"
  | "PatchFailed"
  | "StaleFile";

/** The word for the reason of a denial in a tool loop. */
type LoopDenialKind =
  | "Denylisted"
  | "Disabled"
  | "PathOutsideSandbox"
  | "DeniedPatternMatched"
  | "LimitsExceeded";

/** One error, in the words of every dialect that a door may speak. */
export interface CatalogueEntry {
  title: string;
  /** The word in an L3 answer. */
  kind: (typeof TOOL_ERROR_KINDS)[number];
  failureClass: FailureClass;
  mcx: McxErrorType;
  /** The code in a worker envelope. Only the gateway itself says NOT_FOUND. */
  ax: "UPSTREAM_ERROR" | "VALIDATION_ERROR" | "TIMEOUT" | "INTERNAL" | "NOT_FOUND";
  srd: LoopErrorKind | LoopDenialKind;
  /** The status of a call that ends with this error. */
  status: Exclude<CallStatus, "success">;
  http: number;
  jsonRpc: number;
  /** The default of the class. For a timeout or an execution error the tool's idempotency decides. */
  retryable: boolean;
  /** Who can fix it: the model by asking differently, the program that calls, or the operator of Sallyport. */
  fixer: "model" | "caller" | "operator";
  /** One line that says what to do. */
  advice: string;
}

/** What the errors of one family share, so that every dialect treats them alike. */
export type Family = Omit<CatalogueEntry, "title" | "advice" | "retryable">;

const RETRYABLE_CLASSES: readonly FailureClass[] = ["ResourceError", "TimeoutError"];

/** One row of the catalogue: its family, its title, its advice, and what differs from the family. */
export function entry(
  family: Family,
  title: string,
  own: Partial<Family> & { advice: string },
): Readonly<CatalogueEntry> {
  const row = { ...family, title, ...own };
  return Object.freeze({ ...row, retryable: RETRYABLE_CLASSES.includes(row.failureClass) });
}

/** Refused before anything ran, because of what was sent. */
export const INVALID: Family = {
  kind: "invalid_parameters",
  failureClass: "ValidationError",
  mcx: "ValidationError",
  ax: "VALIDATION_ERROR",
  srd: "BadArgs",
  status: "error",
  http: 400,
  jsonRpc: -32602,
  fixer: "model",
};

/** What was asked for does not exist. */
export const NOT_FOUND: Family = {
  ...INVALID,
  kind: "tool_not_found",
  mcx: "NotFoundError",
  ax: "NOT_FOUND",
  srd: "UnknownTool",
  http: 404,
  jsonRpc: -32601,
};

export const VERSION_NOT_FOUND: Family = { ...NOT_FOUND, kind: "tool_version_not_found", fixer: "caller" };

/** The same id or key was used before, for something else. */
export const REPEATED: Family = {
  ...INVALID,
  kind: "idempotency_conflict",
  srd: "DuplicateToolCallId",
  http: 409,
  jsonRpc: -32020,
  fixer: "caller",
};

/** Refused, whatever was sent, because nothing allows it. */
export const DENIED: Family = {
  kind: "permission_denied",
  failureClass: "AuthorizationError",
  mcx: "SecurityError",
  ax: "VALIDATION_ERROR",
  srd: "SandboxViolation",
  status: "permission_denied",
  http: 403,
  jsonRpc: -32010,
  fixer: "operator",
};

export const UNAUTHENTICATED: Family = { ...DENIED, http: 401, fixer: "caller" };

/** A limit of Sallyport or of the agent is reached; later there may be room. */
export const EXHAUSTED: Family = {
  kind: "resource_exhausted",
  failureClass: "ResourceError",
  mcx: "ResourceError",
  ax: "INTERNAL",
  srd: "LimitsExceeded",
  status: "error",
  http: 503,
  jsonRpc: -32011,
  fixer: "caller",
};

export const RATE_LIMITED: Family = { ...EXHAUSTED, kind: "rate_limit_exceeded", http: 429, jsonRpc: -32022 };

export const BREAKER_OPEN: Family = {
  ...EXHAUSTED,
  kind: "circuit_breaker_open",
  ax: "UPSTREAM_ERROR",
  srd: "ExecutionFailed",
  jsonRpc: -32015,
};

/** Something that Sallyport itself needs is down. */
export const UNAVAILABLE: Family = {
  ...EXHAUSTED,
  kind: "internal_error",
  mcx: "SystemError",
  srd: "ExecutionFailed",
  jsonRpc: -32603,
  fixer: "operator",
};

export const DOCUMENT_UNAVAILABLE: Family = {
  ...UNAVAILABLE,
  kind: "document_unavailable",
  ax: "UPSTREAM_ERROR",
  jsonRpc: -32019,
};

/** The tool ran and did not do its work, or gave back something unusable. */
export const TOOL_FAILED: Family = {
  kind: "tool_execution_error",
  failureClass: "ExecutionError",
  mcx: "ExecutionError",
  ax: "UPSTREAM_ERROR",
  srd: "ExecutionFailed",
  status: "error",
  http: 500,
  jsonRpc: -32012,
  fixer: "operator",
};

/** A service that the tool depends on did not do its work. */
export const UPSTREAM_FAILED: Family = {
  ...TOOL_FAILED,
  kind: "external_api_error",
  http: 502,
  jsonRpc: -32013,
};

export const TIMED_OUT: Family = {
  kind: "timeout",
  failureClass: "TimeoutError",
  mcx: "TimeoutError",
  ax: "TIMEOUT",
  srd: "Timeout",
  status: "timeout",
  http: 504,
  jsonRpc: -32014,
  fixer: "caller",
};

/** The record or the state is not what it must be; no retry can repair that. */
export const STATE_BROKEN: Family = {
  kind: "internal_error",
  failureClass: "StateError",
  mcx: "SystemError",
  ax: "INTERNAL",
  srd: "ExecutionFailed",
  status: "error",
  http: 500,
  jsonRpc: -32603,
  fixer: "operator",
};

/** The state is sound, but not the one this call relied on. */
export const STATE_CONFLICT: Family = {
  ...STATE_BROKEN,
  kind: "state_conflict",
  mcx: "ExecutionError",
  http: 409,
  jsonRpc: -32016,
  fixer: "caller",
};

export const CHECKPOINT_FAILED: Family = { ...STATE_BROKEN, kind: "checkpoint_failed", jsonRpc: -32017 };

export const RESUME_FAILED: Family = {
  ...STATE_BROKEN,
  kind: "resume_failed",
  jsonRpc: -32018,
  fixer: "caller",
};

/** A defect, not a condition. */
export const INTERNAL: Family = { ...STATE_BROKEN, failureClass: "ExecutionError" };
