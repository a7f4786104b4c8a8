import { CHECKPOINT_ERRORS, DOCUMENT_ERRORS } from "./bridge-errors.ts";
import { EXECUTION_ERRORS } from "./execution-errors.ts";
import { BREAKER_ERRORS, EXTERNAL_ERRORS } from "./external-errors.ts";
import { HTTP_ERRORS } from "./http-errors.ts";
import { AUDIT_ERRORS, PASSAGE_ERRORS } from "./passage-errors.ts";
import { PERMISSION_ERRORS } from "./permission-errors.ts";
import { REGISTRY_ERRORS } from "./registry-errors.ts";
import { RESULT_ERRORS } from "./result-errors.ts";
import { TOOL_LOOP_ERRORS } from "./tool-loop-errors.ts";
import type { CatalogueEntry } from "./vocabulary.ts";

export * from "./vocabulary.ts";

/** Every error a door can report. Doors translate by this table, never by hand; it cannot change at run time. */
export const CATALOGUE = Object.freeze({
  ...REGISTRY_ERRORS,
  ...EXECUTION_ERRORS,
  ...PERMISSION_ERRORS,
  ...EXTERNAL_ERRORS,
  ...BREAKER_ERRORS,
  ...RESULT_ERRORS,
  ...DOCUMENT_ERRORS,
  ...CHECKPOINT_ERRORS,
  ...AUDIT_ERRORS,
  ...PASSAGE_ERRORS,
  ...HTTP_ERRORS,
  ...TOOL_LOOP_ERRORS,
} as const satisfies Record<string, CatalogueEntry>);

for (const entry of Object.values(CATALOGUE)) Object.freeze(entry);

/** A code is never reused for another meaning; callers may store it. */
export type ErrorCode = keyof typeof CATALOGUE;

/** Tells a code of this catalogue from any other word, for what comes back over a wire. */
export function isErrorCode(value: unknown): value is ErrorCode {
  return typeof value === "string" && Object.hasOwn(CATALOGUE, value);
}
