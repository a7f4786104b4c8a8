import { randomBytes, randomUUID } from "node:crypto";
import { linkSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CONVERSATIONS_FILE } from "@sallyport/adapters/conversations";
import {
  openBlobSpill,
  openBlobSpillKeeping,
  openSpill,
  openSpillKeeping,
  type SpillFolder,
  type SpillKeeping,
} from "@sallyport/adapters/spill";
import type { Conversations } from "@sallyport/loop";
import type { LoadedConfig } from "../../config/load.ts";
import { openBlobs } from "../../runtime/blobs.ts";
import { requireReadable } from "../../runtime/own-folder.ts";

/** Conversations, and the long output that was kept for them. */
export interface Kept {
  conversations: Conversations;
  output: SpillKeeping;
}

/** Long output: how it is kept and read, and how it is removed. */
export interface Output {
  spill: SpillFolder;
  keeping: SpillKeeping;
}

/**
 * Opens the place of long output: the configured blobs, else the state folder. Blobs are opened once there was a
 * conversation; before, there is no output. Throws E3919 when the blobs cannot be used.
 */
export function openOutput(config: Pick<LoadedConfig, "blobs" | "folder" | "stateFolder">): Output {
  const blobs = hasConversations(config.stateFolder) ? openBlobs(config) : undefined;
  if (!blobs) {
    const folder = join(config.stateFolder, "output");
    return { spill: openSpill(folder), keeping: openSpillKeeping(folder) };
  }
  const options = { blobs, scope: scopeOf(config.stateFolder) };
  return { spill: openBlobSpill(options), keeping: openBlobSpillKeeping(options) };
}

/** A name that goes with the file of conversations: several machines may share blobs, and not know each other's. */
function scopeOf(stateFolder: string): string {
  const file = join(stateFolder, "output-scope");
  const fresh = `${file}.${randomUUID()}`;
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if (!(error instanceof Error) || !("code" in error) || error.code !== "ENOENT") throw error;
  }
  try {
    writeFileSync(fresh, randomBytes(16).toString("hex"), { mode: 0o600, flush: true });
    // Unlike a rename, a link does not replace the name that another process gave meanwhile.
    linkSync(fresh, file);
  } catch (error) {
    if (!(error instanceof Error) || !("code" in error) || error.code !== "EEXIST") throw error;
  } finally {
    rmSync(fresh, { force: true });
  }
  return readFileSync(file, "utf8");
}

/** Whether there was ever a conversation in the state folder. */
export function hasConversations(stateFolder: string): boolean {
  requireReadable(stateFolder);
  return (statSync(join(stateFolder, CONVERSATIONS_FILE), { throwIfNoEntry: false })?.size ?? 0) > 0;
}
