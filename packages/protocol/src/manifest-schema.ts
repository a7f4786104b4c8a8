import type { JsonSchema } from "./json.ts";
import { SOURCE_TYPES, TOOL_CATEGORIES, TOOL_KINDS, TOOL_STATUSES } from "./manifest.ts";
import {
  anyObject,
  CONDUCT_PROPERTIES,
  choice,
  closedObject,
  count,
  listOf,
  OPERATION_NAME_PATTERN,
  permissions,
  SCHEMA_BASE,
  SCHEMA_DIALECT,
  TIMEOUT_MS,
  TOOL_ID,
  text,
  VERSION,
} from "./manifest-schema-parts.ts";

export { L3_MANIFEST_SCHEMA, R1_DECLARATION_SCHEMA } from "./dialect-schemas.ts";
export { OPERATION_NAME_PATTERN, TOOL_ID_PATTERN, VERSION_PATTERN } from "./manifest-schema-parts.ts";

const OPERATION = closedObject(
  "One named thing the tool can do; what it says about itself goes before what the tool says.",
  {
    description: text("What the operation does, for the model that chooses it."),
    inputSchema: anyObject("JSON Schema 2020-12 of the input."),
    outputSchema: anyObject("JSON Schema 2020-12 of the result; without it results are not checked."),
    timeoutMs: TIMEOUT_MS,
    summary: text(
      "The call in one line for whoever approves it; {name} stands for an argument, [..] is left out without it.",
      500,
    ),
    ...CONDUCT_PROPERTIES,
  },
  ["description", "inputSchema"],
);

const OPERATIONS = {
  type: "object",
  description: "What the tool can do, by operation name.",
  minProperties: 1,
  propertyNames: { pattern: OPERATION_NAME_PATTERN },
  additionalProperties: OPERATION,
};

const LIMITS = closedObject("What one execution may use; left out fields keep their defaults.", {
  timeoutMs: TIMEOUT_MS,
  memoryBytes: count("Bytes of memory."),
  cpuMillicores: count("Share of processors, in thousandths of one."),
  cpuTimeMs: count("Milliseconds of processor time."),
  maxOutputBytes: count("Bytes of the result as JSON."),
  maxFileBytes: count("Bytes of any one file it writes.", 0),
  maxDiskBytes: count("Bytes of all that a process writes, together.", 0),
  maxOpenFiles: count("Files open at once."),
  maxProcesses: count("Processes at once."),
  maxConnections: count("Network connections at once.", 0),
  networkMbps: count("Network bandwidth in megabits a second."),
});

const SOURCE = closedObject(
  "Where the tool comes from.",
  {
    type: choice("The kind of source.", SOURCE_TYPES),
    metadata: anyObject("What the source needs to find the tool again."),
  },
  ["type"],
);

const TRANSPORT = closedObject(
  "How a worker is reached.",
  {
    type: text("The transport, such as http.", 64),
    baseUrl: text("Base address of the worker."),
    endpoint: text("Path of the endpoint below the base address."),
  },
  ["type"],
);

const RETRY = closedObject(
  "How the runtime repeats a failed execution of an idempotent tool.",
  {
    maxAttempts: { ...count("Attempts in all, the first one included."), maximum: 10 },
    baseDelayMs: count("Milliseconds before the first repetition; doubled each time.", 0),
    maxDelayMs: count("Longest pause in milliseconds.", 0),
    retryableErrors: listOf(
      text("An error code or kind.", 64),
      "Only these are repeated; all that may be when left out.",
    ),
  },
  ["maxAttempts", "baseDelayMs", "maxDelayMs"],
);

const CIRCUIT_BREAKER = closedObject("When calls are blocked after too many failures.", {
  failureRateThreshold: {
    type: "number",
    minimum: 0,
    maximum: 100,
    description: "Percent of failures at which the breaker opens.",
  },
  slidingWindowSize: count("How many recent calls are counted."),
  waitDurationMs: count("Milliseconds before test calls are let through.", 0),
});

/** What a draft of the canonical manifest must look like; `completeManifest` makes a ToolManifest of it. */
export const MANIFEST_SCHEMA = {
  $schema: SCHEMA_DIALECT,
  $id: `${SCHEMA_BASE}/tool-manifest.json`,
  title: "Tool manifest",
  ...closedObject(
    "One version of a tool.",
    {
      id: TOOL_ID,
      version: VERSION,
      name: text("Name for people.", 255),
      description: text("What the tool is for."),
      category: choice("What the tool works on.", TOOL_CATEGORIES),
      tags: listOf(text("One tag.", 64), "Words to find the tool by."),
      source: SOURCE,
      status: choice("Only an active tool can be called.", TOOL_STATUSES),
      securityLevel: {
        type: "integer",
        minimum: 0,
        maximum: 10,
        description: "What is asked of the caller: 0 nothing, 10 the most.",
      },
      operations: OPERATIONS,
      ...CONDUCT_PROPERTIES,
      permissions: permissions(["path", "mode"]),
      limits: LIMITS,
      kind: choice("How the tool is run: in process, by a service, or by a job for each call.", TOOL_KINDS),
      transport: TRANSPORT,
      egressAllowlist: listOf(text("host or host:port.", 300), "Where a worker may connect to."),
      retry: RETRY,
      circuitBreaker: CIRCUIT_BREAKER,
      compatibilityRange: text("SemVer range of the callers' versions this one works with.", 256),
      releaseNotes: text("What changed in this version.", 20_000),
    },
    ["id", "version", "name", "description", "operations"],
  ),
} satisfies JsonSchema;
