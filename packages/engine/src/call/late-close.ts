import {
  type CallAnswer,
  entryOf,
  type Failure,
  failure,
  type JsonValue,
  type LifecycleState,
  type RollbackProof,
  SallyportError,
} from "@sallyport/protocol";
import { type EventFacts, type EventKind, EventWriter } from "../audit/event.ts";
import type { CallPhase, CallRecord } from "../ports/calls.ts";
import type { UnitOfWork } from "../ports/store.ts";
import { callbacksOf } from "./callbacks.ts";
import type { House } from "./house.ts";

/** Event numbers after any that the execution itself can have written, so that event ids stay unique. */
const UNKNOWN_ORDINAL = 99;
const CLOSING_ORDINAL = 100;

/** How a call is closed that nobody is running any more. */
export interface LateEnd {
  states: readonly LifecycleState[];
  error?: Failure;
  proof?: RollbackProof;
  result?: JsonValue;
  /** A person's word, on record beside the states. */
  note?: string;
  /** The phase it has to be in still. */
  from?: CallPhase;
}

/** Closes a call that an earlier process left behind. Throws when somebody else has closed it meanwhile. */
export async function closeLate(record: CallRecord, end: LateEnd, house: House): Promise<CallAnswer> {
  const now = house.clock.now();
  const facts: EventFacts = { ...factsOf(record), error: end.error, rollback: end.proof, note: end.note };
  const kinds: EventKind[] = end.note === undefined ? [...end.states] : [...end.states, "CLOSED_BY_PERSON"];
  const answer = answerFor(record, end, now);
  await mustCommit(house, {
    tenant: record.tenant,
    close: {
      callId: record.callId,
      phase: "closed",
      closing: { status: answer.status, closedAt: now, answer },
      ...(end.from && { from: end.from }),
    },
    events: kinds.map((kind, index) =>
      new EventWriter(facts).write(kind, facts, { ordinal: CLOSING_ORDINAL + index, timestamp: now }),
    ),
    ...callbacksOf(record, now),
    outbox: [{ callId: record.callId, type: end.error ? "tool.failed" : "tool.succeeded" }],
  });
  house.feeds.ended(record.callId, { status: answer.status, at: now });
  return answer;
}

/** Puts on record that nobody knows how the call ended. */
export async function markUnknown(record: CallRecord, house: House): Promise<void> {
  const now = house.clock.now();
  const facts: EventFacts = { ...factsOf(record), error: failure("E3909") };
  await mustCommit(house, {
    tenant: record.tenant,
    close: { callId: record.callId, phase: "unknown" },
    events: [
      new EventWriter(facts).write("OUTCOME_UNKNOWN", facts, { ordinal: UNKNOWN_ORDINAL, timestamp: now }),
    ],
    outbox: [],
  });
}

async function mustCommit(house: House, unit: UnitOfWork): Promise<void> {
  const result = await house.store.commit(unit);
  if (result.ok) return;
  throw new SallyportError(
    failure("E3918", { message: `The journal refused to close the call (${result.conflict.kind}).` }),
  );
}

export function factsOf(record: CallRecord): EventFacts {
  return {
    tenant: record.tenant,
    agent: record.agent,
    userId: record.user,
    callId: record.callId,
    executionId: record.callId,
    toolId: record.tool,
    toolVersion: record.version,
    operation: record.operation,
    inputHash: record.inputHash,
  };
}

export function answerFor(
  record: CallRecord,
  { states, error, proof, result }: LateEnd,
  now: number,
): CallAnswer {
  const common = {
    callId: record.callId,
    executionId: record.callId,
    tool: record.tool,
    version: record.version,
    operation: record.operation,
    attempts: record.attempt,
    lifecycle: states.map((state) => ({ state, at: now })),
    startedAt: record.startedAt,
    completedAt: now,
    usage: { durationMs: 0, cpuMs: 0, memoryPeakBytes: 0, networkBytesSent: 0, networkBytesReceived: 0 },
    ...(proof && { rollback: proof }),
    warnings: [],
    replayed: false,
  };
  if (!error) return { ...common, status: "success", result: result ?? null };
  return { ...common, status: entryOf(error).status, error };
}
