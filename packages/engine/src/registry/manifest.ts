import { createHash } from "node:crypto";
import {
  canonicalJson,
  completeManifest,
  deepFreeze,
  type Failure,
  failure,
  fromL3Manifest,
  fromR1Declaration,
  type Issue,
  isJsonObject,
  type JsonObject,
  type JsonSchema,
  type JsonValue,
  L3_MANIFEST_SCHEMA,
  type L3Manifest,
  MANIFEST_SCHEMA,
  type ManifestDialect,
  type ManifestDraft,
  manifestDialect,
  R1_DECLARATION_SCHEMA,
  type R1Declaration,
  type ToolManifest,
} from "@sallyport/protocol";
import { valid, validRange } from "semver";
import type { ToolRecord } from "../ports/tools.ts";

type DecodedManifest = { ok: true; manifest: ToolManifest } | { ok: false; failure: Failure };

/** What the registry needs of a JSON Schema compiler; the engine's own fits. */
interface SchemaChecker {
  /** Why a schema cannot be used; undefined when it can. */
  check(schema: unknown): Failure | undefined;
  compile(schema: JsonSchema): {
    validate(
      value: JsonValue,
    ):
      | { readonly ok: true }
      | { readonly ok: false; readonly kind: "invalid"; readonly issues: Issue[] }
      | { readonly ok: false; readonly kind: "unusable"; readonly failure: Failure };
  };
}

const SCHEMAS: Record<ManifestDialect, JsonSchema> = {
  canonical: MANIFEST_SCHEMA,
  r1: R1_DECLARATION_SCHEMA,
  l3: L3_MANIFEST_SCHEMA,
};

/**
 * Reads a manifest in any dialect (R1-4.1, L3-REG-1) into the one form the engine knows, frozen and copied.
 * A refusal (E3008) names every wrong field in the words of the dialect it was written in.
 */
export function decodeManifest(raw: unknown, checker: SchemaChecker): DecodedManifest {
  let value: JsonValue;
  try {
    value = JSON.parse(canonicalJson(raw as JsonValue));
  } catch (thrown) {
    return refused([{ path: "", reason: thrown instanceof Error ? thrown.message : "cannot be read" }]);
  }
  const dialect = manifestDialect(value);
  const issues = shapeIssues(value, SCHEMAS[dialect], checker);
  // A field that has the wrong shape needs no second issue about its content.
  const wrong = new Set(issues.map(({ path }) => path));
  const further = isJsonObject(value) ? contentIssues(value, dialect, checker) : [];
  issues.push(...further.filter(({ path }) => !wrong.has(path)));
  if (issues.length > 0) return refused(issues);
  return { ok: true, manifest: deepFreeze(translate(value, dialect)) };
}

function refused(issues: Issue[]): DecodedManifest {
  return { ok: false, failure: failure("E3008", { issues }) };
}

function shapeIssues(value: JsonValue, schema: JsonSchema, checker: SchemaChecker): Issue[] {
  const result = checker.compile(schema).validate(value);
  if (result.ok) return [];
  return result.kind === "invalid" ? [...result.issues] : [{ path: "", reason: result.failure.message }];
}

/** The value was checked against the dialect's schema, which is what the types say. */
function translate(value: JsonValue, dialect: ManifestDialect): ToolManifest {
  const checked = value as object;
  if (dialect === "l3") return fromL3Manifest(checked as L3Manifest);
  return dialect === "r1"
    ? fromR1Declaration(checked as R1Declaration)
    : completeManifest(checked as ManifestDraft);
}

/** What a schema cannot say about a manifest: SemVer, usable schemas, limits that contradict each other. */
function contentIssues(manifest: JsonObject, dialect: ManifestDialect, checker: SchemaChecker): Issue[] {
  return [
    ...versionIssues(manifest, dialect === "l3" ? "compatibility_range" : "compatibilityRange"),
    ...schemaPlaces(manifest, dialect).flatMap(([path, schema]) => schemaIssues(path, schema, checker)),
    ...(dialect === "canonical" ? limitIssues(manifest.limits) : []),
    ...retryIssues(manifest, dialect),
  ];
}

export const NOT_SEMVER: Issue = {
  path: "/version",
  reason: "is not a SemVer version",
  suggestion: 'Use a version such as "1.0.0".',
};

