import type { JsonObject, JsonSchema } from "./json.ts";

export const TOOL_CATEGORIES = [
  "data_access",
  "computation",
  "external_api",
  "file_system",
  "llm_interaction",
] as const;
export type ToolCategory = (typeof TOOL_CATEGORIES)[number];

export const SOURCE_TYPES = ["native", "mcp", "openapi", "langchain"] as const;
export type SourceType = (typeof SOURCE_TYPES)[number];

export const TOOL_STATUSES = ["active", "inactive", "error", "maintenance", "pending"] as const;
/** Whether the tool may be called at all (MCXP-1): only an active one runs. */
export type ToolStatus = (typeof TOOL_STATUSES)[number];

export const TOOL_KINDS = ["function", "service_worker", "job_worker"] as const;
/** Where a tool runs: in process, in a standing service, or in a job for each call. */
export type ToolKind = (typeof TOOL_KINDS)[number];

export const RISKS = ["low", "medium", "high", "critical"] as const;
/** How much harm a wrong call can do; policy decides by it whom to ask. */
export type Risk = (typeof RISKS)[number];

export const SIDE_EFFECTS = ["none", "state", "external"] as const;
/**
 * What a call can change. `none`: nothing. `state`: only Sallyport's transactional state, which commits with the
 * outcome or not at all. `external`: anything, so a crash while it runs leaves the outcome unknown.
 */
export type SideEffects = (typeof SIDE_EFFECTS)[number];

export interface ResourceLimits {
  /** Wall-clock time of one execution. */
  timeoutMs: number;
  memoryBytes: number;
  cpuMillicores?: number;
  cpuTimeMs?: number;
  maxOutputBytes?: number;
  maxFileBytes?: number;
  /** All that a process writes, together. */
  maxDiskBytes?: number;
  maxOpenFiles?: number;
  maxProcesses?: number;
  maxConnections?: number;
  networkMbps?: number;
}

export interface RetryPolicy {
  /** Attempts in all, the first one included. */
  maxAttempts: number;
  baseDelayMs: number;
  maxDelayMs: number;
  retryableErrors?: string[];
}

export interface CircuitBreakerPolicy {
  failureRateThreshold?: number;
  slidingWindowSize?: number;
  waitDurationMs?: number;
}

/** What a tool may touch while it runs; nothing unless listed. */
export interface Permissions {
  filesystem: { path: string; mode: "ro" | "rw" }[];
  network: { host: string; port?: number }[];
  credentials: string[];
}

export interface Transport {
  type: string;
  baseUrl?: string;
  endpoint?: string;
}

/** What a tool and each of its operations say about a call; an operation's own word goes before the tool's. */
export interface Conduct {
  requiredCapabilities: string[];
  sideEffects: SideEffects;
  deterministic: boolean;
  idempotent: boolean;
  requiresApproval: boolean;
  risk: Risk;
}

/** One named thing a tool can do (an MCX capability). */
export interface OperationManifest extends Partial<Conduct> {
  description: string;
  inputSchema: JsonSchema;
  /** Absent: the result is passed on unchecked, and the answer says so (E3508). */
  outputSchema?: JsonSchema;
  timeoutMs?: number;
  /** The call in one line, for the person who approves it: `Send {amount} to {account}[ with note {note}]`. */
  summary?: string;
}

/** One immutable version of a tool, in the one form the engine knows. */
export interface ToolManifest extends Conduct {
  id: string;
  version: string;
  name: string;
  description: string;
  category: ToolCategory;
  tags: string[];
  source: { type: SourceType; metadata?: JsonObject };
  status: ToolStatus;
  /** 0 asks nothing of the caller; 10 asks the most (MCX). */
  securityLevel: number;
  operations: Record<string, OperationManifest>;
  permissions: Permissions;
  limits: ResourceLimits;
  kind: ToolKind;
  transport?: Transport;
  egressAllowlist?: string[];
  retry?: RetryPolicy;
  circuitBreaker?: CircuitBreakerPolicy;
  /** Callers' versions this one works with, as a SemVer range. */
  compatibilityRange?: string;
  releaseNotes?: string;
}

/** The operation of a tool that declares only one input and one output schema (R1, L3). */
export const DEFAULT_OPERATION = "run";

/** In force for whatever a manifest does not limit itself. */
export const DEFAULT_LIMITS = {
  timeoutMs: 30_000,
  memoryBytes: 1024 * 1024 * 1024,
  cpuMillicores: 500,
} as const satisfies ResourceLimits;
