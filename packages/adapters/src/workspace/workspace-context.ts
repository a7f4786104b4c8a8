import { join } from "node:path";
import type { FolderLog } from "./folder-log.ts";
import type { FolderTurns, Queue } from "./in-turn.ts";
import type { Settings } from "./options.ts";
import { keyOf } from "./plan.ts";

/** What all stagings of one folder share. */
export interface WorkspaceContext {
  settings: Settings;
  turns: FolderTurns;
  log: FolderLog;
  /** Folders of stagings and records that are in use by this process: nothing that an earlier one left. */
  active: Set<string>;
  /** Undo and expiry keep out of each other's way. */
  records: Queue;
  /** Removes something of ours; what cannot be removed is reported and left to the next start. Never rejects. */
  drop: (path: string) => Promise<void>;
  /** Whether processes get an overlay here. */
  usesOverlay: () => Promise<boolean>;
}

/** Where stagings are while calls run. */
export function stagingFolder({ settings }: WorkspaceContext): string {
  return join(settings.folder, "staging");
}

/** Where the records of applied calls are, with their pre-images. */
export function recordsFolder({ settings }: WorkspaceContext): string {
  return join(settings.folder, "undo");
}

/** Where held changes are. */
export function heldFolder({ settings }: WorkspaceContext): string {
  return join(settings.folder, "held");
}

/** The record of one call. */
export function recordOf(context: WorkspaceContext, callId: string): string {
  return join(recordsFolder(context), keyOf(callId));
}
