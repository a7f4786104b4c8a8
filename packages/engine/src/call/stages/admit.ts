import { type Failure, failure, type ResourceLimits } from "@sallyport/protocol";
import type { Place } from "../../admit/admission.ts";
import { agentKey } from "../../admit/agent-key.ts";
import { abortUnstarted } from "../ending-steps.ts";
import { enqueue } from "../enqueue.ts";
import type { House } from "../house.ts";
import type { Admitted, Allowed, Ending, Queued } from "../steps.ts";

type Next = Admitted | Queued | Ending;

/**
 * Makes sure there is room: the call's own limits first, then a place among the running calls. A call whose caller does
 * not wait for the answer is put on record instead, and comes back when there is room.
 */
export function admit(at: Allowed, house: House): Next | Promise<Next> {
  const tooMuch = beyondTheTool(at);
  if (tooMuch) return abortUnstarted(at, tooMuch);
  const { request, place: had, waits } = at.attempt;
  if (request.asyncMode && !waits) return enqueue(at, house);
  if (had) return settle(at, had);
  const place = house.admission.enter({
    agent: agentKey(request.caller),
    tool: at.tool.manifest.id,
    priority: request.priority ?? "normal",
    signal: at.attempt.signal,
    ...(request.asyncMode && { patient: true }),
  });
  return place instanceof Promise ? place.then((result) => settle(at, result)) : settle(at, place);
}

function settle(at: Allowed, result: Place | Failure): Admitted | Ending {
  if ("code" in result) return abortUnstarted(at, result);
  at.attempt.onExit(() => result.release());
  return { ...at, place: result };
}

/** A request may tighten the tool's limits, never widen them (E3102). */
function beyondTheTool({ attempt, tool }: Allowed): Failure | undefined {
  const asked = attempt.request.limits;
  if (!asked) return undefined;
  for (const [name, wanted] of Object.entries(asked)) {
    const key = name as keyof ResourceLimits;
    const allowed = tool.limits[key];
    if (wanted === undefined || allowed === undefined || wanted <= allowed) continue;
    const message = `${key} ${wanted} was asked for; ${tool.manifest.id} allows ${allowed}.`;
    return failure("E3102", { message, details: { limit: key, wanted, allowed }, retryable: false });
  }
  return undefined;
}
