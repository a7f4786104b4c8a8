import {
  type CallAnswer,
  entryOf,
  type Failure,
  type JsonValue,
  type Receipt,
  type Unsuccessful,
} from "@sallyport/protocol";
import type { AuditLink } from "../ports/audit-log.ts";
import type { Attempt } from "./attempt.ts";
import type { Visit } from "./lifecycle.ts";

interface Facts {
  attempt: Attempt;
  trail: readonly Visit[];
  completedAt: number;
}

export function successAnswer(facts: Facts, result: JsonValue): CallAnswer {
  return { ...common(facts), status: "success", result };
}

export function failureAnswer(facts: Facts, error: Failure): Unsuccessful {
  return { ...common(facts), status: entryOf(error).status, error };
}

/** The answer with the place its last event took in the chain. */
export function withReceipt(answer: CallAnswer, attempt: Attempt, links: readonly AuditLink[]): CallAnswer {
  const link = links.at(-1);
  if (!link) return answer;
  const { tenant, inputHash, outputHash } = attempt.facts;
  const receipt: Receipt = {
    tenant,
    ...pick(link),
    inputHash,
    ...(outputHash !== undefined && { outputHash }),
  };
  return { ...answer, receipt };
}

function pick({ sequence, hash }: AuditLink) {
  return { sequence, hash };
}

function common({ attempt, trail, completedAt }: Facts) {
  const { facts, usage } = attempt;
  return {
    callId: attempt.callId,
    executionId: attempt.executionId,
    tool: facts.toolId,
    version: facts.toolVersion,
    operation: facts.operation,
    attempts: attempt.number,
    lifecycle: [...trail],
    startedAt: attempt.startedAt,
    completedAt,
    usage: {
      durationMs: completedAt - attempt.startedAt,
      cpuMs: usage.cpuMs,
      memoryPeakBytes: usage.memoryPeakBytes,
      networkBytesSent: 0,
      networkBytesReceived: 0,
    },
    ...(facts.isolation && { isolation: facts.isolation }),
    ...(facts.rollback && { rollback: facts.rollback }),
    warnings: attempt.warnings,
    replayed: false,
  };
}
