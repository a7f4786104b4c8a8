import type { JsonSchema } from "./json.ts";
import { SOURCE_TYPES, TOOL_CATEGORIES } from "./manifest.ts";
import {
  anyObject,
  choice,
  closedObject,
  count,
  flag,
  listOf,
  permissions,
  SCHEMA_BASE,
  SCHEMA_DIALECT,
  TIMEOUT_MS,
  TOOL_ID,
  text,
  VERSION,
} from "./manifest-schema-parts.ts";

const R1_LIMITS = closedObject(
  "What one execution may use.",
  {
    maxExecutionTime: TIMEOUT_MS,
    maxMemory: count("Bytes of memory."),
    maxFileSize: count("Bytes of any one file it writes.", 0),
    maxFileDescriptors: count("Files open at once."),
    maxProcesses: count("Processes at once."),
  },
  ["maxExecutionTime", "maxMemory"],
);

/** A tool declaration with one input and one output schema (R1-4.1). */
export const R1_DECLARATION_SCHEMA = {
  $schema: SCHEMA_DIALECT,
  $id: `${SCHEMA_BASE}/r1-tool-declaration.json`,
  title: "Tool declaration (R1)",
  ...closedObject(
    "One version of a tool with a single operation.",
    {
      id: TOOL_ID,
      version: VERSION,
      name: text("Name for people.", 255),
      description: text("What the tool is for."),
      inputSchema: anyObject("JSON Schema 2020-12 of the input."),
      outputSchema: anyObject("JSON Schema 2020-12 of the result."),
      requiredCapabilities: listOf(text("A capability id.", 255), "Capabilities the caller must be granted."),
      resourceLimits: R1_LIMITS,
      deterministic: flag("The same input and state always give the same result."),
      idempotent: flag("Running it twice has the effect of running it once."),
      metadata: anyObject("Anything else the author wants to keep with the tool."),
    },
    [
      "id",
      "version",
      "name",
      "description",
      "inputSchema",
      "outputSchema",
      "requiredCapabilities",
      "resourceLimits",
      "deterministic",
      "idempotent",
    ],
  ),
} satisfies JsonSchema;

const L3_RETRY_POLICY = closedObject("How a failed execution is repeated.", {
  max_attempts: { ...count("Attempts in all; 3 when left out."), maximum: 10 },
  base_delay_ms: count("Milliseconds before the first repetition; 1000 when left out.", 0),
  max_delay_ms: count("Longest pause in milliseconds; 60000 when left out.", 0),
  retryable_errors: listOf(text("An error code or kind.", 64), "Only these are repeated."),
});

const L3_CIRCUIT_BREAKER = closedObject("When calls are blocked after too many failures.", {
  failure_rate_threshold: {
    type: "number",
    minimum: 0,
    maximum: 100,
    description: "Percent of failures at which the breaker opens.",
  },
  sliding_window_size: count("How many recent calls are counted."),
  wait_duration_seconds: count("Seconds before test calls are let through.", 0),
});

const L3_EXECUTION_CONFIG = closedObject("How the tool is run.", {
  default_timeout_seconds: { ...count("Seconds one execution may take; 30 when left out."), maximum: 86_400 },
  default_cpu_millicore_limit: count("Thousandths of a processor; 500 when left out."),
  default_memory_mb_limit: count("Megabytes of memory; 1024 when left out."),
  requires_approval: flag("A person must approve each call."),
  retry_policy: L3_RETRY_POLICY,
  circuit_breaker_config: L3_CIRCUIT_BREAKER,
});

/** The tool manifest of the tool execution layer (L3-REG-1), with snake_case names and one operation. */
export const L3_MANIFEST_SCHEMA = {
  $schema: SCHEMA_DIALECT,
  $id: `${SCHEMA_BASE}/l3-tool-manifest.json`,
  title: "Tool manifest (L3)",
  ...closedObject(
    "One version of a tool with a single operation.",
    {
      tool_id: TOOL_ID,
      tool_name: text("Name for people.", 255),
      description: text("What the tool is for; the name when left out."),
      category: choice("What the tool works on.", TOOL_CATEGORIES),
      version: VERSION,
      parameters_schema: anyObject("JSON Schema 2020-12 of the input."),
      result_schema: anyObject("JSON Schema 2020-12 of the result; without it results are not checked."),
      permissions: permissions(["path"]),
      execution_config: L3_EXECUTION_CONFIG,
      tags: listOf(text("One tag.", 64), "Words to find the tool by."),
      source_type: choice("Where the tool comes from.", SOURCE_TYPES),
      source_metadata: anyObject("What the source needs to find the tool again."),
      compatibility_range: text("SemVer range of the callers' versions this one works with.", 256),
      release_notes: text("What changed in this version.", 20_000),
    },
    ["tool_id", "tool_name", "version", "parameters_schema"],
  ),
} satisfies JsonSchema;
