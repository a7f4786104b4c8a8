import type { Failure, Issue, JsonSchema, JsonValue } from "@sallyport/protocol";

/** What the registry needs of a JSON Schema compiler; the engine's own fits. */
export interface SchemaJudge {
  /** Why a schema cannot be used; undefined when it can. */
  check(schema: unknown): Failure | undefined;
  compile(schema: JsonSchema): { validate(value: JsonValue): JudgedValue };
}

export type JudgedValue =
  | { readonly ok: true }
  | { readonly ok: false; readonly kind: "invalid"; readonly issues: Issue[]; readonly more: number }
  | { readonly ok: false; readonly kind: "unusable"; readonly failure: Failure };

/** Where a schema falls short of the quality rules (R1-6.3); an error keeps a demanding registry from taking it. */
export interface QualityFinding {
  path: string;
  rule: string;
  severity: "error" | "warning";
  message: string;
  suggestion: string;
}

export type SchemaLinter = (schema: JsonSchema) => QualityFinding[];
