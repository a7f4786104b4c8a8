import { isFailure, type JsonValue } from "@sallyport/protocol";
import type { CallPlan } from "../loop/call-plan.ts";
import { summaryFor } from "./asking.ts";
import type { CallRequest, House } from "./house.ts";
import { type Rehearsed, rehearse } from "./rehearse.ts";
import { needOf } from "./stages/approve.ts";

/** A call that is only looked at. */
export type PlanRequest = Pick<
  CallRequest,
  "tool" | "version" | "operation" | "caller" | "requireApproval"
> & {
  input: JsonValue;
};

/**
 * What would become of a call: refused, run at once, or put to a person. Resolves, validates and authorises like the
 * passage itself; nothing is recorded and nothing runs.
 */
export async function planCall(request: PlanRequest, house: House): Promise<CallPlan> {
  const { tool, version, operation, caller, requireApproval, input } = request;
  const order: Rehearsed = {
    tool,
    caller,
    attempts: 1,
    startedAt: house.clock.now(),
    ...(version !== undefined && { version }),
    ...(operation !== undefined && { operation }),
    ...(requireApproval && { requireApproval }),
  };
  const weighed = await rehearse(order, { callId: house.ids.next(), input }, house);
  if (isFailure(weighed)) return { kind: "refused", error: weighed };
  const summary = summaryFor(weighed);
  if (typeof summary !== "string") return { kind: "refused", error: summary };
  const { risk } = weighed.tool.conduct;
  const because = needOf(weighed);
  return because ? { kind: "ask", because, summary, risk } : { kind: "run", summary, risk };
}
