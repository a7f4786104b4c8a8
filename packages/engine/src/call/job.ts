import type { Failure } from "@sallyport/protocol";
import { GuardedHost } from "../execute/tool-host.ts";
import type { HookCall } from "../ports/hooks.ts";
import type { CallFacts, Job, Runner } from "../ports/runner.ts";
import type { ResolvedTool } from "../registry/index.ts";
import type { Attempt } from "./attempt.ts";
import type { House } from "./house.ts";
import type { Allowed, Intended } from "./steps.ts";

/** The tightest of what the request, the operation, the tool and the engine allow. */
export function effectiveLimits({ request }: Attempt, { limits, operation }: ResolvedTool, house: House) {
  const asked = request.limits;
  return {
    timeoutMs: Math.min(asked?.timeoutMs ?? Infinity, operation.timeoutMs ?? limits.timeoutMs),
    memoryBytes: Math.min(asked?.memoryBytes ?? Infinity, limits.memoryBytes),
    maxOutputBytes: Math.min(
      asked?.maxOutputBytes ?? Infinity,
      limits.maxOutputBytes ?? house.limits.maxOutputBytes,
    ),
  };
}

export function runnerOf(tool: ResolvedTool, house: House): Runner {
  return tool.implementation?.kind === "inline" ? house.runners.inline : house.runners.thread;
}

/** Puts together what a runner needs; whatever breaches the tool's bounds ends the run. */
export function jobOf(at: Intended, implementation: Job["implementation"], house: House): Job {
  const { attempt, tool, transaction } = at;
  const limits = effectiveLimits(attempt, tool, house);
  const host = new GuardedHost({
    tool: tool.manifest.id,
    state: transaction,
    capabilities: attempt.facts.decision?.capabilities ?? [],
    sideEffects: tool.conduct.sideEffects,
    onViolation: (violation: Failure) => attempt.violate(violation),
    onProgress: (percent, phase) => house.inFlight.progressed(attempt.callId, { percent, phase }),
  });
  return {
    tool: tool.manifest.id,
    version: tool.manifest.version,
    operation: tool.operationName,
    implementation,
    input: at.input,
    facts: factsOf(attempt, house.clock.now() + limits.timeoutMs),
    host,
    ...limits,
    signal: attempt.signal,
  };
}

export function hookCallOf({ attempt, tool }: Allowed, house: House): HookCall {
  const { timeoutMs } = effectiveLimits(attempt, tool, house);
  return {
    ...factsOf(attempt, house.clock.now() + timeoutMs),
    tool: tool.manifest.id,
    version: tool.manifest.version,
    operation: tool.operationName,
  };
}

function factsOf({ callId, executionId, number, request }: Attempt, deadlineAt: number): CallFacts {
  const { tenant, agent, user, session } = request.caller;
  return {
    callId,
    executionId,
    attempt: number,
    tenant,
    agent,
    ...(user !== undefined && { user }),
    ...(session !== undefined && { session }),
    deadlineAt,
  };
}
