import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  DEFAULT_LIMITS,
  RISKS,
  SIDE_EFFECTS,
  SOURCE_TYPES,
  TOOL_CATEGORIES,
  TOOL_KINDS,
  TOOL_STATUSES,
} from "./manifest.ts";
import { completeManifest, type ManifestDraft } from "./manifest-draft.ts";
import {
  MANIFEST_SCHEMA,
  OPERATION_NAME_PATTERN,
  TOOL_ID_PATTERN,
  VERSION_PATTERN,
} from "./manifest-schema.ts";

const validate = new Ajv2020({ strict: true, allErrors: true }).compile(MANIFEST_SCHEMA);

/** The places found wrong; a field that is missing or should not be there is named like any other. */
function wrongPlaces(value: unknown): string[] {
  validate(value);
  return (validate.errors ?? []).map(({ instancePath, params }) => {
    const name = params.missingProperty ?? params.additionalProperty;
    return name === undefined ? instancePath : `${instancePath}/${name}`;
  });
}

const MINIMAL: ManifestDraft = {
  id: "calculator",
  version: "1.0.0",
  name: "Calculator",
  description: "Adds numbers.",
  operations: { add: { description: "Adds two numbers.", inputSchema: { type: "object" } } },
};

const words = fc.string({ minLength: 1, maxLength: 40 });
const schema = fc.constantFrom(
  { type: "object" },
  { type: "object", properties: {}, additionalProperties: false },
);
const count = fc.integer({ min: 1, max: 86_400_000 });
const conduct = {
  requiredCapabilities: fc.uniqueArray(words),
  sideEffects: fc.constantFrom(...SIDE_EFFECTS),
  deterministic: fc.boolean(),
  idempotent: fc.boolean(),
  requiresApproval: fc.boolean(),
  risk: fc.constantFrom(...RISKS),
};

const operation = fc.record(
  { description: words, inputSchema: schema, outputSchema: schema, timeoutMs: count, ...conduct },
  { requiredKeys: ["description", "inputSchema"] },
);

const metadata = fc.dictionary(words, fc.oneof(words, fc.boolean(), fc.constant(null)));

/** Any draft the type allows, within the ranges the schema states. */
const drafts: fc.Arbitrary<ManifestDraft> = fc.record(
  {
    id: fc.stringMatching(new RegExp(TOOL_ID_PATTERN)),
    version: fc.stringMatching(new RegExp(VERSION_PATTERN)),
    name: words,
    description: words,
    category: fc.constantFrom(...TOOL_CATEGORIES),
    tags: fc.uniqueArray(words),
    source: fc.record({ type: fc.constantFrom(...SOURCE_TYPES), metadata }, { requiredKeys: ["type"] }),
    status: fc.constantFrom(...TOOL_STATUSES),
    securityLevel: fc.integer({ min: 0, max: 10 }),
    operations: fc.dictionary(fc.stringMatching(new RegExp(OPERATION_NAME_PATTERN)), operation, {
      minKeys: 1,
      maxKeys: 3,
    }),
    ...conduct,
    permissions: fc.record(
      {
        filesystem: fc.uniqueArray(
          fc.record({ path: words, mode: fc.constantFrom("ro" as const, "rw" as const) }),
          {
            selector: ({ path }) => path,
          },
        ),
        network: fc.uniqueArray(
          fc.record({ host: words, port: fc.integer({ min: 1, max: 65535 }) }, { requiredKeys: ["host"] }),
          { selector: ({ host }) => host },
        ),
        credentials: fc.uniqueArray(words),
      },
      { requiredKeys: [] },
    ),
    limits: fc.record(
      {
        timeoutMs: count,
        memoryBytes: count,
        cpuMillicores: count,
        cpuTimeMs: count,
        maxOutputBytes: count,
        maxFileBytes: count,
        maxDiskBytes: count,
        maxOpenFiles: count,
        maxProcesses: count,
        maxConnections: count,
        networkMbps: count,
      },
      { requiredKeys: [] },
    ),
    kind: fc.constantFrom(...TOOL_KINDS),
    transport: fc.record({ type: words, baseUrl: words, endpoint: words }, { requiredKeys: ["type"] }),
    egressAllowlist: fc.uniqueArray(words),
    retry: fc.record(
      {
        maxAttempts: fc.integer({ min: 1, max: 10 }),
        baseDelayMs: fc.nat(),
        maxDelayMs: fc.nat(),
        retryableErrors: fc.uniqueArray(words),
      },
      { requiredKeys: ["maxAttempts", "baseDelayMs", "maxDelayMs"] },
    ),
    circuitBreaker: fc.record(
      {
        failureRateThreshold: fc.integer({ min: 0, max: 100 }),
        slidingWindowSize: count,
        waitDurationMs: fc.nat(),
      },
      { requiredKeys: [] },
    ),
    compatibilityRange: words,
    releaseNotes: words,
  },
  { requiredKeys: ["id", "version", "name", "description", "operations"] },
);

