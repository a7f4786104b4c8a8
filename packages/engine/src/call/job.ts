import { type Failure, failure } from "@sallyport/protocol";
import { GuardedHost, type HostedUse } from "../execute/tool-host.ts";
import type { Decision } from "../ports/authority.ts";
import type { HookCall } from "../ports/hooks.ts";
import type { CallFacts, Job, Runner } from "../ports/runner.ts";
import type { ResolvedTool } from "../registry/index.ts";
import { withSandboxSpan } from "../telemetry/index.ts";
import type { Attempt } from "./attempt.ts";
import type { House } from "./house.ts";
import type { Allowed, Intended } from "./steps.ts";

/** The tightest of what the request, the operation, the tool and the engine allow. */
export function effectiveLimits(
  { request }: Attempt,
  { limits, operation, manifest }: ResolvedTool,
  house: House,
) {
  const asked = request.limits;
  return {
    timeoutMs: Math.min(
      asked?.timeoutMs ?? Infinity,
      house.toolRules.of(manifest.id)?.timeoutMs ?? Infinity,
      operation.timeoutMs ?? limits.timeoutMs,
    ),
    memoryBytes: Math.min(asked?.memoryBytes ?? Infinity, limits.memoryBytes),
    maxOutputBytes: Math.min(
      asked?.maxOutputBytes ?? Infinity,
      limits.maxOutputBytes ?? house.limits.maxOutputBytes,
    ),
  };
}

/** Nothing that needs a sandbox gets as far as running without one; this is for the case that it did. */
const UNHAD: Runner = {
  isolation: { level: "LEVEL_0", runner: "none" },
  run: async () => ({
    ok: false,
    fault: { kind: "refused", failure: failure("E3101") },
    usage: { cpuMs: 0, memoryPeakBytes: 0 },
  }),
  close: async () => undefined,
};

export function runnerOf(tool: ResolvedTool, house: House): Runner {
  return house.runners[tool.implementation?.kind ?? "thread"] ?? UNHAD;
}

/** Puts together what a runner needs; whatever breaches the tool's bounds ends the run. */
export function jobOf(
  at: Pick<Intended, "attempt" | "tool" | "input" | "transaction" | "confinement">,
  implementation: Job["implementation"],
  house: House,
): Job & { host: GuardedHost } {
  const { attempt, tool, transaction } = at;
  const limits = effectiveLimits(attempt, tool, house);
  const { decision } = attempt.facts;
  const host = new GuardedHost({
    tool: tool.manifest.id,
    state: transaction.state,
    files: transaction.files?.files,
    capabilities: decision?.capabilities ?? [],
    sideEffects: tool.conduct.sideEffects,
    ...(decision?.grants && house.authority.refuseUse && { refuseUse: checkedUse(at, decision, house) }),
    severityOf: (capability) => house.capabilities.riskOf(capability),
    onViolation: (violation: Failure) => attempt.violate(violation),
    onProgress: (percent, phase) => {
      house.inFlight.progressed(attempt.callId, { percent, phase });
      const at = house.clock.now();
      house.feeds.tell(attempt.callId, {
        kind: "progress",
        percent,
        ...(phase !== undefined && { phase }),
        at,
      });
    },
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
    ...(at.confinement && { confinement: withSandboxSpan(at.confinement, attempt.span) }),
  };
}

/** Asks the authority about each use that rests on a stored grant; what cannot be asked is refused. */
function checkedUse({ attempt, tool }: Pick<Intended, "attempt" | "tool">, decision: Decision, house: House) {
  return ({ capability, action, resource, bytes }: HostedUse): Failure | undefined => {
    try {
      return house.authority.refuseUse?.({
        decision,
        callId: attempt.callId,
        tenant: attempt.facts.tenant,
        tool: tool.manifest.id,
        capability,
        ...(action !== undefined && { action }),
        ...(resource !== undefined && { resource }),
        ...(bytes !== undefined && { bytes }),
        at: house.clock.now(),
      });
    } catch (error) {
      house.errors.report({ error, code: "E3206", callId: attempt.callId, stage: "execute" });
      return failure("E3206");
    }
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

function factsOf({ callId, executionId, number, request, span }: Attempt, deadlineAt: number): CallFacts {
  const trace = span?.context() ?? request.trace;
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
    ...(trace && { trace }),
  };
}