function versionIssues(manifest: JsonObject, rangeField: string): Issue[] {
  const { version, [rangeField]: range } = manifest;
  const issues: Issue[] = [];
  if (typeof version === "string" && valid(version) !== version) issues.push(NOT_SEMVER);
  if (typeof range === "string" && validRange(range) === null) {
    const suggestion = 'Use a range such as "^1.2.0".';
    issues.push({ path: `/${rangeField}`, reason: "is not a SemVer range", suggestion });
  }
  return issues;
}

function schemaPlaces(
  manifest: JsonObject,
  dialect: ManifestDialect,
): [path: string, JsonValue | undefined][] {
  const inside = (holder: JsonValue, path: string, fields: string[]) =>
    fields.map((field): [string, JsonValue | undefined] => [
      `${path}/${field}`,
      isJsonObject(holder) ? holder[field] : undefined,
    ]);
  if (dialect === "l3") return inside(manifest, "", ["parameters_schema", "result_schema"]);
  if (dialect === "r1") return inside(manifest, "", ["inputSchema", "outputSchema"]);
  const operations = isJsonObject(manifest.operations) ? Object.entries(manifest.operations) : [];
  return operations.flatMap(([name, operation]) =>
    inside(operation, `/operations/${name}`, ["inputSchema", "outputSchema"]),
  );
}

function schemaIssues(path: string, schema: JsonValue | undefined, checker: SchemaChecker): Issue[] {
  if (!isJsonObject(schema)) return [];
  const refusal = checker.check(schema);
  if (!refusal) return [];
  const issues = refusal.issues ?? [{ path: "", reason: refusal.message, suggestion: refusal.advice }];
  return issues.map((issue) => ({ ...issue, path: path + issue.path }));
}

function limitIssues(limits: JsonValue = {}): Issue[] {
  if (!isJsonObject(limits)) return [];
  const issues: Issue[] = [];
  if (exceeds(limits.maxOutputBytes, limits.memoryBytes)) {
    issues.push({
      path: "/limits/maxOutputBytes",
      reason: "is more than the memory the tool may use",
      suggestion: "Lower maxOutputBytes or raise memoryBytes.",
    });
  }
  const uncountable = Object.keys(limits).filter((name) => exceeds(limits[name], Number.MAX_SAFE_INTEGER));
  const reason = "is too large to be counted exactly";
  return [...issues, ...uncountable.map((name) => ({ path: `/limits/${name}`, reason }))];
}

function retryIssues(manifest: JsonObject, dialect: ManifestDialect): Issue[] {
  const config = isJsonObject(manifest.execution_config) ? manifest.execution_config : {};
  const [retry, path, base, longest] =
    dialect === "l3"
      ? ([config.retry_policy, "/execution_config/retry_policy", "base_delay_ms", "max_delay_ms"] as const)
      : ([manifest.retry, "/retry", "baseDelayMs", "maxDelayMs"] as const);
  if (dialect === "r1" || !isJsonObject(retry) || !exceeds(retry[base], retry[longest])) return [];
  const reason = "is longer than the longest pause";
  return [{ path: `${path}/${base}`, reason, suggestion: "Raise the longest pause." }];
}

function exceeds(value: JsonValue | undefined, limit: JsonValue | undefined): boolean {
  return typeof value === "number" && typeof limit === "number" && value > limit;
}

/** SHA-256 of the manifest's canonical JSON. Throws a TypeError for a manifest that is not JSON. */
export function manifestHash(manifest: ToolManifest): string {
  // The type has no index signature, but a manifest is JSON; canonicalJson checks that it really is.
  const json = manifest as object as JsonObject;
  return createHash("sha256").update(canonicalJson(json)).digest("hex");
}

/** A record from the store, frozen. Registration judged it once, so only its shape is checked (E3008). */
export function loadedRecord(record: ToolRecord): ToolRecord | Failure {
  const problem = recordProblem(record);
  if (problem === undefined) return deepFreeze(record);
  return failure("E3008", { message: `A stored tool record ${problem}` });
}

function recordProblem(record: unknown): string | undefined {
  const { manifest, manifestHash: hash, retirement } = isJsonObject(record) ? record : {};
  const { id, version, operations } = isJsonObject(manifest) ? manifest : {};
  if (typeof id !== "string") return "has no tool id";
  if (typeof version !== "string" || valid(version) !== version) return "has no SemVer version";
  if (typeof operations !== "object") return "has no operations";
  if (typeof hash !== "string") return "has no manifest hash";
  return typeof retirement === "object" ? undefined : "has no retirement dates";
}
