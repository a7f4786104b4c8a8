import type { CallAnswer, LifecycleState } from "@sallyport/protocol";
import type { ErrorReport } from "../ports/telemetry.ts";

/** The states an answer's execution passed through, in order. */
export function statesOf({ lifecycle }: CallAnswer): LifecycleState[] {
  return lifecycle.map(({ state }) => state);
}

/** The code of an answer's error; undefined for a success. */
export function codeOf(answer: CallAnswer): string | undefined {
  return answer.status === "success" ? undefined : answer.error.code;
}

/** How an answer ended, in words for evidence. */
export function endOf(answer: CallAnswer): string {
  const last = statesOf(answer).at(-1) ?? "no state";
  return [codeOf(answer) ?? "success", last].join(" in ");
}

/** Whether an error report carries a stack; a fault that crossed a thread keeps it as text. */
export function hasStack(report: ErrorReport | undefined): boolean {
  const error = report?.error;
  return typeof error === "object" && error !== null && "stack" in error && typeof error.stack === "string";
}
