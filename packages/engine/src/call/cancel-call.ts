import { type CallStatus, failure, isFailure } from "@sallyport/protocol";
import { withdraw } from "../approve/settle.ts";
import { endQueued } from "./end-queued.ts";
import type { House } from "./house.ts";
import { settleWaiting } from "./settle-waiting.ts";
import { standingOf } from "./standing.ts";

/** What came of the wish to end a call. */
export interface Cancellation {
  cancelled: boolean;
  message: string;
  /** How the call stands now. */
  status: CallStatus | "unknown";
}

/** Ends a call wherever it stands. Asking again is safe and says what happened. */
export async function cancelCall(
  callId: string,
  { reason }: { reason: string },
  house: House,
): Promise<Cancellation | undefined> {
  const standing = await standingOf(callId, house);
  if (!standing) return undefined;
  if ("answer" in standing) return ended(standing.status);
  if (standing.status === "pending_approval")
    return await withdrawn(callId, standing.approvalId, { reason, house });
  if (house.inFlight.cancel(callId, reason) || house.queue.cancel(callId, reason)) {
    return { cancelled: true, message: "Cancellation in progress.", status: "running" };
  }
  if (standing.status === "pending") {
    await endQueued(callId, reason, house);
    return { cancelled: true, message: "Cancelled before it ran.", status: "cancelled" };
  }
  const message = "Nobody knows whether it still runs or how it ended; a person has to close it.";
  return { cancelled: false, message, status: "unknown" };
}

async function withdrawn(
  callId: string,
  approvalId: string,
  { reason, house }: { reason: string; house: House },
): Promise<Cancellation> {
  const record = await house.store.approvals.get(approvalId);
  const after = record && withdraw(record, { at: house.clock.now(), reason });
  if (record && after && !isFailure(after)) {
    const error = failure("E3906", { message: `Cancelled while it waited for approval: ${reason}` });
    const states = ["ABORTED", "ROLLED_BACK"] as const;
    const settled = await settleWaiting(record, after, { kind: "APPROVAL_WITHDRAWN", states, error }, house);
    if (settled) return { cancelled: true, message: "Cancelled before it ran.", status: "cancelled" };
  }
  // Somebody has just begun or ended it.
  house.inFlight.cancel(callId, reason);
  const standing = await standingOf(callId, house);
  if (standing && "answer" in standing) return ended(standing.status);
  return { cancelled: true, message: "Cancellation in progress.", status: "running" };
}

function ended(status: CallStatus): Cancellation {
  const cancelled = status === "cancelled";
  return { cancelled, message: cancelled ? "Already cancelled." : `Already completed (${status}).`, status };
}
