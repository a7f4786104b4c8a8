import { type CallAnswer, entryOf, type Failure, failure } from "@sallyport/protocol";
import type { House } from "./house.ts";
import { closeLate } from "./late-close.ts";

/** Whether the journal still holds the call as queued. Rejects when it cannot be asked. */
export async function isStillQueued(callId: string, { store }: House): Promise<boolean> {
  return (await store.calls.get(callId))?.phase === "queued";
}

/** Ends an accepted call that is refused now: its tool is gone, or nobody may know of it any more. */
export async function endRefused(
  callId: string,
  error: Failure,
  house: House,
): Promise<CallAnswer | undefined> {
  const record = await house.store.calls.get(callId);
  if (record?.phase !== "queued") return undefined;
  const isDenial = entryOf(error).failureClass === "AuthorizationError";
  return await closeLate(record, { states: [isDenial ? "DENIED" : "FAILED"], error, from: "queued" }, house);
}

/** Ends a call that was accepted and has not run. One that approval holds, or that has ended, is left as it is. */
export async function endQueued(callId: string, reason: string, house: House): Promise<void> {
  const record = await house.store.calls.get(callId);
  if (record?.phase !== "queued") return;
  const error = failure("E3906", { message: `Cancelled before it ran: ${reason}` });
  const proof = { verified: true, snapshotHash: "", discardedMutations: 0 };
  await closeLate(record, { states: ["ABORTED", "ROLLED_BACK"], error, proof, from: "queued" }, house);
}
