import type { JsonObject } from "@sallyport/protocol";
import type { WorkerErrorCode } from "@sallyport/protocol/worker";

export interface ToolErrorOptions {
  /** Whether the same request may succeed later; false when left out. */
  retryable?: boolean;
  /** For programs. It reaches the caller, so no secret may stand in it. */
  details?: JsonObject;
  /** What it came from: for the log of the worker, never for the caller. */
  cause?: unknown;
}

/** The way a tool says that it failed. Code, message, retryable and details reach the caller; every other exception is INTERNAL. */
export class ToolError extends Error {
  readonly code: WorkerErrorCode;
  readonly retryable: boolean;
  readonly details: JsonObject | undefined;

  constructor(code: WorkerErrorCode, message: string, options: ToolErrorOptions = {}) {
    super(message, { cause: options.cause });
    this.name = "ToolError";
    this.code = code;
    this.retryable = options.retryable ?? false;
    this.details = options.details;
  }
}
