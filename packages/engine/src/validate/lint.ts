import {
  type Failure,
  isJsonObject,
  type JsonObject,
  type JsonSchema,
  nearestName,
} from "@sallyport/protocol";
import { pointTo } from "../match/document.ts";
import { KEYWORDS, subschemasOf } from "./keywords.ts";
import { DIALECT } from "./schema-walk.ts";

/** One way in which a schema falls short of the quality rules (R1-6.3). */
export interface SchemaFinding {
  path: string;
  rule: SchemaRule;
  severity: "error" | "warning";
  message: string;
  suggestion: string;
}

type SchemaRule = "valid" | "known-keyword" | keyof typeof RULES;

const RULES = {
  "dialect-declared": {
    severity: "error",
    message: "does not declare its dialect",
    suggestion: `Add "$schema": "${DIALECT}".`,
  },
  "property-type": { severity: "error", message: "has no type", suggestion: 'Add "type".' },
  "property-description": {
    severity: "error",
    message: "has no description",
    suggestion: 'Add "description": the model reads it to fill the property in.',
  },
  "required-given": {
    severity: "error",
    message: "does not say which properties are required",
    suggestion: 'Add "required"; an empty list says that all are optional.',
  },
  "closed-object": {
    severity: "warning",
    message: "lets any other property through",
    suggestion: 'Add "additionalProperties": false, or the schema the others must fit.',
  },
} as const;

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
  if (schema.$schema === undefined) findings.push(finding("dialect-declared", ""));
  visit(schema, "", findings);
  return findings;
}

function invalid(refused: Failure): SchemaFinding[] {
  const issues = refused.issues ?? [{ path: "", reason: refused.message }];
  return issues.map(({ path, reason, suggestion = refused.advice }) => {
    return { path, rule: "valid", severity: "error", message: reason, suggestion };
  });
}

function finding(rule: keyof typeof RULES, path: string): SchemaFinding {
  return { path, rule, ...RULES[rule] };
}

function visit(schema: JsonObject, path: string, findings: SchemaFinding[]): void {
  if (findings.length >= MAX_FINDINGS) return;
  const hasProperties = isJsonObject(schema.properties);
  const isOpen = schema.additionalProperties === undefined && schema.unevaluatedProperties === undefined;
  if ((hasProperties || schema.type === "object") && isOpen) findings.push(finding("closed-object", path));
  if (hasProperties && schema.required === undefined) findings.push(finding("required-given", path));
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    findings.push(...propertyFindings(property, pointTo(pointTo(path, "properties"), name)));
  }
  for (const [keyword, value] of Object.entries(schema)) {
    const at = pointTo(path, keyword);
    const shape = KEYWORDS.get(keyword);
    if (shape === undefined && !keyword.startsWith("x-")) findings.push(unknownKeyword(keyword, at));
    for (const [key, member] of shape ? subschemasOf(shape, value) : []) {
      if (isJsonObject(member)) visit(member, key === undefined ? at : pointTo(at, key), findings);
    }
  }
}

function propertyFindings(property: unknown, path: string): SchemaFinding[] {
  if (!isJsonObject(property)) return [];
  const { description } = property;
  const isTyped = SAYS_TYPE.some((keyword) => Object.hasOwn(property, keyword));
  const isDescribed = typeof description === "string" && description.trim() !== "";
  return [
    ...(isTyped ? [] : [finding("property-type", path)]),
    ...(isDescribed ? [] : [finding("property-description", path)]),
  ];
}

function unknownKeyword(keyword: string, path: string): SchemaFinding {
  const close = nearestName(keyword, KEYWORDS.keys());
  return {
    path,
    rule: "known-keyword",
    severity: "warning",
    message: "is not a keyword of JSON Schema 2020-12 and has no effect",
    suggestion: close === undefined ? "Leave it out." : `Did you mean "${close}"?`,
  };
}
