import { failure } from "@sallyport/protocol";
import type { ApprovalNeed, ApprovalVerdict } from "../../approve/desk.ts";
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
  const { attempt, request, decision } = at;
  const need = { request, decision, because };
  const verdict = await Promise.race([askDesk(need, house), cancelled(attempt.signal)]);
  if (attempt.signal.aborted) return abortUnstarted(at, failure("E3906"));
  if (verdict?.approved === true) return allow(at);
  const error =
    verdict?.error ?? failure("E3211", { message: "The approval desk gave no answer that makes sense." });
  return deny(at, error);
}

/** A desk that fails has not said yes. */
async function askDesk(need: ApprovalNeed, house: House): Promise<ApprovalVerdict | undefined> {
  try {
    return await house.desk.ask(need);
  } catch (error) {
    house.errors.report({ error, code: "E3211", tool: need.request.tool, stage: "approve" });
    return {
      approved: false,
      error: failure("E3211", { message: "The approval desk failed; nobody was asked." }),
    };
  }
}

function cancelled(signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(undefined);
    signal.addEventListener("abort", () => resolve(undefined), { once: true });
  });
}

function allow({ attempt, tool, life, decision }: Weighed): Allowed {
  return { attempt, tool, input: life.input, life: life.authorized(decision) };
}

function needOf({ attempt, tool, decision }: Weighed): ApprovalNeed["because"] | undefined {
  if (decision.outcome === "ask") return "policy";
  if (tool.conduct.requiresApproval) return "tool";
  return attempt.request.requireApproval ? "caller" : undefined;
}
