import type { CallStatus } from "../call-status.ts";
import type { Failure } from "../errors/failure.ts";
import type { JsonValue } from "../json.ts";
import type { Succeeded, Unsuccessful } from "../outcome.ts";

const COMMON = {
  callId: "0190a6d2-1111-7222-8333-0123456789ab",
  executionId: "execution-1",
  tool: "calculator",
  version: "1.0.0",
  operation: "add",
  attempts: 1,
  lifecycle: [],
  startedAt: Date.UTC(2026, 0, 2, 3, 4, 5),
  completedAt: Date.UTC(2026, 0, 2, 3, 4, 5, 124),
  usage: {
    durationMs: 123.6,
    cpuMs: 50.4,
    memoryPeakBytes: 1_048_577,
    networkBytesSent: 10,
    networkBytesReceived: 20,
  },
  warnings: [],
  replayed: false,
};

/** An answer for tests of the envelopes; its usage needs rounding on purpose. */
export function succeeded(result: JsonValue): Succeeded {
  return { ...COMMON, status: "success", result };
}

export function failed(error: Failure, status: CallStatus): Unsuccessful {
  if (status === "success") throw new Error("a success has no error");
  return { ...COMMON, status, error };
}
