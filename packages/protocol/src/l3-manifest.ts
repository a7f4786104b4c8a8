import { defined } from "./defined.ts";
import type { JsonObject, JsonSchema } from "./json.ts";
import {
  type CircuitBreakerPolicy,
  DEFAULT_OPERATION,
  type OperationManifest,
  type Permissions,
  type ResourceLimits,
  type RetryPolicy,
  type SourceType,
  type ToolCategory,
  type ToolManifest,
} from "./manifest.ts";
import { completeManifest } from "./manifest-draft.ts";
import { megabytes, seconds } from "./units.ts";

/** A tool manifest in L3's words (L3-REG-1): snake_case, seconds and megabytes. */
export interface L3Manifest {
  tool_id: string;
  tool_name: string;
  version: string;
  parameters_schema: JsonSchema;
  description?: string;
  category?: ToolCategory;
  result_schema?: JsonSchema;
  permissions?: L3Permissions;
  execution_config?: L3ExecutionConfig;
  tags?: string[];
  source_type?: SourceType;
  source_metadata?: JsonObject;
  compatibility_range?: string;
  release_notes?: string;
}

export interface L3Permissions {
  filesystem?: { path: string; mode?: "ro" | "rw" }[];
  network?: { host: string; port?: number }[];
  credentials?: string[];
}

export interface L3ExecutionConfig {
  default_timeout_seconds?: number;
  default_cpu_millicore_limit?: number;
  default_memory_mb_limit?: number;
  requires_approval?: boolean;
  retry_policy?: L3RetryPolicy;
  circuit_breaker_config?: L3CircuitBreakerConfig;
}

export interface L3RetryPolicy {
  max_attempts?: number;
  base_delay_ms?: number;
  max_delay_ms?: number;
  retryable_errors?: string[];
}

export interface L3CircuitBreakerConfig {
  failure_rate_threshold?: number;
  sliding_window_size?: number;
  wait_duration_seconds?: number;
}

/** Translates a manifest that fits L3_MANIFEST_SCHEMA; the result fits MANIFEST_SCHEMA. */
export function fromL3Manifest(manifest: L3Manifest): ToolManifest {
  const config = manifest.execution_config ?? {};
  return completeManifest({
    id: manifest.tool_id,
    version: manifest.version,
    name: manifest.tool_name,
    description: manifest.description ?? manifest.tool_name,
    operations: { [DEFAULT_OPERATION]: operationFrom(manifest) },
    source: { type: manifest.source_type ?? "native", ...defined({ metadata: manifest.source_metadata }) },
    permissions: permissionsFrom(manifest.permissions ?? {}),
    limits: limitsFrom(config),
    ...defined({
      category: manifest.category,
      tags: manifest.tags,
      compatibilityRange: manifest.compatibility_range,
      releaseNotes: manifest.release_notes,
      requiresApproval: config.requires_approval,
      retry: config.retry_policy && retryFrom(config.retry_policy),
      circuitBreaker: config.circuit_breaker_config && breakerFrom(config.circuit_breaker_config),
    }),
  });
}

function operationFrom(manifest: L3Manifest): OperationManifest {
  return {
    description: manifest.description ?? manifest.tool_name,
    inputSchema: manifest.parameters_schema,
    ...defined({ outputSchema: manifest.result_schema }),
  };
}

function permissionsFrom(permissions: L3Permissions): Partial<Permissions> {
  return {
    ...defined({ network: permissions.network, credentials: permissions.credentials }),
    filesystem: (permissions.filesystem ?? []).map(({ path, mode }) => ({ path, mode: mode ?? "ro" })),
  };
}

function limitsFrom(config: L3ExecutionConfig): Partial<ResourceLimits> {
  return defined({
    timeoutMs: seconds(config.default_timeout_seconds),
    memoryBytes: megabytes(config.default_memory_mb_limit),
    cpuMillicores: config.default_cpu_millicore_limit,
  });
}

function retryFrom(policy: L3RetryPolicy): RetryPolicy {
  return {
    maxAttempts: policy.max_attempts ?? 3,
    baseDelayMs: policy.base_delay_ms ?? 1000,
    maxDelayMs: policy.max_delay_ms ?? 60_000,
    ...defined({ retryableErrors: policy.retryable_errors }),
  };
}

function breakerFrom(config: L3CircuitBreakerConfig): CircuitBreakerPolicy {
  return defined({
    failureRateThreshold: config.failure_rate_threshold,
    slidingWindowSize: config.sliding_window_size,
    waitDurationMs: seconds(config.wait_duration_seconds),
  });
}
