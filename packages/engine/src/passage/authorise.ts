import { deepFreeze, defined, type Failure, failure, isFailure, type JsonObject } from "@sallyport/protocol";
import { DISABLED_MESSAGE } from "../authorise/policy/index.ts";
import type { CallRequest, EngineContext } from "../context.ts";
import { absolutePermissions, isolationLevel, unheldLimits } from "../execute/index.ts";
import type { AuthorityRequest, Decision } from "../ports/authority.ts";
import { TIMED_OUT, withTimeout } from "../timeouts.ts";
import { limitsOf, runnerOf } from "./job.ts";
import { type Checked, deny, Ending } from "./steps.ts";

/** What is left to ask a person, once the authority has spoken. */
export interface Authorised extends Checked {
  request: AuthorityRequest;
  decision: Decision;
}

/** Asks the authority. Anything but a clear yes is a no: an error, silence, or a capability that nobody grants. */
export function authorise(
  at: Checked,
  context: EngineContext,
): Authorised | Ending | Promise<Authorised | Ending> {
  const request = requestOf(at, context);
  const started = performance.now();
  const take = (decision: Decision | Failure) => {
    const seconds = (performance.now() - started) / 1_000;
    const next = weigh(at, request, decision);
    const isDenied = next instanceof Ending;
    context.telemetry.decided(isFailure(decision) ? "error" : isDenied ? "denied" : "allowed", seconds);
    return next;
  };
  const decision = decide(request, context);
  return decision instanceof Promise ? decision.then(take) : take(decision);
}

function weigh(at: Checked, request: AuthorityRequest, decision: Decision | Failure): Authorised | Ending {
  if (isFailure(decision)) return deny(at, decision);
  const { attempt, tool, life } = at;
  const progress = { ...at.progress, decision };
  const error = decision.outcome === "deny" ? denial(decision) : unnamedPermissions(attempt.request, request);
  if (error) return deny({ attempt, progress, life }, error);
  return { attempt, progress, tool, life, request, decision };
}

/**
 * The caller's own bound on its call. It is looked at last, so that a refusal says nothing of the tool to a caller whom
 * nothing lets use it. What the manifest opens counts as needed too: a tool may use it without a capability for it.
 */
function unnamedPermissions(
  { permissions: named }: CallRequest,
  { requiredCapabilities, permissions: { filesystem, network, credentials } }: AuthorityRequest,
): Failure | undefined {
  if (named === undefined) return undefined;
  const needed = new Set(requiredCapabilities);
  if (filesystem.length > 0) needed.add("filesystem.read");
  if (filesystem.some(({ mode }) => mode.includes("w"))) needed.add("filesystem.write");
  const missing = [...needed].filter((capability) => !named.includes(capability));
  const goesOut = network.length > 0 || credentials.length > 0;
  if (goesOut && !named.some((name) => name.startsWith("network."))) missing.push("network.*");
  if (missing.length === 0) return undefined;
  return failure("E3228", {
    message: `The call needs ${missing.join(", ")}, which the request does not name.`,
    details: { missing },
  });
}

function decide(
  request: AuthorityRequest,
  context: EngineContext,
): Decision | Promise<Decision | Failure> | Failure {
  try {
    const decision = context.authority.decide(request);
    return decision instanceof Promise ? inTime(decision, request, context) : understood(decision, request);
  } catch (error) {
    return unreachable(error, request, context);
  }
}

async function inTime(
  decision: Promise<Decision>,
  request: AuthorityRequest,
  context: EngineContext,
): Promise<Decision | Failure> {
  try {
    const answer = await withTimeout(decision, context.limits.decisionMs);
    return answer === TIMED_OUT
      ? failure("E3206", { message: "The authority did not answer in time." })
      : understood(answer, request);
  } catch (error) {
    return unreachable(error, request, context);
  }
}

/** A decision that does not say clearly what it decides is no decision. */
function understood(decision: Decision, { requiredCapabilities }: AuthorityRequest): Decision | Failure {
  const clear =
    typeof decision === "object" &&
    decision !== null &&
    ["allow", "ask", "deny"].includes(decision.outcome) &&
    [decision.reason, decision.policyVersion].every(isText) &&
    [decision.rules, decision.capabilities, decision.missing].every(
      (list) => Array.isArray(list) && list.every(isText),
    ) &&
    (decision.outcome === "deny" || decision.missing.length === 0);
  if (!clear) return failure("E3206", { message: "The authority's answer makes no sense." });
  if (requiredCapabilities.length === 0 && decision.capabilities.length === 0) return decision;
  const capabilities = requiredCapabilities.filter((needed) => decision.capabilities.includes(needed));
  if (decision.outcome === "deny" || capabilities.length === requiredCapabilities.length) {
    return { ...decision, capabilities };
  }
  const missing = requiredCapabilities.filter((needed) => !capabilities.includes(needed));
  return {
    ...decision,
    outcome: "deny",
    reason: `${missing.join(", ")} was not given`,
    capabilities,
    missing,
  };
}

/** Fit for the record: canonical JSON has no place for half a character. */
function isText(value: unknown): boolean {
  return typeof value === "string" && value.isWellFormed();
}

function unreachable(error: unknown, { tool }: AuthorityRequest, context: EngineContext): Failure {
  context.errors.report({ error, code: "E3206", tool, stage: "authorise" });
  return failure("E3206");
}

function requestOf({ attempt, tool, life }: Checked, context: EngineContext): AuthorityRequest {
  const { traits, manifest } = tool;
  const runner = runnerOf(tool, context);
  const { token } = attempt.request;
  const verified = attempt.waits?.verified;
  return {
    callId: attempt.callId,
    caller: { ...attempt.request.caller },
    ...(verified ? { verified } : token !== undefined && { token }),
    tool: manifest.id,
    version: manifest.version,
    operation: tool.operationName,
    manifestHash: tool.record.manifestHash,
    category: manifest.category,
    tags: manifest.tags,
    source: manifest.source.type,
    securityLevel: manifest.securityLevel,
    permissions: absolutePermissions(manifest.permissions, context.isolation?.root),
    limits: { ...tool.limits, ...limitsOf(attempt, tool, context) },
    requiredCapabilities: traits.requiredCapabilities,
    sideEffects: traits.sideEffects,
    risk: traits.risk,
    isolation: isolationLevel(manifest.id, runner, context.isolation),
    unheldLimits: unheldLimits(manifest.id, runner, context.isolation),
    // Nobody who decides about the input can change what the tool gets.
    input: deepFreeze(life.input),
    at: context.clock.now(),
  };
}

/**
 * A denial that teaches: the code, the rules, the argument that decided, whether a person's approval would unlock it,
 * the nearest allowed alternative. The same object goes to the model, the person and the log.
 */
export function denial(decision: Decision): Failure {
  const { reason, rules, missing, policyVersion, unlock, argument, nearest, retryAfterMs } = decision;
  const nothingAllows = rules.length > 0 && missing.length > 0 ? "E3210" : "E3209";
  const details: JsonObject = {
    rules,
    missing,
    policyVersion,
    approvalUnlocks: false,
    ...defined({ argument, nearest, retryAfterMs }),
  };
  return failure(decision.code ?? nothingAllows, {
    message: reason === DISABLED_MESSAGE ? reason : `Denied: ${reason.replace(/\.$/, "")}.`,
    details,
    ...(unlock && { advice: unlock }),
    ...(argument !== undefined && { issues: [{ path: argument, reason }] }),
  });
}
