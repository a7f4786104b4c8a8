import type { Change } from "./change.ts";
import { nameOf } from "./relative-path.ts";

/**
 * Files that are gone from one path and new at another with the same content. Of several candidates the one with the
 * same name wins, then the first. Empty files are all alike and never count as moved.
 */
export function findRenames(changes: readonly Change[]): Map<Change, Change> {
  const gone = Map.groupBy(changes.filter(isGoneFile), ({ before }) => before?.sha256 ?? "");
  const renames = new Map<Change, Change>();
  for (const change of changes.filter(isNewFile)) {
    const candidates = gone.get(change.after?.sha256 ?? "") ?? [];
    const index = Math.max(
      0,
      candidates.findIndex(({ path }) => nameOf(path) === nameOf(change.path)),
    );
    const [from] = candidates.splice(index, 1);
    if (from) renames.set(change, from);
  }
  return renames;
}

function isGoneFile({ before, after }: Change): boolean {
  return after === undefined && before?.type === "file" && before.bytes !== 0 && before.sha256 !== undefined;
}

function isNewFile({ before, after }: Change): boolean {
  return before === undefined && after?.type === "file" && after.bytes !== 0;
}
