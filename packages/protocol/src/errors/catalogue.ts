import type { JsonObject } from "../json.ts";
import {
  BREAKER_ERRORS,
  CHECKPOINT_ERRORS,
  DOCUMENT_ERRORS,
  EXTERNAL_ERRORS,
  WORKER_ERRORS,
} from "./dependency-errors.ts";
import type { CatalogueEntry } from "./families.ts";
import { AUDIT_ERRORS, HTTP_ERRORS, PASSAGE_ERRORS, TOOL_LOOP_ERRORS } from "./passage-errors.ts";
import { PERMISSION_ERRORS } from "./permission-errors.ts";
import { EXECUTION_ERRORS, REGISTRY_ERRORS, RESULT_ERRORS } from "./tool-errors.ts";

export type { CatalogueEntry };

/** Every error that a door can report. Doors translate by this table, never by hand; it is frozen. */
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
  ...WORKER_ERRORS,
});

/** A code is never reused for another meaning; callers may store it. */
export type ErrorCode = keyof typeof CATALOGUE;

/** Tells a code of this catalogue from any other value, for what comes back over a wire. */
export function isErrorCode(value: unknown): value is ErrorCode {
  return typeof value === "string" && Object.hasOwn(CATALOGUE, value);
}

/** One wrong place in an input, an output or a manifest. */
export interface Issue {
  /** JSON Pointer to the wrong place; empty for the whole value. */
  path: string;
  reason: string;
  suggestion?: string;
}

/** A structured error: its code says everything the catalogue knows, the rest is about this one case. */
export interface Failure {
  code: ErrorCode;
  message: string;
  retryable: boolean;
  advice: string;
  issues?: Issue[];
  details?: JsonObject;
}

export interface FailureContext {
  /** What happened here; the catalogue's title when left out. */
  message?: string;
  advice?: string;
  retryable?: boolean;
  issues?: Issue[];
  details?: JsonObject;
}

/** Builds a failure from the catalogue; `context` adds what a reader needs to fix this case. */
export function failure(code: ErrorCode, context: FailureContext = {}): Failure {
  const entry = CATALOGUE[code];
  return {
    code,
    message: context.message ?? entry.title,
    retryable: context.retryable ?? entry.retryable,
    advice: context.advice ?? entry.advice,
    ...(context.issues && { issues: context.issues }),
    ...(context.details && { details: context.details }),
  };
}

/** What a failure is called in every dialect. */
export function entryOf(failed: Failure): CatalogueEntry {
  return CATALOGUE[failed.code];
}

/** The exception form of a failure: for defects, lost infrastructure and start-up, never for an expected ending. */
export class SallyportError extends Error {
  readonly failure: Failure;

  constructor(failed: Failure, options?: ErrorOptions) {
    super(`${failed.code}: ${failed.message}`, options);
    this.name = "SallyportError";
    this.failure = failed;
  }
}

/** Tells a refusal from any other answer. */
export function isFailure(answer: object): answer is Failure {
  return "code" in answer && "advice" in answer;
}
