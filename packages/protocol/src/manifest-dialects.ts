import {
  absentOr,
  anyObject,
  described,
  exactRecord,
  flag,
  type Infer,
  nameText,
  oneOf,
  textUpTo,
  wholeNumber,
} from "./fields.ts";
import { defined, isJsonObject } from "./json.ts";
import {
  completeManifest,
  DEFAULT_OPERATION,
  type RetryPolicy,
  SOURCE_TYPES,
  TOOL_CATEGORIES,
  type ToolManifest,
} from "./manifest.ts";
import {
  accessModeField,
  atLeast,
  attemptsField,
  capabilitiesField,
  deterministicField,
  errorNamesField,
  idempotentField,
  megabytes,
  percentField,
  permissionsField,
  publishedSchema,
  seconds,
  tagsField,
  timeoutField,
  toolIdField,
  versionField,
} from "./manifest-fields.ts";

/** The forms a manifest may be written in. */
export type ManifestDialect = "canonical" | "r1" | "l3";

const L3_NAMES = ["tool_id", "tool_name", "parameters_schema"];
const R1_NAMES = ["inputSchema", "outputSchema", "resourceLimits"];

/** Guesses which dialect a manifest means to be, so that its mistakes are reported in its own words. */
export function manifestDialect(value: unknown): ManifestDialect {
  if (!isJsonObject(value)) return "canonical";
  if (L3_NAMES.some((name) => Object.hasOwn(value, name))) return "l3";
  return R1_NAMES.some((name) => Object.hasOwn(value, name)) ? "r1" : "canonical";
}

const r1LimitsField = exactRecord({
  maxExecutionTime: timeoutField,
  maxMemory: described(atLeast(), "Bytes of memory."),
  maxFileSize: absentOr(atLeast(0), "Bytes of any one file it writes."),
  maxFileDescriptors: absentOr(atLeast(), "Files open at once."),
  maxProcesses: absentOr(atLeast(), "Processes at once."),
});

export const r1DeclarationField = exactRecord({
  id: toolIdField,
  version: versionField,
  name: described(nameText, "Name for people."),
  description: described(textUpTo(2_000), "What the tool is for."),
  inputSchema: described(anyObject, "JSON Schema 2020-12 of the input."),
  outputSchema: described(anyObject, "JSON Schema 2020-12 of the result."),
  requiredCapabilities: capabilitiesField,
  resourceLimits: described(r1LimitsField, "What one execution may use."),
  deterministic: deterministicField,
  idempotent: idempotentField,
  metadata: absentOr(anyObject, "Anything else the author wants to keep with the tool."),
});
/** A tool declaration in R1's words (R1-4.1): one input and one output schema. */
export type R1Declaration = Infer<typeof r1DeclarationField>;

export const R1_DECLARATION_SCHEMA = publishedSchema(
  "r1-tool-declaration",
  "Tool declaration (R1)",
  described(r1DeclarationField, "One version of a tool with a single operation."),
);

/** Translates a declaration that fits R1_DECLARATION_SCHEMA; the result fits MANIFEST_SCHEMA. */
export function fromR1Declaration(declared: R1Declaration): ToolManifest {
  const { inputSchema, outputSchema, resourceLimits, metadata, ...same } = declared;
  return completeManifest({
    ...same,
    operations: { [DEFAULT_OPERATION]: { description: declared.description, inputSchema, outputSchema } },
    limits: defined({
      timeoutMs: resourceLimits.maxExecutionTime,
      memoryBytes: resourceLimits.maxMemory,
      maxFileBytes: resourceLimits.maxFileSize,
      maxOpenFiles: resourceLimits.maxFileDescriptors,
      maxProcesses: resourceLimits.maxProcesses,
    }),
    source: { type: "native", ...defined({ metadata }) },
  });
}

const l3RetryField = exactRecord({
  max_attempts: absentOr(attemptsField, "Attempts in all; 3 when left out."),
  base_delay_ms: absentOr(atLeast(0), "Milliseconds before the first repetition; 1000 when left out."),
  max_delay_ms: absentOr(atLeast(0), "Longest pause in milliseconds; 60000 when left out."),
  retryable_errors: absentOr(errorNamesField, "Only these are repeated."),
});

const l3CircuitBreakerField = exactRecord({
  failure_rate_threshold: absentOr(percentField),
  sliding_window_size: absentOr(atLeast(), "How many recent calls are counted."),
  wait_duration_seconds: absentOr(atLeast(0), "Seconds before test calls are let through."),
});

