import type { CallPhase } from "../ports/calls.ts";
import type { Attempt } from "./attempt.ts";
import type { House } from "./house.ts";

/** Whether the journal holds this very call in that phase. What cannot be asked is a no. */
export async function isOurs(attempt: Attempt, phase: CallPhase, house: House): Promise<boolean> {
  const record = await house.store.calls.get(attempt.callId).catch(() => undefined);
  return (
    record?.phase === phase &&
    record.owner === house.owner &&
    record.startedAt === attempt.startedAt &&
    record.tenant === attempt.facts.tenant
  );
}
