import { failure, SallyportError } from "@sallyport/protocol";
import { hasCode, wordsOf } from "./system-error.ts";

/** A path that leads outside, is denied, or is no path at all (E3105). */
export function forbidden(path: string, why: string): SallyportError {
  return new SallyportError(
    failure("E3105", {
      message: `${JSON.stringify(path)} ${why}.`,
      advice: "Use another path inside the workspace: no permission opens this one.",
      details: { path },
    }),
  );
}

/** More than a limit allows (E3102). */
export function tooMuch(message: string, details: { limit: string; allowed: number }): SallyportError {
  return new SallyportError(failure("E3102", { message, retryable: false, details }));
}

/** A staging was used in an order its life does not allow (E3911). */
export function outOfTurn(message: string): SallyportError {
  return new SallyportError(failure("E3911", { message }));
}

/** The workspace could not be changed; what had been done was taken back (E3914). */
export function notCommitted(root: string, cause: unknown): SallyportError {
  return new SallyportError(
    failure("E3914", {
      message: `The changes could not be written to ${root}: ${wordsOf(cause)}. What had been written was taken back.`,
      advice: adviceFor(cause),
      details: { root },
    }),
    { cause },
  );
}

function adviceFor(cause: unknown): string {
  if (hasCode(cause, "ENOSPC", "EDQUOT"))
    return "Free space on the disks of the workspace and the state folder, then call again.";
  if (hasCode(cause, "EACCES", "EPERM", "EROFS"))
    return "Let this user write in the workspace's folders, then call again.";
  if (hasCode(cause, "ELOOP", "ENOTDIR", "ENOENT"))
    return "A folder was taken away or replaced while the call ran: see who else works there, then call again.";
  return "See to what the message names, then call again.";
}

/** A call could not be undone; its changes are in place as before (E3914). */
export function notUndone(callId: string, cause: unknown): SallyportError {
  return new SallyportError(
    failure("E3914", {
      message: `Call ${callId} could not be undone: ${wordsOf(cause)}. Its changes are still in place.`,
      advice: "Check that the workspace and the state folder can be read and written, then ask again.",
      details: { callId },
    }),
    { cause },
  );
}

/** A workspace that was left neither as it was nor as it should be (E3912). */
export function notRestored(root: string, paths: string[], cause?: unknown): SallyportError {
  return new SallyportError(
    failure("E3912", {
      message: `${root} could not be put back as it was: ${paths.slice(0, 5).join(", ")}.`,
      details: { root, paths: paths.slice(0, 100) },
    }),
    cause === undefined ? {} : { cause },
  );
}

/** Held changes that are no longer what was shown (E3703). */
export function damaged(name: string, why: string): SallyportError {
  return new SallyportError(
    failure("E3703", {
      message: `The held changes ${JSON.stringify(name)} cannot be used: ${why}.`,
      advice: "Call again: the changes are worked out and shown anew.",
    }),
  );
}

/** The folder or the workspace cannot be used at all (E3914). */
export function unusable(message: string, cause?: unknown): SallyportError {
  return new SallyportError(
    failure("E3914", { message, advice: "Give a folder this user may read and write." }),
    cause === undefined ? {} : { cause },
  );
}
