import { type Failure, type JsonObject, type JsonSchema, nearestName } from "@sallyport/protocol";
import { KEYWORDS } from "./keywords.ts";
import { pointTo } from "./pointer.ts";
import { isSchema } from "./schema-tree.ts";
import { DIALECT } from "./walk-schema.ts";

export type SchemaRule =
  | "valid"
  | "dialect-declared"
  | "property-type"
  | "property-description"
  | "required-given"
  | "closed-object"
  | "known-keyword";

/** One way in which a schema falls short of the quality rules (R1-6.3). */
export interface SchemaFinding {
  path: string;
  rule: SchemaRule;
  severity: "error" | "warning";
  message: string;
  suggestion: string;
}

const MAX_FINDINGS = 200;

/** Anything that says which values are meant, so that a type would repeat it. */
const SAYS_TYPE = ["type", "$ref", "$dynamicRef", "enum", "const", "anyOf", "oneOf", "allOf"];

/**
 * Reports where a schema falls short. `check` is a compiler's: a schema it refuses has the finding `valid` for
 * each of its issues and no other. Never throws for a schema that `check` accepts.
 */
export function lintSchema(
  schema: JsonSchema,
  check: (schema: unknown) => Failure | undefined,
): SchemaFinding[] {
  const refused = check(schema);
  if (refused) return invalid(refused);
  const findings: SchemaFinding[] = [];
  if (schema.$schema === undefined) findings.push(NO_DIALECT);
  visit(schema, "", findings);
  return findings;
}

const NO_DIALECT: SchemaFinding = {
  path: "",
  rule: "dialect-declared",
  severity: "error",
  message: "does not declare its dialect",
  suggestion: `Add "$schema": "${DIALECT}".`,
};

function invalid(refused: Failure): SchemaFinding[] {
  const issues = refused.issues ?? [{ path: "", reason: refused.message }];
  return issues.map(({ path, reason, suggestion }) => ({
    path,
    rule: "valid",
    severity: "error",
    message: reason,
    suggestion: suggestion ?? refused.advice,
  }));
}

function visit(schema: JsonObject, path: string, findings: SchemaFinding[]): void {
  if (findings.length >= MAX_FINDINGS) return;
  if (isJsonMap(schema.properties)) {
    checkObject(schema, path, findings);
    for (const [name, property] of Object.entries(schema.properties)) {
      checkProperty(property, pointTo(pointTo(path, "properties"), name), findings);
    }
  } else if (schema.type === "object") checkClosed(schema, path, findings);
  for (const [keyword, value] of Object.entries(schema))
    checkKeyword(keyword, pointTo(path, keyword), findings, value);
}

function checkObject(schema: JsonObject, path: string, findings: SchemaFinding[]): void {
  checkClosed(schema, path, findings);
  if (schema.required !== undefined) return;
  findings.push({
    path,
    rule: "required-given",
    severity: "error",
    message: "does not say which properties are required",
    suggestion: 'Add "required"; an empty list says that all are optional.',
  });
}

function checkClosed(schema: JsonObject, path: string, findings: SchemaFinding[]): void {
  if (schema.additionalProperties !== undefined || schema.unevaluatedProperties !== undefined) return;
  findings.push({
    path,
    rule: "closed-object",
    severity: "warning",
    message: "lets any other property through",
    suggestion: 'Add "additionalProperties": false, or the schema the others must fit.',
  });
}

function checkProperty(property: unknown, path: string, findings: SchemaFinding[]): void {
  if (!isJsonMap(property)) return;
  if (!SAYS_TYPE.some((keyword) => Object.hasOwn(property, keyword))) {
    findings.push({
      path,
      rule: "property-type",
      severity: "error",
      message: "has no type",
      suggestion: 'Add "type".',
    });
  }
  if (typeof property.description === "string" && property.description.trim() !== "") return;
  findings.push({
    path,
    rule: "property-description",
    severity: "error",
    message: "has no description",
    suggestion: 'Add "description": the model reads it to fill the property in.',
  });
}

function checkKeyword(keyword: string, path: string, findings: SchemaFinding[], value: unknown): void {
  const shape = KEYWORDS.get(keyword);
  if (shape === undefined) reportUnknown(keyword, path, findings);
  else if (shape === "schema" && isJsonMap(value)) visit(value, path, findings);
  else if (shape === "schemas" || shape === "schemaMap" || shape === "dependencies") {
    for (const [key, member] of Object.entries(value ?? {})) {
      if (isJsonMap(member)) visit(member, pointTo(path, key), findings);
    }
  }
}

function reportUnknown(keyword: string, path: string, findings: SchemaFinding[]): void {
  if (keyword.startsWith("x-")) return;
  const close = nearestName(keyword, KEYWORDS.keys());
  findings.push({
    path,
    rule: "known-keyword",
    severity: "warning",
    message: "is not a keyword of JSON Schema 2020-12 and has no effect",
    suggestion: close === undefined ? "Leave it out." : `Did you mean "${close}"?`,
  });
}

function isJsonMap(value: unknown): value is JsonObject {
  return isSchema(value as JsonObject) && typeof value === "object";
}
