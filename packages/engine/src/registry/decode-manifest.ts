import {
  canonicalJson,
  completeManifest,
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
import { manifestIssues } from "./manifest-issues.ts";
import type { SchemaJudge } from "./schema-judge.ts";

export type DecodedManifest = { ok: true; manifest: ToolManifest } | { ok: false; failure: Failure };

const SCHEMAS: Record<ManifestDialect, JsonSchema> = {
  canonical: MANIFEST_SCHEMA,
  r1: R1_DECLARATION_SCHEMA,
  l3: L3_MANIFEST_SCHEMA,
};

/**
 * Reads a manifest in any dialect (R1-4.1, L3-REG-1) into the one form the engine knows, frozen and copied.
 * A refusal (E3008) names every wrong field in the words of the dialect it was written in.
 */
export function decodeManifest(value: unknown, judge: SchemaJudge): DecodedManifest {
  const read = copyJson(value);
  if (!read.ok) return read;
  const dialect = manifestDialect(read.value);
  const issues = shapeIssues(read.value, SCHEMAS[dialect], judge);
  if (isJsonObject(read.value)) addNew(issues, manifestIssues(read.value, dialect, judge));
  if (issues.length > 0) return invalid(issues);
  return { ok: true, manifest: deepFreeze(translate(read.value, dialect)) };
}

/** A field that has the wrong shape needs no second issue about its content. */
function addNew(issues: Issue[], further: Issue[]): void {
  const known = new Set(issues.map(({ path }) => path));
  issues.push(...further.filter(({ path }) => !known.has(path)));
}

type Copy = { ok: true; value: JsonValue } | { ok: false; failure: Failure };

function copyJson(value: unknown): Copy {
  try {
    return { ok: true, value: JSON.parse(canonicalJson(value as JsonValue)) };
  } catch (thrown) {
    return invalid([{ path: "", reason: thrown instanceof Error ? thrown.message : "cannot be read" }]);
  }
}

function shapeIssues(value: JsonValue, schema: JsonSchema, judge: SchemaJudge): Issue[] {
  const verdict = judge.compile(schema).validate(value);
  if (verdict.ok) return [];
  return verdict.kind === "invalid" ? [...verdict.issues] : [{ path: "", reason: verdict.failure.message }];
}

/** The value was checked against the dialect's schema, which is what the types say. */
function translate(value: JsonValue, dialect: ManifestDialect): ToolManifest {
  const checked = value as object;
  if (dialect === "l3") return fromL3Manifest(checked as L3Manifest);
  return dialect === "r1"
    ? fromR1Declaration(checked as R1Declaration)
    : completeManifest(checked as ManifestDraft);
}

function invalid(issues: Issue[]): { ok: false; failure: Failure } {
  return { ok: false, failure: failure("E3008", { issues }) };
}

/** A manifest is shared by every call of its version, so nobody may change it. */
export function deepFreeze<T extends object>(value: T): T {
  for (const member of Object.values(value) as (JsonObject | JsonValue)[]) {
    if (typeof member === "object" && member !== null && !Object.isFrozen(member)) deepFreeze(member);
  }
  return Object.freeze(value);
}
