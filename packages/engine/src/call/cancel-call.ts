import { type CallStatus, failure, isFailure } from "@sallyport/protocol";
import { withdraw } from "../approve/settle.ts";
import { endQueued } from "./end-queued.ts";
import type { House } from "./house.ts";
import { settleWaiting } from "./settle-waiting.ts";
import { standingOf } from "./standing.ts";
import { within } from "./within.ts";

/** What came of the wish to end a call. */
export interface Cancellation {
  cancelled: boolean;
  message: string;
  /** How the call stands now. */
  status: CallStatus | "unknown";
}

const IN_PROGRESS: Cancellation = {
  cancelled: true,
  message: "Cancellation in progress.",
  status: "running",
};
/** How long the answer waits for the record; a store that is away longer does not hold it up. */
const ON_RECORD_MS = 2_000;

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
  // The queue first: whoever else is under way with this id may be another's request for it.
  const over = house.queue.cancel(callId, reason);
  if (over && standing.status === "pending") return await unqueued(callId, over, house);
  if (over || house.inFlight.cancel(callId, reason)) return IN_PROGRESS;
  if (standing.status === "pending") {
    const error = failure("E3906", { message: `Cancelled before it ran: ${reason}` });
    const ended = await endQueued(callId, error, house);
    if (ended) return { cancelled: true, message: "Cancelled before it ran.", status: "cancelled" };
    return await cancelCall(callId, { reason }, house);
  }
  const message = "Nobody knows whether it still runs or how it ended; a person has to close it.";
  return { cancelled: false, message, status: "unknown" };
}

/** Who is told that a queued call is cancelled must not find that it has run after all, whatever happens to this process. */
async function unqueued(callId: string, over: Promise<void>, house: House): Promise<Cancellation> {
  await within(over, ON_RECORD_MS);
  const standing = await standingOf(callId, house);
  if (standing?.status !== "cancelled")
    return standing && "answer" in standing ? ended(standing.status) : IN_PROGRESS;
  return { cancelled: true, message: "Cancelled before it ran.", status: "cancelled" };
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
  return IN_PROGRESS;
}

function ended(status: CallStatus): Cancellation {
  const cancelled = status === "cancelled";
  return { cancelled, message: cancelled ? "Already cancelled." : `Already completed (${status}).`, status };
}
