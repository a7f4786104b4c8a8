import { type Failure, isFailure, type JsonValue } from "@sallyport/protocol";
import type { WaitingOrder } from "../approve/order.ts";
import { Attempt, type Waits } from "./attempt.ts";
import { errorOf } from "./conclude.ts";
import { denial } from "./denial.ts";
import type { House } from "./house.ts";
import { InFlight } from "./in-flight.ts";
import { Stop } from "./passage.ts";
import { receive } from "./received.ts";
import { authorise, type Weighed } from "./stages/authorise.ts";
import { resolve } from "./stages/resolve.ts";
import { validate } from "./stages/validate.ts";
import { type Ending, Refused } from "./steps.ts";

/** What of an order it takes to look at it. */
export type Rehearsed = Pick<
  WaitingOrder,
  "tool" | "caller" | "limits" | "requireApproval" | "attempts" | "startedAt"
> &
  Partial<Pick<WaitingOrder, "version" | "operation">>;

/**
 * Takes an order through the stages that only look: resolve, validate, authorise. Nothing is recorded and nothing
 * runs; the answer is what is known of the call then, or why it would not get that far.
 */
export async function rehearse(
  order: Rehearsed,
  { callId, waits, input }: { callId: string; waits?: Waits; input: JsonValue },
  house: House,
): Promise<Weighed | Failure> {
  const { tool, version, operation, caller, limits, requireApproval } = order;
  const attempt = new Attempt({
    request: {
      tool,
      caller,
      input,
      disclosure: "full",
      ...(version !== undefined && { version }),
      ...(operation !== undefined && { operation }),
      ...(limits && { limits }),
      ...(requireApproval && { requireApproval }),
    },
    callId,
    number: order.attempts,
    startedAt: order.startedAt,
    received: receive(input, house.limits.input),
    controller: new AbortController(),
    waits,
  });
  const known = resolve({ attempt }, house);
  if (known instanceof Refused) return known.error;
  const checked = validate(known, house);
  if (checked instanceof Stop) return endOf(checked);
  // Nothing runs by a rehearsal: what a running call rests on must not be replaced by it.
  const weighed = await authorise(checked, { ...house, inFlight: new InFlight() });
  if (weighed instanceof Stop) return endOf(weighed);
  return weighed.decision.outcome === "deny" ? denial(weighed.decision) : weighed;
}

function endOf(end: Ending): Failure {
  const error = errorOf(end);
  if (error && isFailure(error)) return error;
  throw new Error("a call ended without a reason before it ran");
}
