import type { CallTimeline } from "@sallyport/engine/ports";
import type { CallAnswer, LifecycleState } from "@sallyport/protocol";

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

/** Stages and decisions as lists of their cells. */
export function encodeTimeline({ stages, decisions }: CallTimeline): string {
  return JSON.stringify([
    stages.map(({ stage, attempt, ms }) => [stage, attempt, ms]),
    decisions.map((one) => [one.attempt, one.outcome, one.reason, one.rules, one.policyVersion]),
  ]);
}

type StageCells = [stage: string, attempt: number, ms: number];
type DecisionCells = [
  attempt: number,
  outcome: "allow" | "ask" | "deny",
  reason: string,
  rules: string[],
  string,
];

export function decodeTimeline(text: string): CallTimeline {
  const [stages, decisions]: [StageCells[], DecisionCells[]] = JSON.parse(text);
  return {
    stages: stages.map(([stage, attempt, ms]) => ({ stage, attempt, ms })),
    decisions: decisions.map(([attempt, outcome, reason, rules, policyVersion]) => {
      return { attempt, outcome, reason, rules, policyVersion };
    }),
  };
}

type Every<Answer> = Answer extends unknown ? keyof Answer : never;

/** Each field of an answer that the row does not know. */
type KeptField = Exclude<Every<CallAnswer>, keyof Known | "receipt" | "replayed">;

type Kept = Omit<CallAnswer, keyof Known | "executionId" | "lifecycle" | "usage" | "receipt" | "replayed"> & {
  executionId?: string;
  lifecycle: [LifecycleState, number][];
  usage: [number, number, number, number, number];
};

/** Members without a value are left out by JSON itself. */
export function encodeAnswer(answer: CallAnswer): string {
  const { callId, executionId, usage } = answer;
  const kept = {
    status: answer.status,
    result: answer.status === "success" ? answer.result : undefined,
    error: answer.status === "success" ? undefined : answer.error,
    executionId: executionId === callId ? undefined : executionId,
    attempts: answer.attempts,
    lifecycle: answer.lifecycle.map(({ state, at }) => [state, at]),
    usage: [
      usage.durationMs,
      usage.cpuMs,
      usage.memoryPeakBytes,
      usage.networkBytesSent,
      usage.networkBytesReceived,
    ],
    isolation: answer.isolation,
    enforcement: answer.enforcement,
    violations: answer.violations,
    effects: answer.effects,
    dryRun: answer.dryRun,
    rollback: answer.rollback,
    approval: answer.approval,
    warnings: answer.warnings,
  } satisfies Record<KeptField, unknown>;
  return JSON.stringify(kept);
}

/** What the row of a call that waited may know otherwise: it was written by an earlier attempt than the answer. */
export function encodeKnown({ tool, version, operation, startedAt, completedAt }: CallAnswer): string {
  const known: Omit<Known, "callId"> = { tool, version, operation, startedAt, completedAt };
  return JSON.stringify(known);
}

/** The answer as it was given, but for its receipt. */
export function decodeAnswer(text: string, known: Known): CallAnswer {
  const kept: Kept = JSON.parse(text);
  const { executionId = known.callId, lifecycle, usage } = kept;
  const [durationMs, cpuMs, memoryPeakBytes, networkBytesSent, networkBytesReceived] = usage;
  return {
    ...known,
    ...kept,
    executionId,
    lifecycle: lifecycle.map(([state, at]) => ({ state, at })),
    usage: { durationMs, cpuMs, memoryPeakBytes, networkBytesSent, networkBytesReceived },
    replayed: false,
  } as CallAnswer;
}
