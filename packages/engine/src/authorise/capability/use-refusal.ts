import { type Failure, failure } from "@sallyport/protocol";
import type { CapabilityUse } from "../../ports/authority.ts";
import type { GrantRefusal } from "./judge-grant.ts";

/** What each of a call's grants has against a use: that it does not count any more, or why it does not serve. */
export type UseRefusal = { kind: "invalid"; reason: string } | GrantRefusal;

/**
 * The failure for a use that no grant allows. Waiting is offered when it would help with one of them; that authority
 * was withdrawn is said only when none is left that ever covered the use.
 */
export function refusedUse(use: CapabilityUse, refusals: readonly UseRefusal[]): Failure {
  const { tool, capability } = use;
  const waits = refusals.flatMap(({ kind, ...refusal }) =>
    kind === "rate" && "retryAfterMs" in refusal ? (refusal.retryAfterMs ?? []) : [],
  );
  const reason = refusals.map((refusal) => refusal.reason).join("; ");
  if (waits.length > 0) {
    const details = { capability, retryAfterMs: Math.min(...waits) };
    return failure("E3224", { message: `${tool} may not use ${capability} for now: ${reason}.`, details });
  }
  const isOver = refusals.every(({ kind }) => kind === "invalid" || kind === "condition");
  return isOver
    ? failure("E3217", {
        message: `${tool} may no longer use ${capability}: ${reason}.`,
        details: { capability },
      })
    : failure("E3212", {
        message: `${tool} used ${capability} beyond its grant: ${reason}.`,
        details: { capability },
        advice: "Keep to what the grant covers, or have one given that covers this.",
      });
}
