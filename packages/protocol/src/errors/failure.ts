import type { JsonObject } from "../json.ts";
import { CATALOGUE, type CatalogueEntry, type ErrorCode } from "./catalogue.ts";

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
