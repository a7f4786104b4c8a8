import {
  type Issue,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type ManifestDialect,
} from "@sallyport/protocol";
import { valid, validRange } from "semver";
import type { SchemaJudge } from "./schema-judge.ts";

/** What a schema cannot say about a manifest: SemVer, usable schemas, limits that contradict each other. */
export function manifestIssues(manifest: JsonObject, dialect: ManifestDialect, judge: SchemaJudge): Issue[] {
  return [
    ...versionIssues(manifest, dialect),
    ...schemaPlaces(manifest, dialect).flatMap(([path, schema]) => schemaIssues(path, schema, judge)),
    ...(dialect === "canonical" ? contradictions(manifest) : []),
    ...(dialect === "l3" ? retryIssues(manifest.execution_config) : []),
  ];
}

function versionIssues(manifest: JsonObject, dialect: ManifestDialect): Issue[] {
  const issues: Issue[] = [];
  const { version } = manifest;
  if (typeof version === "string" && valid(version) !== version) {
    issues.push({
      path: "/version",
      reason: "is not a SemVer version",
      suggestion: 'Use a version such as "1.0.0".',
    });
  }
  const name = dialect === "l3" ? "compatibility_range" : "compatibilityRange";
  const range = manifest[name];
  if (typeof range === "string" && validRange(range) === null) {
    issues.push({
      path: `/${name}`,
      reason: "is not a SemVer range",
      suggestion: 'Use a range such as "^1.2.0".',
    });
  }
  return issues;
}

type SchemaPlace = [path: string, schema: JsonValue | undefined];

function schemaPlaces(manifest: JsonObject, dialect: ManifestDialect): SchemaPlace[] {
  if (dialect === "r1")
    return [
      ["/inputSchema", manifest.inputSchema],
      ["/outputSchema", manifest.outputSchema],
    ];
  if (dialect === "l3") {
    return [
      ["/parameters_schema", manifest.parameters_schema],
      ["/result_schema", manifest.result_schema],
    ];
  }
  return operationsOf(manifest).flatMap(([name, operation]): SchemaPlace[] => [
    [`/operations/${name}/inputSchema`, operation.inputSchema],
    [`/operations/${name}/outputSchema`, operation.outputSchema],
  ]);
}

function operationsOf(manifest: JsonObject): [string, JsonObject][] {
  const entries = isJsonObject(manifest.operations) ? Object.entries(manifest.operations) : [];
  return entries.filter((entry): entry is [string, JsonObject] => isJsonObject(entry[1]));
}

function schemaIssues(path: string, schema: JsonValue | undefined, judge: SchemaJudge): Issue[] {
  if (!isJsonObject(schema)) return [];
  const refused = judge.check(schema);
  if (!refused) return [];
  const issues = refused.issues ?? [{ path: "", reason: refused.message, suggestion: refused.advice }];
  return issues.map((issue) => ({ ...issue, path: path + issue.path }));
}

function contradictions(manifest: JsonObject): Issue[] {
  const limits = isJsonObject(manifest.limits) ? manifest.limits : {};
  const issues = retryIssues({ retry_policy: manifest.retry ?? null }, "/retry/baseDelayMs");
  if (exceeds(limits.maxOutputBytes, limits.memoryBytes)) {
    issues.push({
      path: "/limits/maxOutputBytes",
      reason: "is more than the memory the tool may use",
      suggestion: "Lower maxOutputBytes or raise memoryBytes.",
    });
  }
  for (const [name, value] of Object.entries(limits)) {
    if (typeof value === "number" && value > Number.MAX_SAFE_INTEGER) {
      issues.push({ path: `/limits/${name}`, reason: "is too large to be counted exactly" });
    }
  }
  return issues;
}

function retryIssues(
  config: JsonValue | undefined,
  path = "/execution_config/retry_policy/base_delay_ms",
): Issue[] {
  const retry = isJsonObject(config) && isJsonObject(config.retry_policy) ? config.retry_policy : {};
  const base = retry.baseDelayMs ?? retry.base_delay_ms;
  const longest = retry.maxDelayMs ?? retry.max_delay_ms;
  if (!exceeds(base, longest)) return [];
  return [{ path, reason: "is longer than the longest pause", suggestion: "Raise the longest pause." }];
}

function exceeds(value: JsonValue | undefined, limit: JsonValue | undefined): boolean {
  return typeof value === "number" && typeof limit === "number" && value > limit;
}
