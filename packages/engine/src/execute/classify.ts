import { type Failure, failure, isJsonObject, type LimitName } from "@sallyport/protocol";
import type { RunFault } from "../ports/runner.ts";
import { redact, redactText } from "../redact/redact.ts";
import { isJsonObjectText } from "./runners/tool-result.ts";

const LIMIT_WORDS: Record<LimitName, string> = {
  wall: "time",
  cpu: "processor time",
  memory: "memory",
  processes: "processes",
  openFiles: "open files",
  fileSize: "the size of a file",
  disk: "disk space",
  output: "output",
  connections: "connections",
};

interface FaultContext {
  tool: string;
  idempotent: boolean;
  timeoutMs: number;
  memoryBytes: number;
  maxOutputBytes: number;
  /** Carries the reason, where whoever cancelled gave one in words. */
  signal?: AbortSignal;
}

/**
 * Gives a run's fault its place in the catalogue (R1-7.1). A tool's own failure is retryable for the caller when the
 * tool is idempotent; whether the runtime itself retries is decided elsewhere, by class.
 */
export function classify(fault: RunFault, context: FaultContext): Failure {
  const { tool, idempotent } = context;
  switch (fault.kind) {
    case "threw":
      if (fault.invalidInput) return failure("E3901", { message: `${tool}: ${fault.message}` });
      return ownFailure(fault, context);
    case "timeout":
      return failure("E3103", {
        message: `${tool} did not finish within ${context.timeoutMs} ms.`,
        retryable: idempotent,
        details: { timeoutMs: context.timeoutMs },
      });
    case "cancelled":
      return cancelled(context.signal);
    case "memory":
      return failure("E3102", {
        message: `${tool} used more than its ${context.memoryBytes} bytes of memory: ${fault.message}`,
        retryable: false,
      });
    case "died":
      return failure("E3107", {
        message: `${tool} ended before it answered: ${fault.message}`,
        retryable: idempotent,
      });
    case "limit":
      return failure("E3102", {
        message: `${tool} exceeded its limit of ${LIMIT_WORDS[fault.limit]}: ${fault.message}`,
        retryable: false,
        details: { limit: fault.limit },
      });
    case "exit":
      return failure("E3108", {
        message: `${tool} ended with exit code ${fault.code}.`,
        retryable: idempotent,
        details: {
          exitCode: fault.code,
          stderr: redactText(fault.stderr),
          ...(fault.stdout !== undefined && { stdout: redactText(fault.stdout) }),
        },
      });
    case "crashed":
      return failure("E3107", { message: `${tool} crashed: ${fault.message}`, retryable: idempotent });
    case "violation":
      return failure("E3109", { message: `${tool}: ${fault.message}` });
    case "failed":
      return withSafeDetails(fault.failure);
    case "refused":
      return fault.failure;
    case "not_json":
      return failure("E3510", { message: `${tool} returned something that is not JSON: ${fault.message}` });
    case "output_too_large":
      return failure("E3509", {
        message: `${tool} returned ${fault.bytes} bytes; ${context.maxOutputBytes} are allowed.`,
      });
  }
}

/** Details may come from outside, and are kept with the call. */
function withSafeDetails(failed: Failure): Failure {
  const details = failed.details && redact(failed.details);
  return isJsonObject(details) ? { ...failed, details } : failed;
}

/**
 * What the tool itself says went wrong; a JSON object is passed on as it is (FR-ERR-JSON-TOOL-01). Without a code it is
 * nothing the tool declared, but a defect in it (D-12).
 */
function ownFailure(
  { message, code, details }: Extract<RunFault, { kind: "threw" }>,
  { tool, idempotent }: FaultContext,
): Failure {
  const shown = details && redact({ ...details });
  const told = isJsonObject(shown) && { details: shown };
  if (code !== undefined && code !== "E3907") return failure(code, { message, ...told });
  const prefix = code === undefined ? "Tool panicked: " : `${tool} failed: `;
  const text = isJsonObjectText(message) ? message : `${prefix}${message}`;
  return failure("E3907", { message: text, retryable: idempotent, ...told });
}

/** Why a call ended that was cancelled, in the words of whoever did it where they gave any. */
export function cancelled(signal: AbortSignal | undefined): Failure {
  const reason: unknown = signal?.reason;
  if (typeof reason !== "string" || reason === "") return failure("E3906");
  return failure("E3906", { message: `The call was cancelled: ${reason.toWellFormed()}` });
}
