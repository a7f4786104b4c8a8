import { defined, type Failure, failure, isFailure } from "@sallyport/protocol";
import type { EventFacts } from "../audit/index.ts";
import type { CallRequest, EngineContext } from "../context.ts";
import {
  cpuLimitMs,
  GuardedHost,
  type HostedUse,
  type LimitSources,
  prepareFor,
  runnerFor,
  sandboxLimits,
} from "../execute/index.ts";
import type { CallLimits } from "../journal/progress.ts";
import type { Decision } from "../ports/authority.ts";
import {
  type CallFacts,
  type CallToPrepare,
  type Confinement,
  type HookCall,
  type Job,
  type PreparedCall,
  type Runner,
  type SandboxReport,
  UNKNOWN_CAPACITY_BYTES,
} from "../ports/runner.ts";
import type { ResolvedTool } from "../registry/index.ts";
import { withSandboxSpan } from "../telemetry/index.ts";
import type { Attempt } from "./attempt.ts";
import type { Allowed, Intended } from "./steps.ts";

/** Found out once, with the tool; a rule of the operator that changes later holds for later calls. */
export function effectiveLimits(
  request: CallRequest,
  { limits, operation, manifest }: ResolvedTool,
  context: EngineContext,
): CallLimits {
  const asked = request.limits;
  return {
    timeoutMs: Math.min(
      asked?.timeoutMs ?? Infinity,
      context.toolRules.of(manifest.id)?.timeoutMs ?? Infinity,
      operation.timeoutMs ?? limits.timeoutMs,
    ),
    memoryBytes: Math.min(asked?.memoryBytes ?? Infinity, limits.memoryBytes),
    maxOutputBytes: Math.min(
      asked?.maxOutputBytes ?? Infinity,
      limits.maxOutputBytes ?? context.limits.maxOutputBytes,
    ),
  };
}

/** The limits of a call whose tool is known. */
export function limitsOf(
  { progress, request }: Attempt,
  tool: ResolvedTool,
  context: EngineContext,
): CallLimits {
  return progress.limits ?? effectiveLimits(request, tool, context);
}

/** What limits the use of resources. */
function limitSources({ request, progress }: Attempt, { limits }: ResolvedTool): LimitSources {
  return { asked: request.limits, declared: limits, bounds: progress.decision?.bounds };
}

export function runnerOf(tool: ResolvedTool, context: EngineContext): Runner {
  return runnerFor(tool.implementation, context.runners);
}

/** What the tool's runner needs for the call. Nothing is made yet. */
export function prepareCall(
  attempt: Attempt,
  tool: ResolvedTool,
  context: EngineContext,
): PreparedCall | Failure {
  const sources = limitSources(attempt, tool);
  const call: CallToPrepare = {
    callId: attempt.callId,
    tool: tool.manifest,
    sideEffects: tool.traits.sideEffects,
    limits: () => sandboxLimits(sources, limitsOf(attempt, tool, context)),
    bounds: sources.bounds,
    dryRun: attempt.request.dryRun ?? false,
  };
  const prepared = prepareFor(runnerOf(tool, context), call, context.isolation);
  if (isFailure(prepared) || !prepared.confinement) return prepared;
  const confinement: Confinement = {
    ...prepared.confinement,
    onOutput: (stream, chunk) => showOutput(attempt, { stream, chunk }, context),
    onEvent: (event) => attempt.record(event, context.clock.now()),
  };
  return { ...prepared, confinement };
}

export type GuardedJob = Job & { host: GuardedHost };

