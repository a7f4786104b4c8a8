import { isFailure } from "@sallyport/protocol";
import type { Attempt } from "./attempt.ts";
import type { House } from "./house.ts";

/**
 * What follows a breach of a tool's bounds, besides its end and its rollback (R3-4): where the capability is a critical
 * one, nobody can call the tool again until a person has looked at it.
 */
export async function afterViolation(attempt: Attempt, house: House): Promise<void> {
  const { violation, tool, callId } = attempt;
  if (!violation || !tool || violation.details?.severity !== "critical") return;
  const { id, version } = tool.manifest;
  try {
    const kept = await house.tools.quarantine(id, version, {
      reason: violation.message,
      by: "sallyport",
      callId,
    });
    if (isFailure(kept)) house.errors.report({ error: kept, code: kept.code, callId, tool: id });
  } catch (error) {
    house.errors.report({ error, code: "E3914", callId, tool: id, stage: "quarantine" });
  }
  const message = `${id} ${version} broke its bounds and is kept apart until a person has looked at it.`;
  attempt.warnings.push({ code: "E3219", message });
}
