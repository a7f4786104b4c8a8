import { constants } from "node:fs";
import { type FileHandle, lstat, open } from "node:fs/promises";
import { type Failure, isFailure } from "@sallyport/protocol";
import { Anchor } from "../workspace/anchor.ts";
import { type House, recheck } from "./check.ts";
import type { CheckedPath } from "./contract.ts";
import { isSame } from "./opened-proof.ts";
import { changedSince, unusable } from "./refusals.ts";

/** Never through a link, never waiting for the other end of a pipe, never taking over a terminal. */
const FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY;
/** What a swapped folder, file or link answers with. */
const SWAPPED = ["ENOENT", "ENOTDIR", "ELOOP", "ENXIO"];
const FILES_ONLY = "Name a regular file.";

/**
 * Opens what was checked, for reading: checked again, reached folder by folder without following a link, and proven
 * after the open to be what stands at the checked path (FR-VAL-06). Nothing stays open when it refuses.
 */
export async function openChecked(checked: CheckedPath, house: House): Promise<FileHandle | Failure> {
  const now = await recheck(checked, house);
  if (isFailure(now)) return now;
  if (!now.exists) return unusable(now.asked, "does not exist", "Check the name.");
  if (now.type !== "file") return unusable(now.asked, `is ${kindOf(now)}`, FILES_ONLY);
  try {
    return await openAnchored(now, house);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : undefined;
    if (code === undefined) throw error;
    if (SWAPPED.includes(code)) return changedSince(now.asked);
    return unusable(now.asked, `cannot be opened (${code})`, "Check its permissions.");
  }
}

function kindOf({ type }: CheckedPath): string {
  return type === "folder" ? "a folder" : "a pipe, a socket or a device";
}

async function openAnchored(now: CheckedPath, house: House): Promise<FileHandle | Failure> {
  const anchor = await Anchor.open(now.root);
  try {
    return await anchor.at(now.relative, async (safePath) => {
      // A device may do something when it is opened, so it is looked at first; the proof looks at what was opened.
      if (!(await lstat(safePath)).isFile()) return changedSince(now.asked);
      return proven(await open(safePath, FLAGS), now, house);
    });
  } finally {
    await anchor.close();
  }
}

async function proven(handle: FileHandle, now: CheckedPath, house: House): Promise<FileHandle | Failure> {
  const byName = house.roots.some(({ path, foldsCase }) => path === now.root && foldsCase);
  const same = await isSame(handle, { path: now.path, byName }).catch(() => false);
  if (same) return handle;
  await handle.close();
  return changedSince(now.asked);
}
