import type { Change, ChangeSet } from "./change.ts";
import type { KnownEntry } from "./entry.ts";
import type { StagedEntry } from "./staged-entry.ts";

/**
 * Has files that the call made names of one another stay so. One of them leads: one that is as it was, else the first
 * that changes; the others become links to it. Resolves with the unchanged ones that lead.
 */
export function linkLeaders(
  changes: readonly Change[],
  entries: readonly StagedEntry[],
  unchanged: ReadonlyMap<string, KnownEntry>,
): ChangeSet["leaders"] {
  const leaders: ChangeSet["leaders"] = [];
  const byPath = new Map(changes.map((change) => [change.path, change]));
  for (const paths of groups(entries)) {
    const changing = paths.filter((path) => byPath.get(path)?.after?.type === "file");
    const still = paths.find((path) => unchanged.has(path));
    const leader = still ?? changing[0];
    if (leader === undefined || changing.length === 0) continue;
    const before = unchanged.get(leader);
    if (before) leaders.push({ path: leader, before });
    for (const path of changing.filter((path) => path !== leader)) {
      const after = byPath.get(path)?.after;
      if (after) after.linkTo = leader;
    }
  }
  return leaders;
}

function groups(entries: readonly StagedEntry[]): string[][] {
  const groups = new Map<string, string[]>();
  for (const { type, inode, path } of entries) {
    if (type !== "file" || inode === undefined) continue;
    const group = groups.get(inode);
    if (group) group.push(path);
    else groups.set(inode, [path]);
  }
  return [...groups.values()].filter((group) => group.length > 1).map((group) => group.sort());
}
