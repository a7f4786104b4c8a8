import type { CallAnswer, LifecycleState, Unsuccessful } from "@sallyport/protocol";

/*
 * An answer repeats much of its call's row. It is kept without that, because every byte of a call is written and synced:
 * the identity comes back from the row, lifecycle and usage are kept as pairs and numbers.
 */

/** What the row knows of the answer already. */
export interface Known {
  callId: string;
  tool: string;
  version: string;
  operation: string;
  startedAt: number;
  completedAt: number;
}

type Kept = Pick<CallAnswer, "status" | "attempts" | "warnings" | "isolation" | "rollback"> & {
  result?: unknown;
  error?: Unsuccessful["error"];
  executionId?: string;
  lifecycle: [LifecycleState, number][];
  usage: [number, number, number, number, number];
};

export function encodeAnswer(answer: CallAnswer): string {
  const { callId, executionId, status, attempts, warnings, isolation, rollback, usage } = answer;
  const kept: Kept = {
    status,
    ...(answer.status === "success" ? { result: answer.result } : { error: answer.error }),
    ...(executionId !== callId && { executionId }),
    attempts,
    lifecycle: answer.lifecycle.map(({ state, at }) => [state, at]),
    usage: [
      usage.durationMs,
      usage.cpuMs,
      usage.memoryPeakBytes,
      usage.networkBytesSent,
      usage.networkBytesReceived,
    ],
    ...(isolation && { isolation }),
    ...(rollback && { rollback }),
    warnings,
  };
  return JSON.stringify(kept);
}

/** The answer as it was given, but for its receipt. */
export function decodeAnswer(text: string, known: Known): CallAnswer {
  const { lifecycle, usage, executionId, ...rest }: Kept = JSON.parse(text);
  const [durationMs, cpuMs, memoryPeakBytes, networkBytesSent, networkBytesReceived] = usage;
  return {
    ...known,
    executionId: executionId ?? known.callId,
    ...rest,
    lifecycle: lifecycle.map(([state, at]) => ({ state, at })),
    usage: { durationMs, cpuMs, memoryPeakBytes, networkBytesSent, networkBytesReceived },
    replayed: false,
  } as CallAnswer;
}