describe("completeManifest", () => {
  it("fills in every default a draft leaves open", () => {
    expect(completeManifest(MINIMAL)).toEqual({
      ...MINIMAL,
      category: "computation",
      tags: [],
      source: { type: "native" },
      status: "active",
      securityLevel: 0,
      kind: "function",
      requiredCapabilities: [],
      sideEffects: "external",
      deterministic: false,
      idempotent: false,
      requiresApproval: false,
      risk: "medium",
      permissions: { filesystem: [], network: [], credentials: [] },
      limits: DEFAULT_LIMITS,
    });
  });

  it.each([
    ["none", "low"],
    ["state", "medium"],
    ["external", "medium"],
  ] as const)("takes side effects %s for a %s risk unless told otherwise", (sideEffects, risk) => {
    expect(completeManifest({ ...MINIMAL, sideEffects }).risk).toBe(risk);
    expect(completeManifest({ ...MINIMAL, sideEffects, risk: "critical" }).risk).toBe("critical");
  });

  it("keeps the limits and permissions that are stated and fills in the others", () => {
    const complete = completeManifest({
      ...MINIMAL,
      limits: { timeoutMs: 5 },
      permissions: { credentials: ["key"] },
    });
    expect(complete.limits).toEqual({ ...DEFAULT_LIMITS, timeoutMs: 5 });
    expect(complete.permissions).toEqual({ filesystem: [], network: [], credentials: ["key"] });
  });

  it("takes any draft of the type, loses nothing of it and is done after one pass", () => {
    fc.assert(
      fc.property(
        drafts.map((draft) => structuredClone(draft)),
        (draft) => {
          const complete = completeManifest(draft);
          expect(wrongPlaces(draft)).toEqual([]);
          expect(wrongPlaces(complete)).toEqual([]);
          expect(complete).toMatchObject(draft);
          expect(completeManifest(complete)).toEqual(complete);
        },
      ),
    );
  });
});

const operations = (change: object) => ({ add: { ...MINIMAL.operations.add, ...change } });

const BAD_FIELDS: [string, object][] = [
  ["/id", { id: "9lives" }],
  ["/id", { id: `a${"b".repeat(255)}` }],
  ["/version", { version: "1.0" }],
  ["/version", { version: "01.0.0" }],
  ["/version", { version: "1.0.0+build" }],
  ["/version", { version: "1.0.0-01" }],
  ["/name", { name: "" }],
  ["/description", { description: 1 }],
  ["/category", { category: "games" }],
  ["/tags", { tags: ["a", "a"] }],
  ["/source/type", { source: { type: "npm" } }],
  ["/status", { status: "paused" }],
  ["/securityLevel", { securityLevel: 11 }],
  ["/operations", { operations: {} }],
  ["/operations", { operations: { "no spaces": MINIMAL.operations.add } }],
  ["/operations/add/inputSchema", { operations: { add: { description: "Adds." } } }],
  ["/operations/add/risk", { operations: operations({ risk: "none" }) }],
  ["/operations/add/timeoutMs", { operations: operations({ timeoutMs: 0 }) }],
  ["/operations/add/handler", { operations: operations({ handler: "x" }) }],
  ["/requiredCapabilities/0", { requiredCapabilities: [""] }],
  ["/sideEffects", { sideEffects: "some" }],
  ["/deterministic", { deterministic: "yes" }],
  ["/permissions/filesystem/0/mode", { permissions: { filesystem: [{ path: "/tmp" }] } }],
  ["/permissions/network/0/port", { permissions: { network: [{ host: "h", port: 70_000 }] } }],
  ["/limits/timeoutMs", { limits: { timeoutMs: 1.5 } }],
  ["/limits/memory", { limits: { memory: 1 } }],
  ["/kind", { kind: "thread" }],
  ["/transport/type", { transport: {} }],
  ["/retry/maxAttempts", { retry: { maxAttempts: 0, baseDelayMs: 0, maxDelayMs: 0 } }],
  ["/circuitBreaker/failureRateThreshold", { circuitBreaker: { failureRateThreshold: 101 } }],
  ["/timeout", { timeout: 5 }],
];

describe("MANIFEST_SCHEMA", () => {
  it("takes a manifest with only the required fields", () => {
    expect(wrongPlaces(MINIMAL)).toEqual([]);
  });

  it.each(["1.0.0-rc.1", "0.0.1", "10.20.30-alpha-2.x7z"])("takes the version %s", (version) => {
    expect(wrongPlaces({ ...MINIMAL, version })).toEqual([]);
  });

  it.each(["id", "version", "name", "description", "operations"])("names a missing %s", (name) => {
    expect(wrongPlaces({ ...MINIMAL, [name]: undefined })).toEqual([`/${name}`]);
  });

  it.each(BAD_FIELDS)("names %s as wrong in %j", (place, change) => {
    expect(wrongPlaces({ ...MINIMAL, ...change })).toContain(place);
  });

  it("judges objects with hostile field names without throwing", () => {
    const network = [{ valueOf: 1 }, { valueOf: 1 }];
    expect(wrongPlaces({ ...MINIMAL, permissions: { network } })).toContain("/permissions/network/0/valueOf");
  });

  it("names every wrong field at once", () => {
    const wrong = { ...MINIMAL, version: "one", risk: "huge", limits: { timeoutMs: -1 } };
    expect(wrongPlaces(wrong).sort()).toEqual(["/limits/timeoutMs", "/risk", "/version"]);
  });
});
