import { link } from "node:fs/promises";
import { join } from "node:path";
import type { Anchor } from "./anchor.ts";
import { copyContent } from "./copy-content.ts";
import type { StepHook } from "./durable.ts";
import { privateFolder, syncFolder } from "./durable.ts";
import { openToRead, using } from "./file-content.ts";
import { eachOf } from "./in-turn.ts";
import { oldContent, type PlannedChange } from "./plan.ts";
import { hasCode } from "./system-error.ts";

const AT_ONCE = 8;

/** Where pre-images go, and from where. */
export interface PreImageRoom {
  anchor: Anchor;
  /** The record's folder. */
  record: string;
  step: StepHook;
}

/**
 * Saves the content of every file that will be replaced or deleted: as another name of the same file where that can be,
 * which keeps everything about it, otherwise as a copy. All of it is on disk once this resolves.
 */
export async function savePreImages(room: PreImageRoom, changes: readonly PlannedChange[]): Promise<void> {
  const numbered = changes.map((change, index) => ({ change, index })).filter(({ change }) => change.old);
  if (numbered.length === 0) return;
  await privateFolder(join(room.record, "old"));
  await eachOf(numbered, AT_ONCE, ({ change, index }) => save(room, change, oldContent(room.record, index)));
  await syncFolder(join(room.record, "old"));
}

async function save(room: PreImageRoom, change: PlannedChange, target: string): Promise<void> {
  room.step(`save ${change.path}`);
  try {
    await room.anchor.at(change.path, (path) => link(path, target));
  } catch (error) {
    // Another disk, a file of someone else, no hard links here, or too many.
    if (!hasCode(error, "EXDEV", "EPERM", "ENOTSUP", "ENOSYS", "EMLINK")) throw error;
    await copy(room, change, target);
  }
}

async function copy(
  { anchor }: PreImageRoom,
  { path, before }: PlannedChange,
  target: string,
): Promise<void> {
  const { bytes = 0, blocks = 0 } = before ?? {};
  await using(await anchor.at(path, openToRead), (handle) => copyContent({ handle, bytes, blocks }, target));
  await using(await openToRead(target), (handle) => handle.sync());
}
