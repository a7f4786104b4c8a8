import { type Failure, failure, type JsonObject } from "@sallyport/protocol";
import { DISABLED_MESSAGE } from "../authorise/policy/index.ts";
import type { Decision } from "../ports/authority.ts";

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
    ...(argument !== undefined && { argument }),
    ...(nearest !== undefined && { nearest }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  };
  return failure(decision.code ?? nothingAllows, {
    message: reason === DISABLED_MESSAGE ? reason : `Denied: ${reason.replace(/\.$/, "")}.`,
    details,
    ...(unlock && { advice: unlock }),
    ...(argument !== undefined && { issues: [{ path: argument, reason }] }),
  });
}
