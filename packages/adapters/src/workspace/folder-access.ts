import { constants } from "node:fs";
import type { Anchor } from "./anchor.ts";
import { chmod, type FileHandle, open } from "./disk.ts";
import { type StepHook, syncFolder } from "./durable.ts";
import { look } from "./entry.ts";
import { using } from "./file-content.ts";
import { secondsOf } from "./file-times.ts";
import { eachOf } from "./in-turn.ts";
import { isRoot } from "./owner.ts";
import type { PlannedFolder } from "./plan.ts";
import { hasCode } from "./system-error.ts";

const FOLDER = constants.O_RDONLY | constants.O_DIRECTORY;
const AT_ONCE = 16;

/** How a folder is left at the end of the work. */
export interface FolderFinish {
  path: string;
  mode: number;
  mtimeNs?: string;
  owner?: { uid: number; gid: number };
}

/** Looks at a folder of the workspace, which is "" for the workspace itself. */
export function lookAtFolder(anchor: Anchor, path: string) {
  return look(anchor, path === "" ? "." : path);
}

/** What a folder's mode is while names in it change: its owner may do so. Root may anyway. */
export function openMode(mode: number): number {
  return isRoot() ? mode : mode | 0o700;
}

/** Opens read-only folders for the work. The plan, on disk by then, says how they were. */
export async function openFolders(
  anchor: Anchor,
  folders: readonly PlannedFolder[],
  step: StepHook,
): Promise<void> {
  for (const { path, mode } of folders) {
    if (openMode(mode) === mode) continue;
    step(`open ${path}`);
    await anchor.within(path, (safe) => chmod(safe, openMode(mode)));
  }
}

/**
 * Finishes folders, those inside others first: a folder that is closed lets nobody in. They go to disk after all of one
 * depth have changed, so that the file system can write them together.
 */
export async function finishFolders(anchor: Anchor, folders: readonly FolderFinish[]): Promise<void> {
  const byDepth = Map.groupBy(folders, ({ path }) => (path === "" ? 0 : path.split("/").length));
  for (const depth of [...byDepth.keys()].sort((left, right) => right - left)) {
    const level = byDepth.get(depth) ?? [];
    await eachOf(level, AT_ONCE, (folder) => finishFolder(anchor, folder));
    const open = level.filter(({ mode }) => openMode(mode) === mode);
    await eachOf(open, AT_ONCE, ({ path }) => anchor.within(path, syncFolder));
  }
}

/** Through a handle that is held already, so no link is followed. Its mode comes right afterwards. */
async function openInAnyMode(safe: string): Promise<FileHandle> {
  try {
    return await open(safe, FOLDER);
  } catch (error) {
    if (!hasCode(error, "EACCES")) throw error;
    await chmod(safe, 0o700);
    return open(safe, FOLDER);
  }
}

/** Gives a folder its owner, mode and time. One that is closed then goes to disk while it is still open. */
async function finishFolder(anchor: Anchor, { path, mode, mtimeNs, owner }: FolderFinish): Promise<void> {
  const handle = await anchor.within(path, openInAnyMode);
  await using(handle, async (folder) => {
    if (owner && isRoot()) await folder.chown(owner.uid, owner.gid);
    if (mtimeNs !== undefined) await folder.utimes(secondsOf(mtimeNs), secondsOf(mtimeNs));
    await folder.chmod(mode);
    if (openMode(mode) !== mode) await folder.sync();
    const now = Number((await folder.stat()).mode) & 0o7777;
    if (now !== mode) throw new Error(`the mode of ${path} cannot be set`);
  });
}
