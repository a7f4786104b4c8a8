import type { Question } from "@sallyport/loop";
import type { Risk } from "@sallyport/protocol";

/** Why somebody is asked, in words. */
export const BECAUSE: Record<Question["because"], string> = {
  policy: "the policy requires approval for this.",
  tool: "this tool always requires approval.",
  caller: "the caller asked for approval.",
};

/** True where a warning is due. */
export function isRisky(risk: Risk): boolean {
  return risk === "high" || risk === "critical";
}