/** Puts together what a runner needs; whatever breaches the tool's bounds ends the run. */
export function jobOf(
  at: Pick<Intended, "attempt" | "tool" | "input" | "transaction" | "confinement">,
  implementation: Job["implementation"],
  context: EngineContext,
): GuardedJob {
  const { attempt, tool, transaction } = at;
  const limits = limitsOf(attempt, tool, context);
  const cpuMs = cpuLimitMs(limitSources(attempt, tool));
  const { decision } = attempt.progress;
  const host = new GuardedHost({
    tool: tool.manifest.id,
    state: transaction.state,
    files: transaction.files?.files,
    capabilities: decision?.capabilities ?? [],
    sideEffects: tool.traits.sideEffects,
    ...(decision?.grants && context.authority.refuseUse && { refuseUse: checkedUse(at, decision, context) }),
    severityOf: (capability) => context.capabilities.riskOf(capability),
    onViolation: (violation: Failure) => attempt.violate(violation),
    maxOutputBytes: limits.maxOutputBytes,
    onOutput: (chunk) => showOutput(attempt, { stream: "stdout", chunk }, context),
    onProgress: (percent, phase) => {
      context.inFlight.progressed(attempt.callId, { percent, phase });
      const feed = context.feeds.get(attempt.callId);
      feed?.push({ kind: "progress", percent, ...defined({ phase }), at: context.clock.now() });
    },
  });
  const workingFolder = transaction.files?.root;
  return {
    tool: tool.manifest.id,
    version: tool.manifest.version,
    operation: tool.operationName,
    implementation,
    input: at.input,
    facts: {
      ...factsOf(attempt, context.clock.now(), limits),
      ...(workingFolder !== undefined && { workingFolder }),
    },
    host,
    ...limits,
    ...(cpuMs !== undefined && { cpuMs }),
    signal: attempt.signal,
    ...(at.confinement && { confinement: withSandboxSpan(at.confinement, attempt.span) }),
  };
}

/** Asks the authority about each use that rests on a stored grant; what cannot be asked is refused. */
function checkedUse(
  { attempt, tool }: Pick<Intended, "attempt" | "tool">,
  decision: Decision,
  context: EngineContext,
) {
  return ({ capability, action, resource, bytes }: HostedUse): Failure | undefined => {
    try {
      return context.authority.refuseUse?.({
        decision,
        callId: attempt.callId,
        tenant: attempt.call.tenant,
        tool: tool.manifest.id,
        capability,
        ...defined({ action, resource, bytes }),
        at: context.clock.now(),
      });
    } catch (error) {
      context.errors.report({ error, code: "E3206", callId: attempt.callId, stage: "execute" });
      return failure("E3206");
    }
  };
}

export function hookCallOf({ attempt, tool }: Allowed, context: EngineContext): HookCall {
  return {
    ...attempt.call,
    ...factsOf(attempt, context.clock.now(), limitsOf(attempt, tool, context)),
  };
}

/** Passes on what a tool shows while it runs, to the feed and to the caller. */
export function showOutput(
  attempt: Attempt,
  { stream, chunk }: { stream: "stdout" | "stderr"; chunk: Uint8Array },
  context: EngineContext,
): void {
  context.feeds.get(attempt.callId)?.push({ kind: "output", stream, chunk, at: context.clock.now() });
  try {
    attempt.request.onOutput?.(stream, chunk);
  } catch (error) {
    context.errors.report({ error, code: "E3900", callId: attempt.callId, stage: "output" });
  }
}

function factsOf(
  { call, progress, request, span }: Attempt,
  now: number,
  { timeoutMs, maxOutputBytes }: { timeoutMs: number; maxOutputBytes: number },
): CallFacts {
  const trace = span?.context() ?? request.trace;
  const { callId, tenant, agent, user, session } = call;
  return {
    callId,
    executionId: progress.executionId,
    attempt: progress.number,
    tenant,
    agent,
    ...(user !== undefined && { user }),
    ...(session !== undefined && { session }),
    deadlineAt: now + timeoutMs,
    maxOutputBytes,
    availableBytes: request.availableBytes ?? UNKNOWN_CAPACITY_BYTES,
    ...(trace && { trace }),
  };
}

/** What really held and what was tried, for the record of the call. */
export function sandboxFacts(
  sandbox: SandboxReport | undefined,
  runner?: Runner,
): Pick<EventFacts, "isolation" | "enforcement" | "violations"> {
  if (!sandbox) return { enforcement: runner?.enforcement };
  const { isolation, enforcement, violations } = sandbox;
  return { isolation, enforcement, ...(violations.length > 0 && { violations }) };
}
