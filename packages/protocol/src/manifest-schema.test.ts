import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, it } from "vitest";
import { isJsonObject, type JsonObject, type JsonSchema, type JsonValue } from "./json.ts";
import {
  type CircuitBreakerPolicy,
  type Conduct,
  type OperationManifest,
  type Permissions,
  type ResourceLimits,
  type RetryPolicy,
  TOOL_CATEGORIES,
  type ToolManifest,
  type Transport,
} from "./manifest.ts";
import type {
  L3CircuitBreakerConfig,
  L3ExecutionConfig,
  L3Manifest,
  L3RetryPolicy,
  R1Declaration,
  R1ResourceLimits,
} from "./manifest-dialects.ts";
import { L3_MANIFEST_SCHEMA, MANIFEST_SCHEMA, R1_DECLARATION_SCHEMA } from "./manifest-schema.ts";

/** Each list holds every field of its type or it does not compile. */
function fieldsOf<T>(fields: Record<keyof T & string, true>): string[] {
  return Object.keys(fields).sort();
}

const CONDUCT: Record<keyof Conduct, true> = {
  requiredCapabilities: true,
  sideEffects: true,
  deterministic: true,
  idempotent: true,
  requiresApproval: true,
  risk: true,
};

const manifest = MANIFEST_SCHEMA.properties;
const l3 = L3_MANIFEST_SCHEMA.properties;

const AGREEMENTS: [string, { properties: JsonObject }, string[]][] = [
  [
    "ToolManifest",
    MANIFEST_SCHEMA,
    fieldsOf<ToolManifest>({
      ...CONDUCT,
      id: true,
      version: true,
      name: true,
      description: true,
      category: true,
      tags: true,
      source: true,
      status: true,
      securityLevel: true,
      operations: true,
      permissions: true,
      limits: true,
      kind: true,
      transport: true,
      egressAllowlist: true,
      retry: true,
      circuitBreaker: true,
      compatibilityRange: true,
      releaseNotes: true,
    }),
  ],
  [
    "OperationManifest",
    manifest.operations.additionalProperties,
    fieldsOf<OperationManifest>({
      ...CONDUCT,
      description: true,
      inputSchema: true,
      outputSchema: true,
      timeoutMs: true,
      summary: true,
    }),
  ],
  [
    "ResourceLimits",
    manifest.limits,
    fieldsOf<ResourceLimits>({
      timeoutMs: true,
      memoryBytes: true,
      cpuMillicores: true,
      cpuTimeMs: true,
      maxOutputBytes: true,
      maxFileBytes: true,
      maxDiskBytes: true,
      maxOpenFiles: true,
      maxProcesses: true,
      maxConnections: true,
      networkMbps: true,
    }),
  ],
  [
    "Permissions",
    manifest.permissions,
    fieldsOf<Permissions>({ filesystem: true, network: true, credentials: true }),
  ],
  ["Transport", manifest.transport, fieldsOf<Transport>({ type: true, baseUrl: true, endpoint: true })],
  ["source", manifest.source, fieldsOf<ToolManifest["source"]>({ type: true, metadata: true })],
  [
    "RetryPolicy",
    manifest.retry,
    fieldsOf<RetryPolicy>({ maxAttempts: true, baseDelayMs: true, maxDelayMs: true, retryableErrors: true }),
  ],
  [
    "CircuitBreakerPolicy",
    manifest.circuitBreaker,
    fieldsOf<CircuitBreakerPolicy>({
      failureRateThreshold: true,
      slidingWindowSize: true,
      waitDurationMs: true,
    }),
  ],
  [
    "R1Declaration",
    R1_DECLARATION_SCHEMA,
    fieldsOf<R1Declaration>({
      id: true,
      version: true,
      name: true,
      description: true,
      inputSchema: true,
      outputSchema: true,
      requiredCapabilities: true,
      resourceLimits: true,
      deterministic: true,
      idempotent: true,
      metadata: true,
    }),
  ],
  [
    "R1ResourceLimits",
    R1_DECLARATION_SCHEMA.properties.resourceLimits,
    fieldsOf<R1ResourceLimits>({
      maxExecutionTime: true,
      maxMemory: true,
      maxFileSize: true,
      maxFileDescriptors: true,
      maxProcesses: true,
    }),
  ],
  [
    "L3Manifest",
    L3_MANIFEST_SCHEMA,
    fieldsOf<L3Manifest>({
      tool_id: true,
      tool_name: true,
      version: true,
      parameters_schema: true,
      description: true,
      category: true,
      result_schema: true,
      permissions: true,
      execution_config: true,
      tags: true,
      source_type: true,
      source_metadata: true,
      compatibility_range: true,
      release_notes: true,
    }),
  ],
  [
    "L3ExecutionConfig",
    l3.execution_config,
    fieldsOf<L3ExecutionConfig>({
      default_timeout_seconds: true,
      default_cpu_millicore_limit: true,
      default_memory_mb_limit: true,
      requires_approval: true,
      retry_policy: true,
      circuit_breaker_config: true,
    }),
  ],
  [
    "L3RetryPolicy",
    l3.execution_config.properties.retry_policy,
    fieldsOf<L3RetryPolicy>({
      max_attempts: true,
      base_delay_ms: true,
      max_delay_ms: true,
      retryable_errors: true,
    }),
  ],
  [
    "L3CircuitBreakerConfig",
    l3.execution_config.properties.circuit_breaker_config,
    fieldsOf<L3CircuitBreakerConfig>({
      failure_rate_threshold: true,
      sliding_window_size: true,
      wait_duration_seconds: true,
    }),
  ],
];

