import { type Failure, failure, type ResourceLimits } from "@sallyport/protocol";
import type { Place } from "../../admit/admission.ts";
import { abortUnstarted } from "../ending-steps.ts";
import type { House } from "../house.ts";
import type { Admitted, Allowed, Ending } from "../steps.ts";

/** Makes sure there is room: the call's own limits first, then a place among the running calls. */
export function admit(at: Allowed, house: House): Admitted | Ending | Promise<Admitted | Ending> {
  const tooMuch = beyondTheTool(at);
  if (tooMuch) return abortUnstarted(at, tooMuch);
  const { caller, priority } = at.attempt.request;
  const place = house.admission.enter({
    agent: JSON.stringify([caller.tenant, caller.agent]),
    tool: at.tool.manifest.id,
    priority: priority ?? "normal",
    signal: at.attempt.signal,
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
