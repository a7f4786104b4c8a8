import { type Failure, failure } from "@sallyport/protocol";
import type { AuthorityRequest, Decision } from "../../ports/authority.ts";
import { deny } from "../ending-steps.ts";
import type { House } from "../house.ts";
import type { Checked, Ending } from "../steps.ts";
import { within } from "../within.ts";

/** What is left to ask a person, once the authority has spoken. */
export interface Weighed extends Checked {
  request: AuthorityRequest;
  decision: Decision;
}

/** Asks the authority. Anything but a clear yes is a no: an error, silence, or a capability that nobody grants. */
export async function authorise(at: Checked, house: House): Promise<Weighed | Ending> {
  const request = requestOf(at);
  const started = performance.now();
  const decision = await decide(request, house);
  const seconds = (performance.now() - started) / 1_000;
  if ("code" in decision) {
    house.telemetry.decided("error", seconds);
    return deny(at, decision);
  }
  at.attempt.facts.decision = decision;
  house.telemetry.decided(decision.outcome === "deny" ? "denied" : "allowed", seconds);
  if (decision.outcome === "deny") return deny(at, denial(decision));
  return { ...at, request, decision };
}

async function decide(request: AuthorityRequest, house: House): Promise<Decision | Failure> {
  try {
    const decision = house.authority.decide(request);
    if (!(decision instanceof Promise)) return decision;
    return (
      (await within(decision, house.limits.decisionMs)) ??
      failure("E3206", { message: "The authority did not answer in time." })
    );
  } catch (error) {
    house.errors.report({ error, code: "E3206", tool: request.tool, stage: "authorise" });
    return failure("E3206");
  }
}

function denial(decision: Decision): Failure {
  const { reason, rules, missing, policyVersion, unlock } = decision;
  const code = rules.length > 0 && missing.length > 0 ? "E3210" : "E3209";
  const details = { rules, missing, policyVersion };
  return failure(code, { message: `Denied: ${reason}.`, details, ...(unlock && { advice: unlock }) });
}

function requestOf({ attempt, tool, life }: Checked): AuthorityRequest {
  const { conduct } = tool;
  return {
    caller: attempt.request.caller,
    tool: tool.manifest.id,
    version: tool.manifest.version,
    operation: tool.operationName,
    requiredCapabilities: conduct.requiredCapabilities,
    sideEffects: conduct.sideEffects,
    risk: conduct.risk,
    input: life.input,
  };
}
