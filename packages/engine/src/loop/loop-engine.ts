import type { CallAnswer, Failure } from "@sallyport/protocol";
import type { ApprovalBook } from "../call/approval-book.ts";
import type { Cancellation } from "../call/cancel-call.ts";
import type { CallRequest } from "../call/house.ts";
import type { PlanRequest } from "../call/plan-call.ts";
import type { CallStanding } from "../call/standing.ts";
import type { GoingOn } from "../call/waiting-call.ts";
import type { CallPlan } from "./call-plan.ts";

/** What the loop needs of the engine: every call goes this way. */
export interface LoopEngine {
  plan(request: PlanRequest): Promise<CallPlan>;
  call(request: CallRequest): Promise<CallAnswer>;
  resume(callId: string, goingOn?: GoingOn): Promise<CallAnswer | Failure>;
  cancelCall(callId: string, order: { reason: string }): Promise<Cancellation | undefined>;
  standing(callId: string): Promise<CallStanding | undefined>;
  readonly approvals: Pick<ApprovalBook, "get" | "approve" | "deny" | "edit">;
}
