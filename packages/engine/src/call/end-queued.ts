import { type CallAnswer, entryOf, type Failure } from "@sallyport/protocol";
import { isUnspent, standingAt } from "../approve/settle.ts";
import type { House } from "./house.ts";
import { closeLate } from "./late-close.ts";
import { isPassing } from "./passing.ts";

/**
 * Whether the call could still begin by itself: it is queued, or waits by an unspent yes. Rejects when the store cannot
 * be asked.
 */
export async function couldStillBegin(callId: string, { store, clock }: House): Promise<boolean> {
  const record = await store.calls.get(callId);
  if (record?.phase === "queued") return true;
  if (record?.phase !== "waiting") return false;
  const approval = await store.approvals.ofCall(callId);
  return approval !== undefined && isUnspent(standingAt(approval, clock.now()));
}

/** Ends an accepted call that is refused now: its tool is gone, or nobody may know of it any more. */
export async function endRefused(
  callId: string,
  error: Failure,
  house: House,
): Promise<CallAnswer | undefined> {
  return isPassing(error) ? undefined : await endQueued(callId, error, house);
}

/** Ends a call that was accepted and has not run; undefined when it is not queued (any more). */
export async function endQueued(
  callId: string,
  error: Failure,
  house: House,
): Promise<CallAnswer | undefined> {
  const record = await house.store.calls.get(callId);
  if (record?.phase !== "queued") return undefined;
  const { failureClass, status } = entryOf(error);
  const proof = { verified: true, snapshotHash: "", discardedMutations: 0 };
  const from = "queued" as const;
  if (failureClass === "AuthorizationError")
    return await closeLate(record, { states: ["DENIED"], error, from }, house);
  if (failureClass === "ValidationError" && status !== "cancelled")
    return await closeLate(record, { states: ["FAILED"], error, from }, house);
  return await closeLate(record, { states: ["ABORTED", "ROLLED_BACK"], error, proof, from }, house);
}
