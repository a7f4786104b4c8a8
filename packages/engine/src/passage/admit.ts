import { DEFAULT_LIMITS, type Failure, failure, type ResourceLimits } from "@sallyport/protocol";
import type { Slot } from "../admit/admission.ts";
import type { EngineContext } from "../context.ts";
import { enqueue } from "../queue/enqueue.ts";
import { limitsOf } from "./job.ts";
import { type Admitted, type Allowed, abortBeforeStart, type Ending, type Queued } from "./steps.ts";

type Next = Admitted | Queued | Ending;

/**
 * Makes sure there is room: the call's own limits first, then a slot to run in. A call whose caller does
 * not wait for the answer is put on record instead, and comes back when there is room.
 */
export function admit(at: Allowed, context: EngineContext): Next | Promise<Next> {
  const tooMuch = beyondTheTool(at) ?? beyondTheHost(at, context);
  if (tooMuch) return abortBeforeStart(at, tooMuch);
  const { request, slot: had, waits } = at.attempt;
  if (request.asyncMode && !waits) return enqueue(at, context);
  if (had) return settle(at, had);
  const slot = context.admission.enter({
    tenant: request.caller.tenant,
    agent: request.caller.agent,
    tool: at.tool.manifest.id,
    priority: request.priority ?? "normal",
    signal: at.attempt.signal,
    ...(request.asyncMode && { background: true }),
  });
  return slot instanceof Promise ? slot.then((result) => settle(at, result)) : settle(at, slot);
}

function settle(at: Allowed, result: Slot | Failure): Admitted | Ending {
  if ("code" in result) return abortBeforeStart(at, result);
  at.attempt.onExit(() => result.release());
  return { ...at, slot: result };
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

/**
 * A call that may use more memory than there is could never be held to its limit (R1-5.1). The default limit is not a
 * declared one: small hosts run tools that declare nothing.
 */
function beyondTheHost({ attempt, tool }: Allowed, context: EngineContext): Failure | undefined {
  const { memoryBytes: wanted } = limitsOf(attempt, tool, context);
  if (wanted <= DEFAULT_LIMITS.memoryBytes) return undefined;
  const available = context.host.memoryBytes();
  if (wanted <= available) return undefined;
  return failure("E3102", {
    message: `${tool.manifest.id} may use ${wanted} bytes of memory; this host has ${available}.`,
    details: { limit: "memoryBytes", wanted, available },
    advice:
      "Lower memoryBytes in the tool's manifest or in the request's limits, or use a host with more memory.",
    retryable: false,
  });
}
