import { type CallAnswer, type Failure, failure } from "@sallyport/protocol";
import type { CallRecord } from "../ports/calls.ts";

/** What the journal says to a request whose idempotency key it knows. */
export type Recorded = { ok: true; answer: CallAnswer } | { ok: false; error: Failure };

/**
 * The same key with the same body gets the recorded answer; with another body it is a conflict. A call whose outcome
 * nobody knows is never run again by asking once more.
 */
export function fromRecord(record: CallRecord, digest: string): Recorded {
  if (record.requestDigest !== digest) return { ok: false, error: otherBody(record.idempotencyKey) };
  if (record.closing) return { ok: true, answer: replayed(record.closing.answer) };
  const details = { callId: record.callId, phase: record.phase };
  const message = `Call ${record.callId} holds this key and its outcome is not known.`;
  return { ok: false, error: failure("E3909", { message, details }) };
}

export function replayed(answer: CallAnswer): CallAnswer {
  return { ...structuredClone(answer), replayed: true };
}

export function otherBody(key: string | undefined): Failure {
  return failure("E3904", { message: `The idempotency key "${key ?? ""}" was used for another request.` });
}
