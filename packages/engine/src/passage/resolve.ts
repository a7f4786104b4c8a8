import { type Failure, failure, isFailure } from "@sallyport/protocol";
import type { EngineContext } from "../context.ts";
import type { Attempt } from "./attempt.ts";
import { effectiveLimits } from "./job.ts";
import { declare, type Observer } from "./lifecycle.ts";
import { type Arrived, type Known, Refused } from "./steps.ts";

/**
 * Why the caller may not know of a tool. Asked before the registry is, and the same whether or not there is such a
 * tool, so that a refusal tells nothing about it.
 */
function hiddenToolRefusal(
  { request, waits }: Attempt,
  context: EngineContext,
  tool: string = request.tool,
): Failure | undefined {
  return request.disclosure === "full" ? undefined : accessRefusal({ request, waits }, context, tool);
}

/** Why the caller is not taken for the one it says it is, or may not use the tool at all. */
export function accessRefusal(
  { request, waits }: Pick<Attempt, "request" | "waits">,
  context: EngineContext,
  tool: string = request.tool,
): Failure | undefined {
  if (!context.authority.accessRefusal) return undefined;
  const { caller, token } = request;
  const verified = waits?.verified;
  try {
    return context.authority.accessRefusal({
      caller,
      ...(verified ? { verified } : token !== undefined && { token }),
      tool,
      at: context.clock.now(),
    });
  } catch (error) {
    context.errors.report({ error, code: "E3206", tool, stage: "resolve" });
    return failure("E3206");
  }
}

/** Finds the one manifest the call means. From here on the call has a lifecycle. */
export function resolve({ attempt, progress: arrived }: Arrived, context: EngineContext): Known | Refused {
  const { tool: id, version, operation } = attempt.request;
  const refused = (error: Failure) => new Refused(error, arrived);
  // Nothing of a call whose tenant is only claimed reaches that tenant's journal or chain.
  if (arrived.chain !== undefined) return refused(accessRefusal(attempt, context) ?? failure("E3206"));
  const hidden = hiddenToolRefusal(attempt, context);
  if (hidden) return refused(hidden);
  const tool = context.registry.resolve({
    tool: id,
    version,
    operation,
    now: context.clock.now(),
    mayKnow: (other) => hiddenToolRefusal(attempt, context, other) === undefined,
  });
  if (isFailure(tool)) return refused(tool);
  if (context.toolRules.of(id)?.enabled === false)
    return refused(failure("E3014", { message: `${id} is switched off by the operator.` }));
  if (!tool.implementation) {
    const why = `${tool.manifest.version} is on record, and nothing runs it here`;
    return refused(withoutCode(id, why));
  }
  const call = { ...arrived.call, version: tool.manifest.version, operation: tool.operationName };
  const limits = effectiveLimits(attempt.request, tool, context);
  const progress = { ...arrived, call, tool, limits, warnings: tool.warnings };
  return { attempt, progress, tool, life: declare(progress, observerOf(attempt, context)) };
}

/** E3920 in the words of a call: whoever makes it cannot look at a module. */
export function withoutCode(tool: string, why: string): Failure {
  const advice =
    "Call a version that is there now (`sallyport tools list`, or GET /v1/tools), or have this one loaded again.";
  return failure("E3920", { message: `${tool} ${why}.`, advice });
}

function observerOf(attempt: Attempt, { clock, telemetry, feeds }: EngineContext): Observer {
  const { callId, tool } = attempt.call;
  return {
    now: () => clock.now(),
    watch: (visit, progress) => {
      attempt.enter(visit, progress);
      telemetry.transition(visit.state, tool);
      feeds.get(callId)?.push({ kind: "state", ...visit });
    },
  };
}
