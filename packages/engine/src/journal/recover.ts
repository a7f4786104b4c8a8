import type { CallRecord } from "../ports/calls.ts";

/** What can be said of a call after the process that ran it is gone. Nothing is ever run again by itself (D-4). */
export type Verdict =
  /** Nothing of it took effect: it has no intent, or all it could change was a transaction that never committed. */
  | { verdict: "never_started"; callId: string; reason: string }
  /** Its outcome is on record and will be given again to whoever asks. */
  | { verdict: "completed"; callId: string; record: CallRecord }
  /** It was running and may have changed the world; a person has to find out and close it. */
  | { verdict: "outcome_unknown"; callId: string; record: CallRecord; reason: string };

/** Judges a call from what the journal holds about it. `undefined` means the journal never heard of it. */
export function judge(callId: string, record: CallRecord | undefined): Verdict {
  if (!record) return { verdict: "never_started", callId, reason: "the journal holds no intent for it" };
  if (record.phase === "waiting") {
    return { verdict: "never_started", callId, reason: "it waits for a person's approval" };
  }
  if (record.phase === "queued") {
    return { verdict: "never_started", callId, reason: "it is queued and has not run" };
  }
  if (record.phase === "closed") return { verdict: "completed", callId, record };
  if (record.sideEffects !== "external") {
    const reason = "it could change only transactional state, and its transaction never committed";
    return { verdict: "never_started", callId, reason };
  }
  const reason = "it was running when the process ended and its effects are outside Sallyport's reach";
  return { verdict: "outcome_unknown", callId, record, reason };
}
