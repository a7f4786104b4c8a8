import type { CallStatus } from "../call-status.ts";

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
/** The word for an error in an L3 answer. */
export type ToolErrorKind = (typeof TOOL_ERROR_KINDS)[number];

export const FAILURE_CLASSES = [
  "ValidationError",
  "AuthorizationError",
  "ResourceError",
  "ExecutionError",
  "TimeoutError",
  "StateError",
] as const;
/** The class decides the recovery (R1-7.1): what is rolled back, and what the runtime may retry. */
export type FailureClass = (typeof FAILURE_CLASSES)[number];

export const MCX_ERROR_TYPES = [
  "ValidationError",
  "SecurityError",
  "ExecutionError",
  "ResourceError",
  "TimeoutError",
  "NotFoundError",
  "SystemError",
] as const;
/** The type of an error in an MCX message. */
export type McxErrorType = (typeof MCX_ERROR_TYPES)[number];

export const AX_ERROR_CODES = [
  "UPSTREAM_ERROR",
  "VALIDATION_ERROR",
  "TIMEOUT",
  "INTERNAL",
  "NOT_FOUND",
] as const;
/** The code in a worker envelope. Only the gateway itself says NOT_FOUND. */
export type AxErrorCode = (typeof AX_ERROR_CODES)[number];

export const SRD_ERROR_KINDS = [
  "BadArgs",
  "Timeout",
  "SandboxViolation",
  "ExecutionFailed",
  "Cancelled",
  "UnknownTool",
  "DuplicateTool",
  "DuplicateToolCallId",
  "PatchFailed",
  "StaleFile",
] as const;

export const SRD_DENIAL_KINDS = [
  "Denylisted",
  "Disabled",
  "PathOutsideSandbox",
  "DeniedPatternMatched",
  "LimitsExceeded",
] as const;

/** The word for an error, or for the reason of a denial, in a tool loop. */
export type SrdKind = (typeof SRD_ERROR_KINDS)[number] | (typeof SRD_DENIAL_KINDS)[number];

export const FIXERS = ["model", "caller", "operator"] as const;
/** Who can do something about it: the model by asking differently, the program that calls, or who runs Sallyport. */
export type Fixer = (typeof FIXERS)[number];

/** One error, once, in the words of every dialect a door may speak. */
export interface CatalogueEntry {
  title: string;
  kind: ToolErrorKind;
  failureClass: FailureClass;
  mcx: McxErrorType;
  ax: AxErrorCode;
  srd: SrdKind;
  /** What a call that ends this way is reported as. */
  status: Exclude<CallStatus, "success">;
  http: number;
  jsonRpc: number;
  /** The default of its class; for a timeout or an execution error the tool's idempotency has the last word. */
  retryable: boolean;
  fixer: Fixer;
  /** One line that says what to do about it. */
  advice: string;
}
