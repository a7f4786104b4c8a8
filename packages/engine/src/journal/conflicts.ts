import { entryOf, type Failure, failure, type JsonObject } from "@sallyport/protocol";
import { limitFailure } from "../authorise/grant/index.ts";
import type { Conflict } from "../ports/store.ts";
import type { FileCommit, FileConflict } from "../ports/workspace.ts";

/** What the journal was asked to take. */
interface Refused {
  callId: string;
  what: "intent" | "call" | "question" | "outcome";
  at: number;
}

/** Why the journal refused a unit of a call, in words for its caller. */
export function conflictFailure(conflict: Conflict, { callId, what, at }: Refused): Failure {
  const hasRun = what === "outcome";
  switch (conflict.kind) {
    case "duplicate_call":
      return duplicateId(callId);
    case "idempotency": {
      const other = conflict.existing.callId;
      const message = `The idempotency key was taken by call ${other}.`;
      return failure("E3904", { message, details: { callId: other } });
    }
    case "state": {
      const keys = conflict.keys.join(", ");
      const message = `Another call changed ${keys} in the meantime.`;
      return failure("E3704", { message, details: { keys: conflict.keys } });
    }
    case "fenced":
      return takenOver(callId);
    case "not_open":
      if (hasRun) return failure("E3918", { message: "The call was closed by someone else while it ran." });
      break;
    case "grant_spent":
      if (!hasRun) return limitFailure({ grantIds: [conflict.grantId], freeAt: conflict.freeAt }, at);
      break;
    case "approval":
    case "not_waiting": {
      const message = "Somebody else has begun or ended this call, or changed its approval.";
      if (!hasRun) return failure("E3216", { message });
    }
  }
  if (hasRun)
    return failure("E3918", { message: `The record changed while the call ran (${conflict.kind}).` });
  return failure("E3908", { message: `The journal refused the ${what} (${conflict.kind}).` });
}

/** Another process counts this one as gone, and has judged the call. */
export function takenOver(callId: string, told: { message?: string; details?: JsonObject } = {}): Failure {
  const message = `Another process has taken call ${callId} over, because this one lost its lease.`;
  return failure("E3923", { message, ...told });
}

export function duplicateId(callId: string): Failure {
  return failure("E3905", { message: `There is already a call ${callId}.` });
}

/** The policy or the store is away. */
const UNAVAILABLE: ReadonlySet<string> = new Set(["E3206", "E3908", "E3914", "E3922"]);

/** A transient refusal: no capacity, or store or policy unavailable. An approval given earlier stays valid. */
export function isTransient(error: Failure): boolean {
  return entryOf(error).failureClass === "ResourceError" || UNAVAILABLE.has(error.code);
}

const MAX_NAMED = 20;

/** Why staged changes were not committed, with the paths. */
export function fileRefusal(refused: Extract<FileCommit, { ok: false }>): Failure {
  return "conflicts" in refused ? changedMeanwhile(refused.conflicts) : notAllowed(refused.denied);
}

function changedMeanwhile(conflicts: readonly FileConflict[]): Failure {
  return failure("E3110", {
    message: `Nothing was committed: ${listed(conflicts.map(({ path, what }) => `${path} (${what})`))}.`,
    details: { conflicts: conflicts.slice(0, MAX_NAMED).map(({ path, what }) => ({ path, what })) },
  });
}

function notAllowed(denied: readonly { path: string; why: string }[]): Failure {
  return failure("E3105", {
    message: `Nothing was committed: ${listed(denied.map(({ path, why }) => `${path} (${why})`))}.`,
    advice:
      "Leave these paths as they are. What tools run by themselves (.git, .envrc, editor tasks), pipes, sockets and set-id files is denied whatever a tool's permissions say; `sandbox.denied` and the manifest's permissions decide the rest.",
    details: { denied: denied.slice(0, MAX_NAMED).map(({ path, why }) => ({ path, why })) },
  });
}

function listed(texts: readonly string[]): string {
  const more = texts.length - 3;
  return more > 0 ? `${texts.slice(0, 3).join(", ")} and ${more} more` : texts.join(", ");
}
