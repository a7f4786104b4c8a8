import type { Question } from "@sallyport/loop";
import type { Risk } from "@sallyport/protocol";

/** Why somebody is asked, in words. */
export const BECAUSE: Record<Question["because"], string> = {
  policy: "the policy wants a person's word for this.",
  tool: "this tool asks about every call.",
  caller: "the call itself asks for a person's word.",
};

/** True where a warning is due. */
export function isRisky(risk: Risk): boolean {
  return risk === "high" || risk === "critical";
}
