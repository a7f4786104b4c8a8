import { type Failure, failure } from "@sallyport/protocol";
import type { FileCommit, FileConflict } from "../ports/workspace.ts";

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
    details: { denied: denied.slice(0, MAX_NAMED).map(({ path, why }) => ({ path, why })) },
  });
}

function listed(texts: readonly string[]): string {
  const more = texts.length - 3;
  return more > 0 ? `${texts.slice(0, 3).join(", ")} and ${more} more` : texts.join(", ");
}
