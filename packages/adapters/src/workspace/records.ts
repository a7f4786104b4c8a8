import { join } from "node:path";
import type { Anchor } from "./anchor.ts";
import { readJson, writeJson } from "./durable.ts";
import { lookAtFolder } from "./folder-access.ts";
import type { Plan, PlannedFolder } from "./plan.ts";
import { removeTree } from "./remove-tree.ts";

/**
 * How an applied call stands. No status: its outcome is not known to be on record, so a crash takes it back.
 * `kept`: it can be undone. `left`: it was taken back, but for paths that someone else had changed; the pre-images stay
 * for a person. `undone` and `expired` are all that is left of a record then.
 */
export interface RecordStatus {
  state: "kept" | "left" | "undone" | "expired";
  at: number;
  /** How much the pre-images hold. */
  bytes: number;
  /** Times of the folders as the call left them. */
  times?: PlannedFolder[];
}

export function readPlan(record: string): Promise<Plan | undefined> {
  return readJson<Plan>(join(record, "plan.json"));
}

export function readStatus(record: string): Promise<RecordStatus | undefined> {
  return readJson<RecordStatus>(join(record, "status.json"));
}

/** On disk for good with `sync`; otherwise a crash may undo it, which `recover` then does again. */
export function writeStatus(record: string, status: RecordStatus, how: { sync: boolean }): Promise<void> {
  return writeJson(join(record, "status.json"), status, how);
}

/** Forgets what could be put back; the status stays. */
export async function dropContent(record: string): Promise<void> {
  await removeTree(join(record, "old"));
  await removeTree(join(record, "plan.json"));
}

/** How much a plan's pre-images hold. */
export function bytesOf({ changes }: Plan): number {
  return changes.reduce((sum, { old, before }) => sum + (old ? (before?.bytes ?? 0) : 0), 0);
}

/** The times of a plan's folders now. */
export async function timesNow(anchor: Anchor, { folders }: Plan): Promise<PlannedFolder[]> {
  const now = await Promise.all(folders.map(({ path }) => lookAtFolder(anchor, path)));
  return folders.flatMap(({ path }, index) => {
    const folder = now[index];
    return folder ? [{ path, mode: folder.mode, mtimeNs: folder.mtimeNs }] : [];
  });
}

/** Folders whose times are no longer what the call left: someone else changed names in them. */
export async function changedFolders(
  anchor: Anchor,
  plan: Plan,
  times: readonly PlannedFolder[],
): Promise<Set<string>> {
  const left = new Map(times.map(({ path, mtimeNs }) => [path, mtimeNs]));
  const now = await timesNow(anchor, plan);
  return new Set(now.filter(({ path, mtimeNs }) => left.get(path) !== mtimeNs).map(({ path }) => path));
}
