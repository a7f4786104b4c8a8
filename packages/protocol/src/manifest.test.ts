import { readFileSync } from "node:fs";
import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fitting } from "./fixtures/fitting.ts";
import { isJsonObject, type JsonObject, type JsonSchema, type JsonValue } from "./json.ts";
import {
  completeManifest,
  DEFAULT_LIMITS,
  MANIFEST_SCHEMA,
  type ManifestDraft,
  manifestField,
} from "./manifest.ts";
import { L3_MANIFEST_SCHEMA, manifestDialect, R1_DECLARATION_SCHEMA } from "./manifest-dialects.ts";

const ajv = new Ajv2020({ strict: true, allErrors: true });
const validate = ajv.compile(MANIFEST_SCHEMA);

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
    const permissions = { credentials: ["key"] };
    const complete = completeManifest({ ...MINIMAL, limits: { timeoutMs: 5 }, permissions });
    expect(complete.limits).toEqual({ ...DEFAULT_LIMITS, timeoutMs: 5 });
    expect(complete.permissions).toEqual({ filesystem: [], network: [], credentials: ["key"] });
  });

  it("takes any draft that fits the schema, loses nothing of it and is done after one pass", () => {
    const drafts = fitting(MANIFEST_SCHEMA).map(
      (draft) => structuredClone(draft) as unknown as ManifestDraft,
    );
    fc.assert(
      fc.property(drafts, (draft) => {
        const complete = completeManifest(draft);
        expect(wrongPlaces(draft)).toEqual([]);
        expect(wrongPlaces(complete)).toEqual([]);
        expect(complete).toMatchObject(draft);
        expect(completeManifest(complete)).toEqual(complete);
      }),
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
  ["/version", { version: `1.0.0-${"a".repeat(256)}` }],
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
  it.each(["1.0.0", "1.0.0-rc.1", "0.0.1", "10.20.30-alpha-2.x7z"])(
    "takes a manifest with only the required fields and the version %s",
    (version) => {
      expect(wrongPlaces({ ...MINIMAL, version })).toEqual([]);
    },
  );

  it.each(["id", "version", "name", "description", "operations"])("names a missing %s", (name) => {
    expect(wrongPlaces({ ...MINIMAL, [name]: undefined })).toEqual([`/${name}`]);
  });

  it.each(BAD_FIELDS)("names %s as wrong in %j", (place, change) => {
    expect(wrongPlaces({ ...MINIMAL, ...change })).toContain(place);
    expect(manifestField({ ...MINIMAL, ...change }, "", [])).toBe(false);
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

/** Pointers of the properties, however deep, that have no description. */
function undescribed(schema: JsonValue, path = ""): string[] {
  if (!isJsonObject(schema)) return [];
  return Object.entries(schema).flatMap(([key, value]) => {
    if (key !== "properties" || !isJsonObject(value)) return undescribed(value, `${path}/${key}`);
    return Object.entries(value).flatMap(([name, part]) => [
      ...(isJsonObject(part) && typeof part.description === "string" ? [] : [`${path}/${name}`]),
      ...undescribed(part, `${path}/${name}`),
    ]);
  });
}

const SCHEMAS = { canonical: MANIFEST_SCHEMA, r1: R1_DECLARATION_SCHEMA, l3: L3_MANIFEST_SCHEMA };

const propertiesOf = ({ properties }: JsonSchema) => properties as Record<string, JsonObject>;

describe("manifest schemas", () => {
  it.each(Object.entries(SCHEMAS))(
    "%s: is valid, strict JSON Schema 2020-12 with an id and a description everywhere",
    (_name, schema) => {
      expect(schema.$schema).toBe("https://json-schema.org/draft/2020-12/schema");
      expect(schema.$id).toMatch(/^https:\/\/sallyport\.dev\/schemas\//);
      expect(ajv.validateSchema(schema)).toBe(true);
      expect(undescribed(schema)).toEqual([]);
    },
  );

  it("R1 asks for every field of a tool declaration [R1-4.1]", () => {
    const { metadata: _, ...declared } = propertiesOf(R1_DECLARATION_SCHEMA);
    expect(R1_DECLARATION_SCHEMA.required).toEqual(Object.keys(declared));
  });

  it("L3 asks for id, name, version and parameters [L3-REG-1]", () => {
    const { category, source_type } = propertiesOf(L3_MANIFEST_SCHEMA);
    expect(L3_MANIFEST_SCHEMA.required).toEqual(["tool_id", "tool_name", "version", "parameters_schema"]);
    expect(category?.enum).toEqual(propertiesOf(MANIFEST_SCHEMA).category?.enum);
    expect(source_type?.enum).toEqual(["native", "mcp", "openapi", "langchain"]);
  });
});

describe("docs/manifest.md", () => {
  const doc = readFileSync(new URL("../../../docs/manifest.md", import.meta.url), "utf8");
  const examples = [...doc.matchAll(/```json\n(.*?)```/gs)].map(([, text]) => JSON.parse(text ?? ""));
  const fields = propertiesOf(MANIFEST_SCHEMA);

  it("shows one example of each dialect", () => {
    expect(examples.map(manifestDialect)).toEqual(["canonical", "r1", "l3"]);
  });

  it.each(examples)("shows a valid example %#", (example) => {
    ajv.validate(SCHEMAS[manifestDialect(example)], example);
    expect(ajv.errors ?? []).toEqual([]);
  });

  it.each(Object.keys(fields))("has a row for %s", (field) => {
    expect(doc).toContain(`\n| \`${field}\` |`);
  });

  it.each(Object.keys(propertiesOf(fields.limits ?? {})))("mentions the limit %s", (limit) => {
    expect(doc).toContain(`\`${limit}\``);
  });
});
