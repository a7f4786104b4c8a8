import type { CallAnswer } from "@sallyport/protocol";
import { decodeOrder, type WaitingOrder } from "../approve/order.ts";
import { isUnspent, standingAt } from "../approve/settle.ts";
import type { ApprovalRecord } from "../ports/approvals.ts";
import { pendingAnswer } from "./answer.ts";
import type { Attempt } from "./attempt.ts";
import type { Call } from "./attempts.ts";
import { decided } from "./decided.ts";
import type { House } from "./house.ts";
import { receive } from "./received.ts";
import { expireCall, withdrawCall } from "./settle-waiting.ts";

interface Asking {
  call: Call;
  attempt: Attempt;
}

/**
 * What comes after a question was put: an answer that the call waits, or, for a caller that waits itself, the call
 * as it may go on. The question is on record, so nothing is lost when this process ends meanwhile.
 */
export async function afterAsking(
  approval: ApprovalRecord,
  { call, attempt }: Asking,
  house: House,
): Promise<CallAnswer | Call> {
  const waits = call.request.onApproval === "wait";
  const { state } = standingAt(approval, house.clock.now());
  const record =
    waits && state === "pending" ? await decided(approval, call.controller.signal, house) : approval;
  const { signal } = call.controller;
  if (signal.aborted && !house.inFlight.closing) {
    return await withdrawCall(record, { attempt, reason: String(signal.reason) }, house);
  }
  return await goOn(record, { call, attempt }, house);
}

async function goOn(
  record: ApprovalRecord,
  { call, attempt }: Asking,
  house: House,
): Promise<CallAnswer | Call> {
  const standing = standingAt(record, house.clock.now());
  if (isUnspent(standing) && call.request.onApproval === "wait") {
    const order = await house.store.approvals.order(record.approvalId);
    if (order !== undefined) return continued(call, { record, attempt, order: decodeOrder(order) }, house);
  }
  if (standing.state === "expired") return await expireCall(record, attempt, house);
  if (standing.state !== "pending" && !isUnspent(standing)) {
    const answer = await settledAnswer(record, house);
    if (answer) return answer;
  }
  return pendingAnswer(attempt, record, house.clock.now());
}

/** The call with the arguments that were approved, which a person may have changed. */
function continued(
  call: Call,
  { record, attempt, order }: { record: ApprovalRecord; attempt: Attempt; order: WaitingOrder },
  house: House,
): Call {
  const verified = attempt.facts.decision?.token ?? attempt.waits?.verified;
  return {
    ...call,
    request: { ...call.request, input: order.input },
    received: receive(order.input, house.limits.input),
    waits: { for: "approval", approvalId: record.approvalId, verified, held: order.held },
  };
}

/** Somebody denied, spent or voided it: the journal has the call's answer. */
async function settledAnswer({ callId }: ApprovalRecord, house: House): Promise<CallAnswer | undefined> {
  const record = await house.store.calls.get(callId);
  return record?.closing?.answer;
}
