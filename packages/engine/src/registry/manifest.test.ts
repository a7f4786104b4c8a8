import { describe, expect, it } from "vitest";
import { createSchemaCompiler } from "../validate/index.ts";
import { ADD_INPUT, calculator } from "./fixtures/manifests.ts";
import { decodeManifest, manifestHash } from "./manifest.ts";

const judge = createSchemaCompiler();

function manifestOf(value: unknown) {
  const decoded = decodeManifest(value, judge);
  if (!decoded.ok) throw new Error(JSON.stringify(decoded.failure));
  return decoded.manifest;
}

function places(value: unknown): string[] {
  const decoded = decodeManifest(value, judge);
  if (decoded.ok) return [];
  expect(decoded.failure.code).toBe("E3008");
  return (decoded.failure.issues ?? []).map(({ path }) => path).sort();
}

const R1 = {
  id: "calc",
  version: "1.0.0",
  name: "Calculator",
  description: "Adds.",
  inputSchema: ADD_INPUT,
  outputSchema: { type: "number" },
  requiredCapabilities: ["math"],
  resourceLimits: { maxExecutionTime: 1000, maxMemory: 1_000_000 },
  deterministic: true,
  idempotent: true,
};
const L3 = { tool_id: "calc", tool_name: "Calculator", version: "1.0.0", parameters_schema: ADD_INPUT };
const DRAFT = {
  id: "calc",
  version: "1.0.0",
  name: "Calculator",
  description: "Adds.",
  operations: { add: { description: "Adds.", inputSchema: ADD_INPUT } },
};

describe("a manifest in any dialect", () => {
  it("becomes the one form the engine knows [R1-4.1] [L3-REG-1]", () => {
    expect(manifestOf(R1)).toMatchObject({
      id: "calc",
      deterministic: true,
      limits: { timeoutMs: 1000 },
      operations: { run: { inputSchema: ADD_INPUT } },
    });
    expect(manifestOf(L3)).toMatchObject({
      name: "Calculator",
      operations: { run: { inputSchema: ADD_INPUT } },
    });
    expect(manifestOf(DRAFT)).toMatchObject({ sideEffects: "external", operations: { add: {} } });
  });

  it("is a frozen copy", () => {
    const manifest = manifestOf(DRAFT);
    expect(Object.isFrozen(manifest.operations.add?.inputSchema.properties)).toBe(true);
    expect(Object.isFrozen(ADD_INPUT)).toBe(false);
  });

  it("may be one that was decoded before", () => {
    expect(manifestOf(calculator("1.0.0"))).toEqual(calculator("1.0.0"));
  });

  it("has a hash that depends on its content only", () => {
    const { id, ...rest } = calculator("1.0.0");
    expect(manifestHash({ ...rest, id })).toBe(manifestHash(calculator("1.0.0")));
    expect(manifestHash(calculator("1.0.1"))).not.toBe(manifestHash(calculator("1.0.0")));
    expect(manifestHash(calculator("1.0.0"))).toMatch(/^[0-9a-f]{64}$/);
  });
});

describe("a bad manifest is refused with every wrong field (E3008) [R1-4.1] [L3-REG-1]", () => {
  it.each<[string, unknown, string[]]>([
    [
      "in R1's words",
      { ...R1, id: "", version: "1", resourceLimits: { maxMemory: 1 }, inputSchema: { type: "text" } },
      ["/id", "/inputSchema/type", "/resourceLimits/maxExecutionTime", "/version"],
    ],
    [
      "in L3's words",
      {
        ...L3,
        tool_name: 5,
        result_schema: { $ref: "https://x" },
        compatibility_range: "not a range",
        execution_config: { retry_policy: { base_delay_ms: 9, max_delay_ms: 1 } },
      },
      [
        "/compatibility_range",
        "/execution_config/retry_policy/base_delay_ms",
        "/result_schema/$ref",
        "/tool_name",
      ],
    ],
    [
      "in the canonical words",
      {
        ...DRAFT,
        sideEffect: "none",
        operations: {
          "": { description: "x" },
          add: { description: "Adds.", inputSchema: { pattern: "(?=a)" } },
        },
      },
      [
        "/operations/",
        "/operations/",
        "/operations//inputSchema",
        "/operations/add/inputSchema/pattern",
        "/sideEffect",
      ],
    ],
    ["with a capability twice", { ...R1, requiredCapabilities: ["a", "a"] }, ["/requiredCapabilities"]],
    [
      "with nonsense limits",
      {
        ...DRAFT,
        limits: { timeoutMs: 0, memoryBytes: 10, maxOutputBytes: 20 },
        retry: { maxAttempts: 2, baseDelayMs: 5, maxDelayMs: 1 },
      },
      ["/limits/maxOutputBytes", "/limits/timeoutMs", "/retry/baseDelayMs"],
    ],
    ["with no operation", { ...DRAFT, operations: {} }, ["/operations"]],
    ["that is no object", "calc", [""]],
    ["that is not JSON", { ...DRAFT, tags: [undefined] }, [""]],
  ])("%s", (_name, value, expected) => {
    expect(places(value)).toEqual(expected);
  });
});
