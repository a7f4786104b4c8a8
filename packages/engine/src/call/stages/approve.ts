import { failure } from "@sallyport/protocol";
import type { ApprovalNeed } from "../../approve/desk.ts";
import { abortUnstarted, deny } from "../ending-steps.ts";
import type { House } from "../house.ts";
import type { Allowed, Ending } from "../steps.ts";
import type { Weighed } from "./authorise.ts";

/** Asks a person where that is due. A need for approval is never waived: without a desk the call is denied. */
export function approve(at: Weighed, house: House): Allowed | Ending | Promise<Allowed | Ending> {
  const because = needOf(at);
  if (because) return ask(at, because, house);
  if (at.attempt.signal.aborted) return abortUnstarted(at, failure("E3906"));
  return allow(at);
}

async function ask(at: Weighed, because: ApprovalNeed["because"], house: House): Promise<Allowed | Ending> {
  const verdict = await house.desk.ask({ request: at.request, decision: at.decision, because });
  return verdict.approved ? allow(at) : deny(at, verdict.error);
}

function allow({ attempt, tool, life, decision }: Weighed): Allowed {
  return { attempt, tool, input: life.input, life: life.authorized(decision) };
}

function needOf({ attempt, tool, decision }: Weighed): ApprovalNeed["because"] | undefined {
  if (decision.outcome === "ask") return "policy";
  if (tool.conduct.requiresApproval) return "tool";
  return attempt.request.requireApproval ? "caller" : undefined;
}
