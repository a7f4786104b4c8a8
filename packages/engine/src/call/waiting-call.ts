import { type CallAnswer, type Caller, type Failure, failure, type OnApproval } from "@sallyport/protocol";
import type { Place } from "../admit/admission.ts";
import { decodeOrder, type WaitingOrder } from "../approve/order.ts";
import type { CallRecord } from "../ports/calls.ts";
import type { OutputListener } from "../ports/runner.ts";
import { pendingAnswer } from "./answer.ts";
import { Attempt, type Waits } from "./attempt.ts";
import type { Call } from "./attempts.ts";
import type { House } from "./house.ts";
import { receive } from "./received.ts";
import { replayed } from "./replay.ts";
import { shortId } from "./short-id.ts";
import { unidentified } from "./stages/resolve.ts";

/** How a call that waits is to go on. */
export interface GoingOn {
  /** The place it has among the running calls already. */
  place?: Place;
  signal?: AbortSignal;
  /** Given what a process writes while it runs, as it comes. */
  onOutput?: OutputListener;
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
  if (record.phase !== "waiting" && record.phase !== "queued") {
    return failure("E3918", { message: `Call ${callId} is ${record.phase}, not waiting for approval.` });
  }
  const kept = await keptOrder(record, house);
  if (!kept) {
    return failure("E3918", { message: `What call ${callId} was to do is no longer kept; ask for it anew.` });
  }
  const { attempts, startedAt, verified: _said, held: _shown, ...order } = kept.order;
  const { onApproval = "pending", disclosure, place, onOutput } = goingOn;
  return {
    request: { ...order, onApproval, ...(disclosure && { disclosure }), ...(onOutput && { onOutput }) },
    callId,
    received: receive(order.input, house.limits.input),
    controller: controllerOf(goingOn.signal),
    startedAt,
    waits: kept.waits,
    ...(place && { place }),
    attemptsBefore: attempts,
    run: shortId(house),
  };
}

/** The order as it is kept, and what the call has been waiting for. */
async function keptOrder(
  { callId, phase }: CallRecord,
  { store }: House,
): Promise<{ order: WaitingOrder; waits: Waits } | undefined> {
  if (phase === "queued") {
    const text = await store.queue.order(callId);
    const order = text === undefined ? undefined : decodeOrder(text);
    return order && { order, waits: { for: "room", verified: order.verified } };
  }
  const approval = await store.approvals.ofCall(callId);
  const text = approval && (await store.approvals.order(approval.approvalId));
  if (!approval || text === undefined) return undefined;
  const order = decodeOrder(text);
  const { verified, held } = order;
  return { order, waits: { for: "approval", approvalId: approval.approvalId, verified, held } };
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
  const attempt = new Attempt({ ...call, clock: house.clock, callId, number: record.attempt });
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
