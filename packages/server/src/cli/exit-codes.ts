import type { CallAnswer, Failure } from "@sallyport/protocol";
import { entryOf } from "@sallyport/protocol";

/** What a script can rely on. */
export const EXIT = {
  success: 0,
  toolFailed: 1,
  badUsage: 2,
  denied: 3,
  approvalPending: 4,
  timeout: 5,
  cancelled: 6,
  internal: 70,
} as const;

/** Failures of the server rather than of the call. */
const INTERNAL = new Set([
  "E3801",
  "E3802",
  "E3803",
  "E3804",
  "E3900",
  "E3908",
  "E3912",
  "E3914",
  "E3915",
  "E3945",
]);

/** What the person at the command line can put right: configuration, modules, arguments. */
const USAGE = new Set(["E3919", "E3920", "E3921", "E3943"]);

/** The exit code for a failure: by its status first, then by who could have avoided it. */
export function exitCodeOf(error: Failure): number {
  const { status, failureClass } = entryOf(error);
  if (INTERNAL.has(error.code)) return EXIT.internal;
  if (USAGE.has(error.code)) return EXIT.badUsage;
  if (status === "permission_denied") return EXIT.denied;
  if (status === "pending_approval") return EXIT.approvalPending;
  if (status === "timeout") return EXIT.timeout;
  if (status === "cancelled") return EXIT.cancelled;
  const callersMistake = failureClass === "ValidationError" && !error.code.startsWith("E35");
  return callersMistake ? EXIT.badUsage : EXIT.toolFailed;
}

export function exitCodeOfAnswer(answer: CallAnswer): number {
  return answer.status === "success" ? EXIT.success : exitCodeOf(answer.error);
}
