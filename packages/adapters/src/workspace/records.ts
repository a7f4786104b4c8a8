import { join } from "node:path";
import type { Anchor } from "./anchor.ts";
import { readJson, writeJson } from "./durable.ts";
import { lookAtFolder } from "./folder-access.ts";
import { sameMoment } from "./matches.ts";
import type { Plan, PlannedFolder } from "./plan.ts";
import { removeTree } from "./remove-tree.ts";
import { NOTHING_THERE, unless } from "./system-error.ts";

/**
 * How an applied call stands. No status: its outcome is not known to be on record, so a crash takes it back.
 * `kept`: it can be undone. `left`: it was taken back, but for paths that someone else had changed or that could not be
 * put back; the pre-images stay for a person. `undone` and `expired` are all that is left of a record then.
 */
export interface RecordStatus {
  state: "kept" | "left" | "undone" | "expired";
  at: number;
  /** How much the pre-images hold. */
  bytes: number;
  /** Whose changes were left, in part; stays when the record expires, so that nobody takes the call for undone. */
  callId?: string;
  /** An undo has opened folders that the call had closed; if it was cut short they have to be closed again. */
  opened?: true;
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
  for (const path of contentOf(record)) await removeTree(path);
}

/** Where what could be put back is. */
export function contentOf(record: string): string[] {
  return [join(record, "old"), join(record, "plan.json")];
}

/**
 * Ends a record. Without its plan it means nothing, so the plan goes first; rejects when that is not possible. What
 * else cannot be removed is removed at the next start.
 */
export async function closeRecord(record: string): Promise<void> {
  await removeTree(join(record, "plan.json"));
  await removeTree(record).catch(() => undefined);
}

/** How much a plan's pre-images hold. */
export function bytesOf({ changes }: Plan): number {
  return changes.reduce((sum, { old, before }) => sum + (old ? (before?.bytes ?? 0) : 0), 0);
}

/** The times of a plan's folders now. */
export async function timesNow(anchor: Anchor, { folders }: Plan): Promise<PlannedFolder[]> {
  // A folder inside one that the call closed cannot be looked at.
  const unseen = [...NOTHING_THERE, "EACCES"];
  const now = await Promise.all(folders.map(({ path }) => unless(unseen, lookAtFolder(anchor, path))));
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
  // One that could not be looked at was inside a folder that the call closed: nobody else came to it.
  const isStill = ({ path, mtimeNs }: PlannedFolder) => sameMoment(left.get(path) ?? mtimeNs, mtimeNs);
  return new Set(now.filter((folder) => !isStill(folder)).map(({ path }) => path));
}
