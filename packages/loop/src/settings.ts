import { UNKNOWN_CAPACITY_BYTES } from "@sallyport/engine/ports";

/** Modes of the tool loop (FR-MODE). */
export const TOOLS_MODES = ["disabled", "parse_only", "enabled"] as const;
export type ToolsMode = (typeof TOOLS_MODES)[number];

export const APPROVAL_MODES = ["auto", "prompt", "deny"] as const;
export type ApprovalMode = (typeof APPROVAL_MODES)[number];

/** Who has to be asked before a tool of the loop runs (FR-APR-04). Names are tool names as the model knows them. */
export interface LoopPolicy {
  enabled: boolean;
  mode: ApprovalMode;
  allowlist: readonly string[];
  denylist: readonly string[];
  promptSideEffects: boolean;
}

export const DEFAULT_LOOP_POLICY: LoopPolicy = {
  enabled: true,
  mode: "prompt",
  allowlist: ["read_file"],
  denylist: ["run_command"],
  promptSideEffects: true,
};

/** How much a model may ask for (FR-LIM). */
export interface LoopLimits {
  maxToolCallsPerBatch: number;
  maxToolIterationsPerUserTurn: number;
  maxToolArgsBytes: number;
  maxOutputBytes: number;
}

export const DEFAULT_LOOP_LIMITS: LoopLimits = {
  maxToolCallsPerBatch: 8,
  maxToolIterationsPerUserTurn: 4,
  maxToolArgsBytes: 256 * 1024,
  maxOutputBytes: 102_400,
};

/** What is known of a model's context, in tokens; what is left out is not known. */
export interface ModelWindow {
  contextTokens?: number;
  responseReserveTokens: number;
}

export interface LoopSettings {
  mode: ToolsMode;
  allowParallel: boolean;
  policy: LoopPolicy;
  limits: LoopLimits;
  window: ModelWindow;
  /** For tools that state no time limit; it can only tighten what the engine allows. */
  defaultTimeoutMs: number;
  /** Put before every conversation. */
  system?: string;
}

export const DEFAULT_LOOP_SETTINGS: LoopSettings = {
  mode: "parse_only",
  allowParallel: false,
  policy: DEFAULT_LOOP_POLICY,
  limits: DEFAULT_LOOP_LIMITS,
  window: { responseReserveTokens: 4_096 },
  defaultTimeoutMs: 30_000,
};

export const SAFETY_MARGIN_TOKENS = 256;
export const BYTES_PER_TOKEN = 4;
/** For tool results of a batch where the model's context is not known (FR-REG-04b). */
export const FALLBACK_CAPACITY_BYTES = UNKNOWN_CAPACITY_BYTES;
/** Events that may wait for the person's screen (FR-OUT-01). */
export const EVENT_CAPACITY = 64;

/** What the model is told, word for word. */
export const MESSAGES = {
  disabled: "Tool execution disabled",
  disabledByPolicy: "Tool execution disabled by policy",
  deniedByUser: "Tool call denied by user",
  cancelled: "Cancelled by user",
  maxIterations: "Max tool iterations reached",
  missingResult: "Missing tool result",
  missingAfterCrash: "Tool result missing after crash",
  discardedAfterCrash: "Tool results discarded after crash",
} as const;
