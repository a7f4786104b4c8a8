import { type Failure, failure, isFailure } from "@sallyport/protocol";
import { copyJson } from "../../execute/runners/json-text.ts";
import type { AuthorityRequest, Decision } from "../../ports/authority.ts";
import { denial } from "../denial.ts";
import { deny } from "../ending-steps.ts";
import type { House } from "../house.ts";
import { demandedLevel } from "../isolation-rules.ts";
import { effectiveLimits, runnerOf } from "../job.ts";
import { absolutePermissions } from "../permitted-folders.ts";
import type { Checked, Ending } from "../steps.ts";
import { LATE, within } from "../within.ts";

/** What is left to ask a person, once the authority has spoken. */
export interface Weighed extends Checked {
  request: AuthorityRequest;
  decision: Decision;
}

/** Asks the authority. Anything but a clear yes is a no: an error, silence, or a capability that nobody grants. */
export function authorise(at: Checked, house: House): Weighed | Ending | Promise<Weighed | Ending> {
  const request = requestOf(at, house);
  const started = performance.now();
  const decision = decide(request, house);
  if (!(decision instanceof Promise)) return weigh(at, { request, decision, started }, house);
  return decision.then((late) => weigh(at, { request, decision: late, started }, house));
}

interface Weighing {
  request: AuthorityRequest;
  decision: Decision | Failure;
  started: number;
}

function weigh(at: Checked, { request, decision, started }: Weighing, house: House): Weighed | Ending {
  const seconds = (performance.now() - started) / 1_000;
  if (isFailure(decision)) {
    house.telemetry.decided("error", seconds);
    return deny(at, decision);
  }
  at.attempt.facts.decision = decision;
  relyOn(at, decision, house);
  house.telemetry.decided(decision.outcome === "deny" ? "denied" : "allowed", seconds);
  return decision.outcome === "deny" ? deny(at, denial(decision)) : { ...at, request, decision };
}

function decide(request: AuthorityRequest, house: House): Decision | Promise<Decision | Failure> | Failure {
  try {
    const decision = house.authority.decide(request);
    return decision instanceof Promise ? inTime(decision, request, house) : understood(decision, request);
  } catch (error) {
    return unreachable(error, request, house);
  }
}

async function inTime(
  decision: Promise<Decision>,
  request: AuthorityRequest,
  house: House,
): Promise<Decision | Failure> {
  try {
    const answer = await within(decision, house.limits.decisionMs);
    return answer === LATE
      ? failure("E3206", { message: "The authority did not answer in time." })
      : understood(answer, request);
  } catch (error) {
    return unreachable(error, request, house);
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

function unreachable(error: unknown, { tool }: AuthorityRequest, house: House): Failure {
  house.errors.report({ error, code: "E3206", tool, stage: "authorise" });
  return failure("E3206");
}

/** Revoking what a decision rests on ends the call that runs by it. */
function relyOn({ attempt }: Checked, { outcome, grants = [], token }: Decision, house: House): void {
  if (outcome === "deny" || (grants.length === 0 && !token)) return;
  const withdraw = (failed: Failure) => attempt.violate(failed);
  house.inFlight.rely(attempt.callId, { grants, ...(token && { jti: token.jti }), withdraw });
}

function requestOf({ attempt, tool, life }: Checked, house: House): AuthorityRequest {
  const { conduct, manifest } = tool;
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
    permissions: absolutePermissions(manifest.permissions, house.isolation?.root),
    limits: { ...tool.limits, ...effectiveLimits(attempt, tool, house) },
    requiredCapabilities: conduct.requiredCapabilities,
    sideEffects: conduct.sideEffects,
    risk: conduct.risk,
    isolation:
      demandedLevel(manifest.id, tool.implementation, house.isolation) ??
      runnerOf(tool, house).isolation.level,
    input: copyJson(life.input),
    at: house.clock.now(),
  };
}