const l3ExecutionField = exactRecord({
  default_timeout_seconds: absentOr(
    wholeNumber("seconds, at most a day", { minimum: 1, maximum: 86_400 }),
    "Seconds one execution may take; 30 when left out.",
  ),
  default_cpu_millicore_limit: absentOr(atLeast(), "Thousandths of a processor; 500 when left out."),
  default_memory_mb_limit: absentOr(atLeast(), "Megabytes of memory; 1024 when left out."),
  requires_approval: absentOr(flag, "A person must approve each call."),
  retry_policy: absentOr(l3RetryField, "How a failed execution is repeated."),
  circuit_breaker_config: absentOr(l3CircuitBreakerField, "When calls are blocked after too many failures."),
});

export const l3ManifestField = exactRecord({
  tool_id: toolIdField,
  tool_name: described(nameText, "Name for people."),
  description: absentOr(textUpTo(2_000), "What the tool is for; the name when left out."),
  category: absentOr(oneOf(TOOL_CATEGORIES), "What the tool works on."),
  version: versionField,
  parameters_schema: described(anyObject, "JSON Schema 2020-12 of the input."),
  result_schema: absentOr(
    anyObject,
    "JSON Schema 2020-12 of the result; without it results are not checked.",
  ),
  permissions: absentOr(permissionsField(absentOr(accessModeField))),
  execution_config: absentOr(l3ExecutionField, "How the tool is run."),
  tags: absentOr(tagsField),
  source_type: absentOr(oneOf(SOURCE_TYPES), "Where the tool comes from."),
  source_metadata: absentOr(anyObject, "What the source needs to find the tool again."),
  compatibility_range: absentOr(textUpTo(256), "SemVer range of the callers' versions this one works with."),
  release_notes: absentOr(textUpTo(20_000), "What changed in this version."),
});
/** A tool manifest in L3's words (L3-REG-1): snake_case, seconds and megabytes, one operation. */
export type L3Manifest = Infer<typeof l3ManifestField>;

export const L3_MANIFEST_SCHEMA = publishedSchema(
  "l3-tool-manifest",
  "Tool manifest (L3)",
  described(l3ManifestField, "One version of a tool with a single operation."),
);

/** Translates a manifest that fits L3_MANIFEST_SCHEMA; the result fits MANIFEST_SCHEMA. */
export function fromL3Manifest(manifest: L3Manifest): ToolManifest {
  const { permissions, execution_config: config } = manifest;
  const description = manifest.description ?? manifest.tool_name;
  const breaker = config?.circuit_breaker_config;
  return completeManifest({
    id: manifest.tool_id,
    version: manifest.version,
    name: manifest.tool_name,
    description,
    operations: {
      [DEFAULT_OPERATION]: {
        description,
        inputSchema: manifest.parameters_schema,
        ...defined({ outputSchema: manifest.result_schema }),
      },
    },
    source: { type: manifest.source_type ?? "native", ...defined({ metadata: manifest.source_metadata }) },
    permissions: {
      ...defined({ network: permissions?.network, credentials: permissions?.credentials }),
      filesystem: (permissions?.filesystem ?? []).map(({ path, mode }) => ({ path, mode: mode ?? "ro" })),
    },
    limits: defined({
      timeoutMs: seconds(config?.default_timeout_seconds),
      memoryBytes: megabytes(config?.default_memory_mb_limit),
      cpuMillicores: config?.default_cpu_millicore_limit,
    }),
    ...defined({
      category: manifest.category,
      tags: manifest.tags,
      compatibilityRange: manifest.compatibility_range,
      releaseNotes: manifest.release_notes,
      requiresApproval: config?.requires_approval,
      retry: config?.retry_policy && retryFrom(config.retry_policy),
      circuitBreaker:
        breaker &&
        defined({
          failureRateThreshold: breaker.failure_rate_threshold,
          slidingWindowSize: breaker.sliding_window_size,
          waitDurationMs: seconds(breaker.wait_duration_seconds),
        }),
    }),
  });
}

function retryFrom(policy: Infer<typeof l3RetryField>): RetryPolicy {
  return {
    maxAttempts: policy.max_attempts ?? 3,
    baseDelayMs: policy.base_delay_ms ?? 1000,
    maxDelayMs: policy.max_delay_ms ?? 60_000,
    ...defined({ retryableErrors: policy.retryable_errors }),
  };
}
