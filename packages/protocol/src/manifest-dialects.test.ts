import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, it } from "vitest";
import { DEFAULT_LIMITS, MANIFEST_SCHEMA } from "./manifest.ts";
import {
  fromL3Manifest,
  fromR1Declaration,
  L3_MANIFEST_SCHEMA,
  type L3Manifest,
  manifestDialect,
  R1_DECLARATION_SCHEMA,
  type R1Declaration,
} from "./manifest-dialects.ts";

const ajv = new Ajv2020({ strict: true, allErrors: true });
const isCanonical = ajv.compile(MANIFEST_SCHEMA);
const isR1 = ajv.compile(R1_DECLARATION_SCHEMA);
const isL3 = ajv.compile(L3_MANIFEST_SCHEMA);

const INPUT = { type: "object", properties: { path: { type: "string" } }, required: ["path"] };
const OUTPUT = { type: "object", properties: { size: { type: "integer" } }, required: ["size"] };

const DECLARATION: R1Declaration = {
  id: "file.size",
  version: "1.2.0",
  name: "File size",
  description: "Tells how large a file is.",
  inputSchema: INPUT,
  outputSchema: OUTPUT,
  requiredCapabilities: ["filesystem.read"],
  resourceLimits: {
    maxExecutionTime: 5000,
    maxMemory: 10_485_760,
    maxFileSize: 1024,
    maxFileDescriptors: 8,
    maxProcesses: 2,
  },
  deterministic: true,
  idempotent: true,
  metadata: { team: "storage" },
};

const L3: L3Manifest = {
  tool_id: "analyze_code",
  tool_name: "Analyse code",
  description: "Finds problems in a source tree.",
  category: "file_system",
  version: "2.0.0",
  parameters_schema: INPUT,
  result_schema: OUTPUT,
  permissions: {
    filesystem: [{ path: "/workspace", mode: "rw" }, { path: "/usr" }],
    network: [{ host: "api.example.com", port: 443 }],
    credentials: ["api_token"],
  },
  execution_config: {
    default_timeout_seconds: 60,
    default_cpu_millicore_limit: 250,
    default_memory_mb_limit: 512,
    requires_approval: true,
    retry_policy: { max_attempts: 5, base_delay_ms: 10, max_delay_ms: 20, retryable_errors: ["E3304"] },
    circuit_breaker_config: {
      failure_rate_threshold: 50,
      sliding_window_size: 20,
      wait_duration_seconds: 30,
    },
  },
  tags: ["code"],
  source_type: "mcp",
  source_metadata: { mcp_server: "analysis" },
  compatibility_range: "^2.0.0",
  release_notes: "Faster.",
};

describe("fromR1Declaration", () => {
  it("keeps everything a tool declares [R1-4.1]", () => {
    expect(isR1(DECLARATION)).toBe(true);
    expect(fromR1Declaration(DECLARATION)).toMatchObject({
      id: "file.size",
      version: "1.2.0",
      name: "File size",
      description: "Tells how large a file is.",
      operations: {
        run: { description: "Tells how large a file is.", inputSchema: INPUT, outputSchema: OUTPUT },
      },
      requiredCapabilities: ["filesystem.read"],
      limits: {
        timeoutMs: 5000,
        memoryBytes: 10_485_760,
        maxFileBytes: 1024,
        maxOpenFiles: 8,
        maxProcesses: 2,
      },
      deterministic: true,
      idempotent: true,
      // A declaration cannot rule them out.
      sideEffects: "external",
      source: { type: "native", metadata: { team: "storage" } },
    });
  });

  it.each(R1_DECLARATION_SCHEMA.required as string[])(
    "is refused by its schema without %s [R1-4.1]",
    (name) => {
      expect(isR1({ ...DECLARATION, [name]: undefined })).toBe(false);
      expect(isR1.errors?.map(({ params }) => params.missingProperty)).toEqual([name]);
    },
  );

  it("gives a manifest that fits the canonical schema, also when the optional limits are left out", () => {
    const { metadata: _, ...bare } = DECLARATION;
    const resourceLimits = { maxExecutionTime: 1, maxMemory: 1 };
    expect(isCanonical(fromR1Declaration(DECLARATION))).toBe(true);
    expect(isCanonical(fromR1Declaration({ ...bare, resourceLimits }))).toBe(true);
    expect(fromR1Declaration({ ...bare, resourceLimits }).source).toEqual({ type: "native" });
  });
});

