import { chmod } from "node:fs/promises";
import type { Anchor } from "./anchor.ts";
import { type Entry, look } from "./entry.ts";
import { openMode } from "./folder-access.ts";
import { matches } from "./matches.ts";
import { type Plan, type PlannedChange, swapsFolder } from "./plan.ts";

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
  if (before?.type === "folder") return isPassing(now.mode, [before.mode, after?.mode]) ? "after" : "foreign";
  return after?.type === "folder" ? "after" : "foreign";
}

/** A mode that a folder has only while work is going on in it. */
function isPassing(mode: number, ends: readonly (number | undefined)[]): boolean {
  return mode === 0o700 || ends.some((end) => end !== undefined && (mode === end || mode === (end | 0o700)));
}

/** Opens folders that the plan closed, so that what is in them can be looked at. They get their mode back at the end. */
export async function openFound(anchor: Anchor, { changes }: Plan): Promise<void> {
  for (const { path, after } of changes) {
    if (after?.type !== "folder" || openMode(after.mode) === after.mode) continue;
    const now = await look(anchor, path);
    if (now?.type !== "folder" || now.mode !== after.mode) continue;
    await anchor.at(path, (folder) => chmod(folder, openMode(after.mode)));
  }
}
