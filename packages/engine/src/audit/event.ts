import type { Failure, Isolation, LifecycleState, RollbackProof } from "@sallyport/protocol";
import type { Decision } from "../ports/authority.ts";
import { redactText } from "./redact.ts";

/** What is known of an execution when an event is written (R1-8.1). */
export interface EventFacts {
  tenant: string;
  agent: string;
  userId?: string | undefined;
  callId: string;
  executionId: string;
  toolId: string;
  toolVersion: string;
  operation: string;
  inputHash: string;
  outputHash?: string | undefined;
  decision?: Decision | undefined;
  isolation?: Isolation | undefined;
  durationMs?: number | undefined;
  error?: Failure | undefined;
  rollback?: RollbackProof | undefined;
  note?: string | undefined;
}

/** A lifecycle state entered, or something said about a call outside its lifecycle. */
export type EventKind = LifecycleState | "REFUSED" | "OUTCOME_UNKNOWN" | "CLOSED_BY_PERSON";

const ERROR_TEXT_CHARS = 500;

/**
 * The body of an audit event in canonical JSON. Its keys are written here in sorted order and its numbers are plain,
 * so that JSON.stringify already yields the RFC 8785 form; a test holds the two equal.
 */
export function eventBody(
  kind: EventKind,
  facts: EventFacts,
  at: { ordinal: number; timestamp: number },
): string {
  const { decision, error, isolation, rollback } = facts;
  return JSON.stringify({
    agent: facts.agent,
    callId: facts.callId,
    capabilities: decision?.capabilities ?? [],
    decision: decision && {
      outcome: decision.outcome,
      policyVersion: decision.policyVersion,
      reason: decision.reason,
      rules: decision.rules,
    },
    duration: facts.durationMs,
    error: error && {
      code: error.code,
      message: redactText(error.message).slice(0, ERROR_TEXT_CHARS).toWellFormed(),
    },
    eventId: `${facts.executionId}:${at.ordinal}`,
    executionId: facts.executionId,
    inputHash: facts.inputHash,
    isolation: isolation && { level: isolation.level, runner: isolation.runner },
    note: facts.note,
    operation: facts.operation,
    outputHash: facts.outputHash,
    rollback: rollback && {
      discardedMutations: rollback.discardedMutations,
      snapshotHash: rollback.snapshotHash,
      verified: rollback.verified,
    },
    state: kind,
    tenant: facts.tenant,
    timestamp: at.timestamp,
    toolId: facts.toolId,
    toolVersion: facts.toolVersion,
    userId: facts.userId,
  });
}