/** Pointers of the properties, however deep, that have no description. */
function undescribed(schema: JsonValue, path = ""): string[] {
  if (!isJsonObject(schema)) return [];
  return Object.entries(schema).flatMap(([key, value]) => {
    if (key !== "properties" || !isJsonObject(value)) return undescribed(value, `${path}/${key}`);
    const bare = Object.keys(value).filter((name) => typeof propertyOf(value, name).description !== "string");
    return [
      ...bare.map((name) => `${path}/${name}`),
      ...Object.keys(value).flatMap((name) => undescribed(propertyOf(value, name), `${path}/${name}`)),
    ];
  });
}

function propertyOf(object: JsonObject, name: string): JsonObject {
  const value = object[name];
  if (!isJsonObject(value)) throw new Error(`${name} is not a schema`);
  return value;
}

const SCHEMAS: [string, JsonSchema][] = [
  ["canonical", MANIFEST_SCHEMA],
  ["R1", R1_DECLARATION_SCHEMA],
  ["L3", L3_MANIFEST_SCHEMA],
];

describe("manifest schemas", () => {
  it.each(AGREEMENTS)("%s: the schema and the type have the same fields", (_name, schema, fields) => {
    expect(Object.keys(schema.properties).sort()).toEqual(fields);
  });

  it.each(SCHEMAS)(
    "%s: is valid, strict JSON Schema 2020-12 with an id and a description everywhere",
    (_name, schema) => {
      expect(schema.$schema).toBe("https://json-schema.org/draft/2020-12/schema");
      expect(schema.$id).toMatch(/^https:\/\/sallyport\.dev\/schemas\//);
      expect(new Ajv2020({ strict: true }).validateSchema(schema)).toBe(true);
      expect(undescribed(schema)).toEqual([]);
    },
  );

  it("R1 asks for every field of a tool declaration [R1-4.1]", () => {
    const { metadata: _, ...declared } = R1_DECLARATION_SCHEMA.properties;
    expect([...R1_DECLARATION_SCHEMA.required].sort()).toEqual(Object.keys(declared).sort());
  });

  it("L3 asks for id, name, version and parameters [L3-REG-1]", () => {
    expect(L3_MANIFEST_SCHEMA.required).toEqual(["tool_id", "tool_name", "version", "parameters_schema"]);
    expect(l3.category.enum).toEqual(TOOL_CATEGORIES);
    expect([...l3.source_type.enum].sort()).toEqual(["langchain", "mcp", "native", "openapi"]);
  });
});
