import { type CallAnswer, type Caller, type Failure, failure, type OnApproval } from "@sallyport/protocol";
import { decodeOrder } from "../approve/order.ts";
import type { CallRecord } from "../ports/calls.ts";
import { pendingAnswer } from "./answer.ts";
import { Attempt } from "./attempt.ts";
import type { House } from "./house.ts";
import type { Call } from "./perform-call.ts";
import { receive } from "./received.ts";
import { replayed } from "./replay.ts";
import { shortId } from "./short-id.ts";
import { unidentified } from "./stages/resolve.ts";

/** How a call that waits is to go on. */
export interface GoingOn {
  signal?: AbortSignal;
  onApproval?: OnApproval;
  /** When given, only the caller that made the call can go on with it, and has to be let in as for any call. */
  caller?: Caller;
  token?: string;
  disclosure?: "full";
}

/** The call as it was ordered, ready to go on; its answer, when it has one; or why it cannot. */
export async function waitingCall(
  callId: string,
  goingOn: GoingOn,
  house: House,
): Promise<Call | CallAnswer | Failure> {
  const record = await house.store.calls.get(callId);
  if (!record || isStranger(record, goingOn.caller)) {
    return failure("E3917", { message: `There is no call ${callId}.` });
  }
  const stranger = notLetIn(record, goingOn, house);
  if (stranger) return stranger;
  if (record.closing) return replayed(record.closing.answer);
  if (record.phase !== "waiting") {
    return failure("E3918", { message: `Call ${callId} is ${record.phase}, not waiting for approval.` });
  }
  const approval = await house.store.approvals.ofCall(callId);
  const text = approval && (await house.store.approvals.order(approval.approvalId));
  if (!approval || text === undefined) {
    return failure("E3918", { message: `What call ${callId} was to do is no longer kept; ask for it anew.` });
  }
  const { attempts, startedAt, verified, held, ...order } = decodeOrder(text);
  const { onApproval = "pending", disclosure } = goingOn;
  return {
    request: { ...order, onApproval, ...(disclosure && { disclosure }) },
    callId,
    received: receive(order.input, house.limits.input),
    controller: controllerOf(goingOn.signal),
    startedAt,
    waits: { approvalId: approval.approvalId, verified, held },
    attemptsBefore: attempts,
    run: shortId(house),
  };
}

/** How a call stands that waits, in the words of a caller that does not wait for it; undefined when it does not (any more). */
export async function pendingStill(
  callId: string,
  call: Call,
  house: House,
): Promise<CallAnswer | undefined> {
  const record = await house.store.calls.get(callId);
  if (record?.closing) return replayed(record.closing.answer);
  const approval = await house.store.approvals.ofCall(callId);
  if (record?.phase !== "waiting" || !approval) return undefined;
  const attempt = new Attempt({ ...call, callId, number: record.attempt });
  attempt.facts.toolVersion = record.version;
  attempt.facts.operation = record.operation;
  return pendingAnswer(attempt, approval, house.clock.now());
}

function isStranger({ tenant, agent }: CallRecord, caller: Caller | undefined): boolean {
  return caller !== undefined && (caller.tenant !== tenant || caller.agent !== agent);
}

function notLetIn({ tool }: CallRecord, { caller, token }: GoingOn, house: House): Failure | undefined {
  if (!caller) return undefined;
  const request = { caller, tool, input: undefined, ...(token !== undefined && { token }) };
  return unidentified({ request, waits: undefined }, house);
}

function controllerOf(signal: AbortSignal | undefined): AbortController {
  const controller = new AbortController();
  if (signal?.aborted) controller.abort(signal.reason);
  signal?.addEventListener("abort", () => controller.abort(signal.reason), { once: true });
  return controller;
}