describe("fromL3Manifest", () => {
  it("keeps everything a manifest says, in milliseconds and bytes [L3-REG-1]", () => {
    expect(isL3(L3)).toBe(true);
    expect(isCanonical(fromL3Manifest(L3))).toBe(true);
    expect(fromL3Manifest(L3)).toMatchObject({
      id: "analyze_code",
      version: "2.0.0",
      name: "Analyse code",
      category: "file_system",
      tags: ["code"],
      source: { type: "mcp", metadata: { mcp_server: "analysis" } },
      operations: { run: { inputSchema: INPUT, outputSchema: OUTPUT } },
      permissions: {
        filesystem: [
          { path: "/workspace", mode: "rw" },
          { path: "/usr", mode: "ro" },
        ],
        network: [{ host: "api.example.com", port: 443 }],
        credentials: ["api_token"],
      },
      limits: { timeoutMs: 60_000, memoryBytes: 536_870_912, cpuMillicores: 250 },
      requiresApproval: true,
      retry: { maxAttempts: 5, baseDelayMs: 10, maxDelayMs: 20, retryableErrors: ["E3304"] },
      circuitBreaker: { failureRateThreshold: 50, slidingWindowSize: 20, waitDurationMs: 30_000 },
      compatibilityRange: "^2.0.0",
      releaseNotes: "Faster.",
    });
  });

  it("fills in the L3 defaults [L3-REG-1]", () => {
    const least: L3Manifest = {
      tool_id: "t",
      tool_name: "Tool",
      version: "1.0.0",
      parameters_schema: INPUT,
      execution_config: { retry_policy: {} },
    };
    const manifest = fromL3Manifest(least);
    expect(isL3(least)).toBe(true);
    expect(isCanonical(manifest)).toBe(true);
    expect(manifest.limits).toEqual({ ...DEFAULT_LIMITS, timeoutMs: 30_000, memoryBytes: 1024 ** 3 });
    expect(manifest.retry).toEqual({ maxAttempts: 3, baseDelayMs: 1000, maxDelayMs: 60_000 });
    expect(manifest.requiresApproval).toBe(false);
    expect(manifest.description).toBe("Tool");
    expect(Object.hasOwn(manifest.operations.run ?? {}, "outputSchema")).toBe(false);
  });

  it.each([
    ["/category", { category: "games" }],
    ["/source_type", { source_type: "npm" }],
    ["/version", { version: "2" }],
    [
      "/execution_config/circuit_breaker_config/failure_rate_threshold",
      {
        execution_config: { circuit_breaker_config: { failure_rate_threshold: 120 } },
      },
    ],
  ])("is refused by its schema for a bad %s [L3-REG-1]", (place, change) => {
    expect(isL3({ ...L3, ...change })).toBe(false);
    expect(isL3.errors?.map(({ instancePath }) => instancePath)).toEqual([place]);
  });
});

describe("manifestDialect", () => {
  it.each([
    ["r1", DECLARATION],
    ["l3", L3],
    ["canonical", fromR1Declaration(DECLARATION)],
    ["l3", { parameters_schema: {} }],
    ["r1", { id: "x", inputSchema: {} }],
    ["canonical", { id: "x" }],
    ["canonical", null],
    ["canonical", []],
    ["canonical", "tool_id"],
  ])("takes for %s %j", (dialect, value) => {
    expect(manifestDialect(value)).toBe(dialect);
  });
});
