import { createHash } from "node:crypto";
import { join } from "node:path";
import type { Change, ChangeSet, Wanted } from "./change.ts";
import { isModeOnly } from "./change.ts";
import type { KnownEntry } from "./entry.ts";
import { folderOf } from "./relative-path.ts";

/** What is written to disk before the first path of a workspace changes. Enough to take everything back. */
export interface Plan {
  version: 1;
  /** `undo` puts back what an earlier call had changed. */
  purpose: "call" | "undo";
  callId: string;
  /** The run of the call that applies it. */
  runId?: string;
  /** Name of the record in the state folder, and part of every temporary name. */
  key: string;
  root: string;
  at: number;
  digest: string;
  changes: PlannedChange[];
  /** Folders that stay and in which names change, with what they were like. */
  folders: PlannedFolder[];
  /** Held changes that this applies. */
  held?: string;
}

/** A change with where its parts are kept meanwhile. */
export interface PlannedChange extends Change {
  /** Folder of the workspace in which the new content waits under its temporary name. */
  waitsIn?: string;
  /** Whether there is a pre-image of the content. */
  old?: true;
}

export interface PlannedFolder {
  path: string;
  mode: number;
  mtimeNs: string;
}

/** How a plan, or its way back, calls the n-th path while it is not in place. */
export function temporaryName(key: string, use: "new" | "old", index: number): string {
  return `.sallyport-${key}-${use}${index}`;
}

/** Tells the temporary names of a plan from all others. */
export function temporaryTest({ key }: Plan): (name: string) => boolean {
  const start = `.sallyport-${key}-`;
  return (name) => name.startsWith(start) && /^(?:new|old)\d+$/.test(name.slice(start.length));
}

/** Where the n-th pre-image is. */
export function oldContent(record: string, index: number): string {
  return join(record, "old", `${index}`);
}

/** A name for files that stands for an id, whatever is in it. */
export function keyOf(id: string): string {
  if (/^[A-Za-z0-9][A-Za-z0-9_-]{0,79}$/.test(id)) return id;
  return `h-${createHash("sha256").update(id).digest("hex").slice(0, 40)}`;
}

/** Whether only bits change, and can be changed where the file is: no other name shares them. */
export function changesInPlace(change: Change): boolean {
  const { before, after } = change;
  if (!isModeOnly(change) || before?.type !== "file" || after?.linkTo !== undefined) return false;
  return before.nlink === 1 && after?.content?.kind !== "original";
}

/** Where everything goes, worked out before anything is done. */
export function planChanges({ changes }: Pick<ChangeSet, "changes">): PlannedChange[] {
  const staying = stayingFolders(changes);
  return changes.map((change) => ({
    ...change,
    ...(needsTemporary(change) && { waitsIn: staying(folderOf(change.path)) }),
    ...(change.before?.type === "file" && !changesInPlace(change) && { old: true as const }),
  }));
}

function needsTemporary(change: Change): boolean {
  return change.after !== undefined && change.after.type !== "folder" && !changesInPlace(change);
}

/** The nearest folder upwards that is one before and after. */
function stayingFolders(changes: readonly Change[]): (folder: string) => string {
  const byPath = new Map(changes.map((change) => [change.path, change]));
  const stays = ({ before, after }: Change) => before?.type === "folder" && after?.type === "folder";
  const nearest = (folder: string): string => {
    const change = byPath.get(folder);
    return change === undefined || stays(change) ? folder : nearest(folderOf(folder));
  };
  return nearest;
}

/** Folders of the workspace in which names change, that are there already; some of them may go. */
export function busyFolders(changes: readonly PlannedChange[]): string[] {
  const made = new Set(
    changes
      .filter(({ before, after }) => after?.type === "folder" && before?.type !== "folder")
      .map(({ path }) => path),
  );
  const named = changes.flatMap(({ path, waitsIn }) => [
    folderOf(path),
    ...(waitsIn === undefined ? [] : [waitsIn]),
  ]);
  return [...new Set(named)].filter((folder) => !made.has(folder)).sort();
}

/** Whether a change makes something a folder that was none, or the other way: one has to go before the other comes. */
export function swapsFolder(before: KnownEntry | undefined, after: Wanted | undefined): boolean {
  return (
    before !== undefined && after !== undefined && (before.type === "folder") !== (after.type === "folder")
  );
}
