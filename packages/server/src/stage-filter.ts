import type { CallFilter } from "@sallyport/engine/ports";
import type { InvocationListQuery } from "@sallyport/protocol";

/** What to ask the journal for: it keeps a status only for calls that have ended, and a phase for all others. */
export function stageFilter(
  status: NonNullable<InvocationListQuery["status"]>,
): Pick<CallFilter, "phase" | "status"> {
  switch (status) {
    case "pending":
      return { phase: "queued" };
    case "running":
      return { phase: "executing" };
    case "pending_approval":
      return { phase: "waiting" };
    case "unknown":
      return { phase: "unknown" };
    default:
      return { status };
  }
}
