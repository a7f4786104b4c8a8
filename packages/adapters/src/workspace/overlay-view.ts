import { join } from "node:path";
import type { WorkspaceView } from "@sallyport/engine/ports";
import type { UpperEntry } from "../sandbox/launcher/index.ts";
import { chmod, chown, lstat, mkdir } from "./disk.ts";
import type { StagedEntry } from "./staged-entry.ts";

/** Lists everything below an upper folder, folders before what is in them. */
export type ScanUpper = (upper: string) => Promise<UpperEntry[]>;

/** Who will write in a view when this process is root. */
export interface SandboxUser {
  uid: number;
  gid: number;
}

/**
 * Makes the folders of an overlay. Costs the same whatever is in the workspace. `since` is the moment from which on a
 * change in the workspace is someone else's.
 */
export async function makeOverlay(
  folder: string,
  root: string,
  user: SandboxUser | undefined,
): Promise<{ view: WorkspaceView; since: string }> {
  const upper = join(folder, "upper");
  const work = join(folder, "work");
  const { mode } = await lstat(root);
  await Promise.all([
    mkdir(upper, { recursive: true, mode: 0o700 }),
    mkdir(work, { recursive: true, mode: 0o700 }),
  ]);
  if (user) await Promise.all([upper, work].map((path) => chown(path, user.uid, user.gid)));
  // The top of the view takes its mode from here.
  await chmod(upper, mode & 0o7777);
  const { ctimeNs } = await lstat(upper, { bigint: true });
  return { view: { kind: "overlay", root, upper, work }, since: `${ctimeNs}` };
}

/** What a process left in an overlay. */
export async function overlayEntries(upper: string, scan: ScanUpper): Promise<StagedEntry[]> {
  return (await scan(upper)).map((entry) => stagedOf(entry, upper));
}

function stagedOf(entry: UpperEntry, upper: string): StagedEntry {
  const { path, type, mode, blocks, target, opaque } = entry;
  const staged: StagedEntry = { path, type, mode, bytes: entry.size, blocks, mtimeNs: `${entry.mtimeNs}` };
  if (entry.pathBytes) return { ...staged, unfit: "has a name that is not text" };
  if (entry.targetBytes) return { ...staged, unfit: "leads to a name that is not text" };
  return {
    ...staged,
    ...(type === "file" && { content: { kind: "own", path: join(upper, path) } }),
    ...(type === "file" && entry.nlink > 1 && { inode: `${entry.dev}:${entry.ino}` }),
    ...(target !== undefined && { target }),
    ...(opaque && { opaque }),
  };
}
