import type { Anchor } from "./anchor.ts";
import { chmod } from "./disk.ts";
import { type Entry, look } from "./entry.ts";
import { openMode } from "./folder-access.ts";
import { matches } from "./matches.ts";
import { type Plan, type PlannedChange, swapsFolder } from "./plan.ts";
import { NOTHING_THERE, unless } from "./system-error.ts";

/**
 * How far a path has come: as it was, as the plan made it, on the way between the two, or what neither explains.
 */
export type Standing = "before" | "after" | "between" | "foreign";

/** Tells how far a path has come from what is there now. */
export function standingOf(change: PlannedChange, now: Entry | undefined): Standing {
  const { before, after } = change;
  if (matches(now, before)) return "before";
  if (matches(now, after)) return "after";
  if (now === undefined) return swapsFolder(before, after) ? "between" : "foreign";
  if (now.type !== "folder") return "foreign";
  if (before?.type === "folder") {
    if (!isTransientMode(now.mode, [before.mode, after?.mode])) return "foreign";
    // A folder that gives way to something else is on its way back.
    return after === undefined || after.type === "folder" ? "after" : "between";
  }
  return after?.type === "folder" ? "after" : "foreign";
}

/** A mode that a folder has only while work is going on in it. */
function isTransientMode(mode: number, ends: readonly (number | undefined)[]): boolean {
  return mode === 0o700 || ends.some((end) => end !== undefined && (mode === end || mode === (end | 0o700)));
}

/** Whether a plan leaves a folder closed to this user. */
export function leavesClosed({ after }: PlannedChange): boolean {
  return after?.type === "folder" && openMode(after.mode) !== after.mode;
}

/**
 * Opens a folder that the plan closed, so that what is in it can be looked at; false when it is not one. Its mode has to
 * come right at the end.
 */
export async function openFound(anchor: Anchor, change: PlannedChange): Promise<boolean> {
  const { path, after } = change;
  if (!after || !leavesClosed(change)) return false;
  const now = await look(anchor, path);
  if (now?.type !== "folder" || now.mode !== after.mode) return false;
  await anchor.at(path, (folder) => chmod(folder, openMode(after.mode)));
  return true;
}

/** Closes the folders again that `openFound` opened. Safe to repeat. */
export async function closeOpened(anchor: Anchor, { changes }: Plan): Promise<void> {
  for (const { path, after } of changes.filter(leavesClosed).toReversed()) {
    if (!after) continue;
    const now = await unless([...NOTHING_THERE, "EACCES"], look(anchor, path));
    if (now?.type !== "folder" || now.mode !== openMode(after.mode)) continue;
    await anchor.at(path, (folder) => chmod(folder, after.mode));
  }
}
